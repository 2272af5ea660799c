"""`mixture ladder`: smaller runs of a mixture, each with a lock."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, plain, print_json, print_styled, print_table, table
from mixture.cli.planning.plan import SHOWN_DOMAINS, SpecFile, store_of
from mixture.errors import UnitError
from mixture.units import decimal, percent

if TYPE_CHECKING:
    from rich.table import Table

    from mixture.planning.ladder import Rung, RungFiles, RungSize


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(
        epilog="Example: mixture ladder mixtures/demo/mixture.yaml --rung 500M:64 --rung 2B:128 --simulate-epochs"
    )(ladder)


def ladder(
    spec: SpecFile,
    rung: Annotated[
        list[str],
        typer.Option("--rung", metavar="TOKENS[:BATCH]", help="A rung's tokens, and the sequences of its batch."),
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Write a spec and a lock for each rung.")
    ] = None,
    *,
    simulate_epochs: Annotated[
        bool,
        typer.Option("--simulate-epochs", help="Keep domains to pools, so that each has the epochs of the full run."),
    ] = False,
    cut_full: Annotated[
        bool, typer.Option("--cut-full", help="Also make pools for a rung of the full size, which has none otherwise.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every domain, not only the farthest off.")] = False,
    as_json: AsJson = False,
) -> None:
    """Scale a run down: the same mixture and relative boundaries at fewer tokens and another batch.

    Exit 1 where a rung has an error that the spec does not accept; then nothing is written.
    """
    from mixture.planning.ladder import make_ladder, rung_json, write_rung
    from mixture.planning.spec import read_spec

    loaded = read_spec(spec)
    made = make_ladder(loaded, _sizes(rung), simulate_epochs=simulate_epochs, cut_full=cut_full)
    refused = any(one.plan.refusals for one in made)
    files: list[tuple[Path, Path] | None] = [None] * len(made)
    if out is not None and not refused:
        store = store_of(loaded)
        content = None if store is None else {name: domain.content for name, domain in store.domains.items()}
        labels = [one.size.label for one in made]
        for i, one in enumerate(made):
            files[i] = write_rung(one, out, content=content, with_batch=labels.count(one.size.label) > 1)
    for one, written in zip(made, files, strict=True):
        if as_json:
            paths: RungFiles = {} if written is None else {"spec": str(written[0]), "lock": str(written[1])}
            print_json({**rung_json(one), **paths})
    if not as_json:
        show(made, most=None if every else SHOWN_DOMAINS)
        for written in files:
            if written is not None:
                print(f"{written[1]}: written, and {written[0].name} beside it")
    if refused:
        raise typer.Exit(1)


def _sizes(rungs: Sequence[str]) -> list[RungSize]:
    from mixture.planning.ladder import parse_rung

    try:
        return [parse_rung(text) for text in rungs]
    except UnitError as error:
        raise typer.BadParameter(str(error), param_hint="--rung") from error


def show(ladder: Sequence[Rung], *, most: int | None) -> None:
    """Print the rungs, the epochs of their domains, of which the `most` that are farthest off or all, and findings."""
    full = ladder[0].full
    rungs = "1 rung" if len(ladder) == 1 else f"{len(ladder)} rungs"
    print_styled(
        f"[bold]{plain(full.spec.mixture)}[/bold]: {rungs} of a run of {full.steps:,} steps, {full.tokens:,} tokens\n"
    )
    print_table(_rungs(ladder))
    print_table(_domains(ladder, most))
    rest = len(full.domains) - most if most is not None else 0
    if rest > 0:
        print(f"… and {rest} more domains, whose epochs are nearer to those asked for; --all shows them\n")
    for one in ladder:
        for finding in one.plan.summaries:
            if finding.level.value != "note":
                print(f"rung {one.size}: {finding}", file=sys.stderr)


def _rungs(ladder: Sequence[Rung]) -> Table:
    names = [phase.name for phase in ladder[0].full.phases]
    ends = [f"{name} ends" for name in names[:-1]]
    columns = (
        "<rung",
        "tokens asked",
        "tokens",
        "steps",
        "batch",
        *ends,
        "pools",
        "never drawn",
        "others farthest off",
    )
    shown = table("Rungs", *columns)
    for one in ladder:
        batches = {phase.laid.batch_sequences: None for phase in one.plan.phases}
        missed = [domain for domain in one.domains if domain.epochs_asked and not domain.tokens_drawn]
        off = max(domain.deviation for domain in one.domains if domain not in missed)
        shown.add_row(
            f"{one.size} (the full run)" if one.is_full_run else str(one.size),
            f"{one.size.tokens:,}",
            f"{one.plan.tokens:,}",
            f"{one.plan.steps:,}",
            ", ".join(f"{batch:,}" for batch in batches),
            *(f"{phase.laid.end_step:,}" for phase in one.plan.phases[:-1]),
            f"{len(one.pools):,}",
            f"{len(missed):,}",
            _deviation(off),
        )
    return shown


def _domains(ladder: Sequence[Rung], most: int | None) -> Table:
    full = ladder[0].full
    columns = [column for one in ladder for column in (f"{one.size} pool", "epochs", "off")]
    shown = table("Epochs by domain, the farthest off first", "<domain", "tokens", "epochs asked", *columns)
    worst = [max(one.domains[d].deviation for one in ladder) for d in range(len(full.domains))]
    for d in sorted(range(len(worst)), key=lambda d: (-worst[d], d))[:most]:
        domain = full.domains[d]
        cells: list[str] = []
        for one in ladder:
            own = one.domains[d]
            pool = "whole" if own.pool_tokens is None else f"{own.pool_tokens:,}"
            cells += [pool, "" if own.epochs is None else decimal(own.epochs, digits=4), _deviation(own.deviation)]
        asked = "" if domain.epochs is None else decimal(domain.epochs, digits=4)
        shown.add_row(plain(domain.name), f"{domain.tokens:,}", asked, *cells)
    return shown


def _deviation(part: Fraction) -> str:
    return percent(part, digits=3) if part else "0"
