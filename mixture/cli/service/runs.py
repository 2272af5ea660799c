"""`mixture runs list|register|report|show|watch`: training runs at a service, and what they have read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any

import typer

from mixture.cli.output import AsJson, print_json, print_styled, print_table, table
from mixture.cli.service.remote import Patience, Scope, Token, Url, digest_of, explained, items, service_at
from mixture.units import percent

PATIENCE_SECONDS = 600.0
"""As streams have it."""
WEIGHTS, EPOCHS = ("weight", "planned_weight_so_far", "planned_weight"), ("epochs", "planned_epochs")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The id that registering it gave.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    runs = typer.Typer(help="Register training runs at a service, report their progress, see what they have read.")
    at = "--url http://127.0.0.1:8000"
    runs.command("list", epilog=f"Example: mixture runs list {at}")(list_all)
    runs.command("register", epilog=f"Example: mixture runs register demo --name 'ablation 7' {at}")(register_one)
    runs.command("report", epilog=f"Example: mixture runs report RUN --step 1000 --loss web=2.31 {at}")(report)
    runs.command("show", epilog=f"Example: mixture runs show RUN {at}")(show)
    runs.command("watch", epilog=f"Example: mixture runs watch RUN --json {at}")(watch)
    app.add_typer(runs, name="runs", no_args_is_help=True)


def list_all(
    url: Url,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The newest N.")] = 100,
    mixture: Annotated[
        str | None,
        typer.Option(
            "--mixture", metavar="MIXTURE", help="Only runs of NAME, NAME@sha256:…, or sha256:…, now or before."
        ),
    ] = None,
    token: Token = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first."""
    with explained(Scope.READ):
        query = {} if mixture is None else {"mixture": mixture}
        runs = items(service_at(url, token), "/v1/runs", limit=limit, query=query)
        if as_json:
            for run in runs:
                print_json(run)
            return
        _print_runs(runs)


def register_one(
    mixture: Annotated[str, typer.Argument(metavar="MIXTURE", help="NAME, NAME@sha256:…, or sha256:…")],
    url: Url,
    name: Annotated[str | None, typer.Option("--name", metavar="TEXT", help="What people call the run.")] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="TEXT", help="A key has one run, as of a job started anew; default: a new one."),
    ] = None,
    token: Token = None,
    patience: Patience = PATIENCE_SECONDS,
    *,
    as_json: AsJson = False,
) -> None:
    """Register a run of a mixture; prints its id."""
    from mixture.client import register_run

    with explained(Scope.RUN):
        run = register_run(url, mixture, name=name, key=key, token=token, patience_seconds=patience)
    print_json(run) if as_json else print(run["id"])


def report(
    run: RunId,
    step: Annotated[int, typer.Option("--step", min=0, metavar="S", help="Steps that are done.")],
    url: Url,
    loss: Annotated[
        list[str] | None,
        typer.Option("--loss", metavar="DOMAIN=X", help="Loss of a domain, or nan; may stand more than once."),
    ] = None,
    lock: Annotated[
        str | None,
        typer.Option(
            "--lock", metavar="LOCK", help="The lock that it reads now, a file or a digest, if not as before."
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="TEXT", help="A step with a key counts once; default: one made for this report."),
    ] = None,
    token: Token = None,
    patience: Patience = PATIENCE_SECONDS,
    *,
    as_json: AsJson = False,
) -> None:
    """Report how far a run is, optionally with the loss by domain."""
    from mixture.client import report_progress
    from mixture.client.runs import find_run

    losses = _losses(loss) if loss else None
    digest = None if lock is None else _digest(lock)
    with explained(Scope.RUN):
        entry = report_progress(
            url, run, step=step, loss=losses, lock=digest, key=key, token=token, patience_seconds=patience
        )
    if as_json:
        print_json(entry)
        return
    more = ""
    if entry["lock"]:
        with explained(Scope.RUN):
            now = find_run(url, run, token=token, patience_seconds=patience)["mixture"].partition("@")[0]
        more = f", now of {now}, under lock {entry['lock'][:12]}"
    print(f"report {entry['seq']:,}: step {entry['step']:,}{more}")


def show(run: RunId, url: Url, token: Token = None, *, as_json: AsJson = False) -> None:
    """Show how far a run is, and what it has read of each domain against its plan."""
    from mixture.client.runs import find_run

    with explained(Scope.READ):
        found = find_run(url, run, token=token)
        of_domains = f"{found['url']}/composition"
        domains = service_at(url, token).ask("GET", of_domains)["items"] if found["standing"] else []
    if as_json:
        print_json(found | {"domains": domains})
        return
    from rich.markup import escape

    print_styled(f"[bold]{escape(found['name'] or found['id'])}[/bold]: {escape(found['mixture'])}")
    if found["standing"] is None:
        print(f"step {found['step']:,}; the service has this mixture no longer")
        return
    print(_standing_text(found))
    # What was read stands beside what is planned up to there: a run that is on plan looks so, in any phase.
    shown = table(
        "Read so far, and planned: up to there, and by the whole run",
        "<domain",
        *("tokens", "planned", "whole run"),
        *("weight", "planned", "whole run"),
        *("epochs", "whole run"),
    )
    for row in domains:
        shown.add_row(
            escape(row["domain"]),
            *(f"{row[name]:,}" for name in ("tokens", "planned_tokens_so_far", "planned_tokens")),
            *(_percent(row[name]) for name in WEIGHTS),
            *("" if row[name] is None else f"{row[name]:.4f}" for name in EPOCHS),
        )
    print_table(shown)


def watch(
    run: RunId,
    url: Url,
    after: Annotated[int, typer.Option(min=0, metavar="N", help="Begin behind report N.")] = 0,
    token: Token = None,
    patience: Patience = PATIENCE_SECONDS,
    *,
    as_json: AsJson = False,
) -> None:
    """Follow a run's reports until its last step, over restarts of the service too. Ctrl-C leaves."""
    from mixture.client.runs import find_run, steps_of, watch_run
    from mixture.client.service import OPENING_SECONDS

    with explained(Scope.READ):
        steps = steps_of(find_run(url, run, token=token, patience_seconds=min(patience, OPENING_SECONDS)))
        for entry in watch_run(url, run, after=after, token=token, patience_seconds=patience):
            print_json(entry) if as_json else print(_entry_text(entry, steps))
            sys.stdout.flush()


def _print_runs(runs: Iterable[Mapping[str, Any]]) -> None:
    from rich.markup import escape

    shown = table("Runs", "<run", "<name", "<mixture", "step", "of", "<reported", "<by")
    for run in runs:
        reported = run["last"]["at"] if run["last"] else ""
        shown.add_row(
            run["id"],
            escape(run["name"] or ""),
            run["mixture"].partition("@")[0],
            f"{run['step']:,}",
            "" if run["steps"] is None else f"{run['steps']:,}",
            reported,
            escape(run["by"]),
        )
    print_table(shown)


def _percent(weight: float | None) -> str:
    return "" if weight is None else percent(Fraction(weight), digits=4)


def _losses(said: list[str]) -> dict[str, float]:
    losses = {}
    for text in said:
        domain, mark, number = text.rpartition("=")
        try:
            losses[domain] = float(number)
        except ValueError:
            mark = ""
        if not (mark and domain):
            hint = "a domain and a number are right here, as in web=2.31, or web=nan of a run that diverges"
            raise typer.BadParameter(f"--loss {text}: {hint}")
    return losses


def _digest(lock: str) -> str:
    """The digest of a lock's file, or one as it was said."""
    from mixture.lock import read_lock

    return digest_of(lock) or read_lock(lock).digest


def _standing_text(run: Mapping[str, Any]) -> str:
    standing = run["standing"]
    tokens = f"{standing['tokens']:,} of {standing['planned_tokens']:,} tokens"
    text = f"step {run['step']:,} of {standing['steps']:,}, {tokens}"
    boundary = standing["next_boundary"]
    if standing["phase"] is not None:
        text += f", in {standing['phase']}"
    if boundary is not None:
        what = boundary["phase"] or "a change"
        text += f"; {what} begins at step {boundary['step']:,}, in {boundary['steps_left']:,} steps"
    return text


def _entry_text(entry: Mapping[str, Any], steps: int | None) -> str:
    text = f"{entry['at']}  step {entry['step']:,}" + (f" of {steps:,}" if steps else "")
    losses: Mapping[str, float | str] = entry["loss"] or {}
    if entry.get("lock"):
        text += f"  from here on under lock {entry['lock'][:12]}"
    return text + "".join(f"  {name} {_loss_text(loss)}" for name, loss in losses.items())


def _loss_text(loss: float | str) -> str:
    """A loss, which the service writes as a word where it is not a finite number."""
    return loss if isinstance(loss, str) else f"{loss:.4f}"
