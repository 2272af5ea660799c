"""`mixture plan|lock`: work a spec out, and make it permanent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, plain, print_json, print_styled, print_table, table, terminal_width, width_of
from mixture.units import decimal, percent

if TYPE_CHECKING:
    from rich.table import Table

    from mixture.data.store import Store
    from mixture.lock import Lock
    from mixture.planning.plan import Finding, Plan, PlannedPhase
    from mixture.planning.spec import Spec

SHOWN_DOMAINS = 40
EXAMPLES = (
    "Examples: mixture plan mixtures/demo/mixture.yaml --world-size 8 ·"
    " mixture plan mixtures/demo/mixture.yaml --set budget=17B --set phases.pretraining.weights.math=+2"
)

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="A mixture spec, a YAML file.")]
WorldSize = Annotated[
    int | None, typer.Option(metavar="R", min=1, help="Also check that every batch is divisible by R ranks.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog=EXAMPLES)(plan)
    app.command(epilog="Example: mixture lock mixtures/demo/mixture.yaml --check")(lock)


def plan(
    spec: SpecFile,
    world_size: WorldSize = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Plan with a change; can be repeated.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="The catalog column whose values `groups` keys name.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the changed spec, with its comments.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Show every domain, not only the ones read most.")] = False,
    as_json: AsJson = False,
) -> None:
    """Work a spec out: steps, tokens and epochs, and what would go wrong. Exit 1 where an error is not accepted.

    --set plans the spec with changes and compares before and after. The spec file stays as it is. KEY is one of

    - budget: 17T, 30000 steps

    - phases.NAME.share, .tokens, .steps or .until: the length or the end of a phase

    - phases.NAME.weights.DOMAIN: a domain's share of the phase, 10% or 0.1; +5 and -5 add percentage points

    - phases.NAME.groups.VALUE: the same for all domains with this value in the column --by

    Domains that no change names keep their proportions and share the rest of the phase.
    """
    from mixture.planning.plan import make_plan, plan_json
    from mixture.planning.spec import read_spec

    if settings:
        from mixture.cli.planning.whatif import plan_with

        plan_with(spec, settings, by=by, out=out, world_size=world_size, every=every, as_json=as_json)
        return
    if by is not None or out is not None:
        raise typer.BadParameter("--by and -o need --set")
    made = make_plan(read_spec(spec), world_size=world_size)
    if as_json:
        print_json(plan_json(made))
    else:
        show(made, most=None if every else SHOWN_DOMAINS)
    if made.refusals:
        raise typer.Exit(1)


def lock(
    spec: SpecFile,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="LOCK", help="Default: SPEC's name with .lock.json.")
    ] = None,
    world_size: WorldSize = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="Also fix the text: its digests, by domain.")
    ] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 where spec and catalog no longer give LOCK.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fix the whole run in a small file: the same lock is the same run, to the token, on every machine."""
    from mixture.data.store import open_store
    from mixture.lock import check_replaceable, lock_text, lock_to_replace, read_lock, write_lock
    from mixture.planning.plan import check_lock, finding_json, make_lock, make_plan
    from mixture.planning.spec import read_spec
    from mixture.schedule import agreed_steps

    loaded = read_spec(spec)
    path = (out or spec.with_suffix(".lock.json")).resolve()
    text = open_store(store) if store is not None else store_of(loaded)
    contents = None if text is None else {name: domain.content for name, domain in text.domains.items()}
    if check:
        known = read_lock(path)
        made = check_lock(known, loaded, content=contents)
        agree(text, known)
        if world_size is not None:
            make_plan(loaded, made.inputs, world_size=world_size).require()
        report = {"lock": str(path), "digest": known.digest, "check": "same"}
        if as_json:
            print_json(report | {"text_compared": text is not None})
            return
        print(f"{path}: is what the spec and its catalog give ({known.digest})")
        if known.content and text is None:
            print("its text was not compared: --store DIR does that")
        return
    made = make_plan(loaded, world_size=world_size)
    require(made, says=not as_json)
    fixed = make_lock(made, content=contents)
    agree(text, fixed)
    old = lock_to_replace(path)
    if old is not None:
        check_replaceable(old, path)
    is_same = old is not None and lock_text(old) == lock_text(fixed)
    if not is_same:
        write_lock(fixed, path)
    if as_json:
        findings = [finding_json(finding) for finding in made.findings]
        print_json({"lock": str(path), "digest": fixed.digest, "changed": not is_same, "findings": findings})
    else:
        change = "unchanged" if is_same else "written"
        if old is not None and not is_same:
            same_until = agreed_steps(old.data, fixed.data)
            agreed = (
                f"both read the same before step {same_until:,}" if same_until else "they differ from the first step on"
            )
            change = f"replaces {old.digest}; {agreed}"
        print(f"{path}: {change}")
        print(f"digest {fixed.digest}, {made.steps:,} steps, {made.tokens:,} tokens")
        if not fixed.content:
            print("it fixes which tokens of a domain are read, and not the text: --store DIR adds the text's digests")


def require(plan: Plan, *, says: bool) -> None:
    """Raise a plan's error, if it has one; before that print what else is no note to standard error, if it `says` so.

    The error says the first that refuses: that one is not printed here.
    """
    findings = plan.summaries if says else ()
    refusal = next((finding for finding in findings if finding.refuses), None)
    for finding in findings:
        if finding.level.value != "note" and finding is not refusal:
            print(finding, file=sys.stderr)
    plan.require()


def store_of(spec: Spec) -> Store | None:
    """The store that is the spec's catalog; None where that is a table."""
    from mixture.data.storage import Address, located
    from mixture.data.store import open_store
    from mixture.planning.catalog import TABLE_ENDINGS

    path = spec.catalog.path
    is_distant = isinstance(located(path), Address) and not path.name.lower().endswith(TABLE_ENDINGS)
    return open_store(path) if is_distant or path.is_dir() else None


def agree(store: Store | None, lock: Lock) -> None:
    """Raise the first of the StoreErrors that say where a store is not the lock's."""
    from mixture.data.store import disagreements

    for wrong in [] if store is None else disagreements(store, lock):
        raise wrong


def show(plan: Plan, *, most: int | None) -> None:
    """Print a plan as tables; of its domains the `most` that are read most, or all."""
    from rich.markup import escape

    data = plan.data
    print_styled(
        f"[bold]{escape(plan.spec.mixture)}[/bold]: {plan.steps:,} steps, {plan.sequences:,} sequences, "
        f"{plan.tokens:,} tokens · tokenizer {escape(plan.tokenizer or 'not said')} · "
        f"blocks of {data.block_tokens:,} tokens, windows of {data.window_blocks:,} blocks\n"
    )
    for made in (_phases, lambda plan, exact: _domains(plan, most, exact)):
        whole, width = made(plan, True), terminal_width()
        print_table(whole if width is None or width_of(whole) <= width else made(plan, False))
    for phase in plan.phases:
        if phase.changes:
            print(_transition(phase) + "\n")
    rest = sorted((domain.tokens_drawn for domain in plan.domains), reverse=True)[most:] if most else []
    if rest:
        print(f"… and {len(rest)} more domains with {sum(rest):,} tokens read; --all shows them\n")
    longest = max(phase.laid.sequence_length for phase in plan.phases)
    left = sum(domain.left_over(longest) for domain in plan.domains if domain.tokens_drawn)
    print(
        f"{left:,} tokens stand behind the last whole sequence of {longest:,} of their domains: no epoch reads them\n"
    )
    show_findings(plan, every=most is None)


def show_findings(plan: Plan, *, every: bool) -> None:
    """Print a plan's findings, alike ones in one line or every one."""
    refusing = len(plan.refusals)
    refuse = "refuses" if refusing == 1 else "refuse"
    print_styled(f"[bold]Findings[/bold]: {len(plan.findings)}, {refusing or 'none'} of them {refuse} a lock")
    for finding in plan.findings if every else plan.summaries:
        print_styled(_styled(finding))


def _phases(plan: Plan, exact: bool) -> Table:
    """Phases with all figures, or, for a narrow terminal, with short ones and no tokens of a batch."""
    number = counts_as(exact)
    columns = ["<phase", "first step", "steps", "tokens", "share", "batch", "batch tokens", "length"]
    shown = table("Phases", *(column for column in columns if exact or column != "batch tokens"))
    for phase in plan.phases:
        laid = phase.laid
        share = percent(Fraction(laid.tokens, plan.tokens), digits=4) if plan.tokens else ""
        batch = (laid.batch_sequences, laid.batch_tokens) if exact else (laid.batch_sequences,)
        spans, sizes = (laid.first_step, laid.steps, laid.tokens), (*batch, laid.sequence_length)
        shown.add_row(plain(phase.name), *map(number, spans), share, *map(number, sizes))
    return shown


def _transition(phase: PlannedPhase) -> str:
    """What a phase whose weights change inside of it has in the table, and where they change."""
    from mixture.wording import NAMED, listed

    at = [f"{step:,}" for step in phase.changes]
    where = ("step " if len(at) == 1 else "steps ") + listed(at[:NAMED], more=len(at) - NAMED)
    return f"The weights of phase {phase.name!r} change at {where}: the table has their mean over its steps"


def _domains(plan: Plan, most: int | None, exact: bool) -> Table:
    """Domains, the ones read most first; short figures and no `at most` for a narrow terminal."""

    number, digits = counts_as(exact), 4 if exact else 3
    limit = ["at most"] if exact else []
    names = [phase.name for phase in plan.phases]
    title = "Domains, weights are token shares"
    if any(phase.differs(d) for phase in plan.phases for d in range(len(plan.domains))):
        title += " (in parentheses: as read)"
    shown = table(title, "<domain", "tokens", *names, "read", "epochs", *limit)
    order = sorted(range(len(plan.domains)), key=lambda d: (-plan.domains[d].tokens_drawn, d))
    for d in order[:most]:
        domain = plan.domains[d]
        row = [
            plain(domain.name),
            number(domain.tokens),
            *(_shares(phase, d, digits) for phase in plan.phases),
            number(domain.tokens_drawn),
            "" if domain.epochs is None else decimal(domain.epochs, digits=digits),
        ]
        if exact:
            row.append("" if domain.max_epochs is None else decimal(domain.max_epochs, digits=4))
        shown.add_row(*row)
    return shown


def _shares(phase: PlannedPhase, d: int, digits: int) -> str:
    """A domain's weight in a phase, and the share that is read of it where that differs visibly."""

    shares = [phase.shares[d], phase.share_read(d)] if phase.differs(d) else [phase.shares[d]]
    weight, *read = [percent(share, digits=digits) for share in shares]
    return f"{weight} ({read[0]})" if read else weight


def counts_as(exact: bool) -> Callable[[int], str]:
    """How a table writes counts: in full, or short for a narrow terminal."""
    from mixture.units import format_count, format_short

    return format_count if exact else format_short


def _styled(finding: Finding) -> str:
    from rich.markup import escape

    style = {"error": "red", "warning": "yellow", "note": "dim"}[finding.level.value]
    return f"[{style}]{escape(str(finding))}[/{style}]"
