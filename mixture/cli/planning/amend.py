"""`mixture amend`: a run that goes on in another way from a step on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import (
    AsJson,
    LockFile,
    plain,
    print_json,
    print_table,
    printable,
    table,
    terminal_width,
    width_of,
)
from mixture.cli.planning.plan import SHOWN_DOMAINS, WorldSize, agree, counts_as, require, store_of
from mixture.cli.planning.steps import STEP_HELP, StepText, parse_step
from mixture.errors import MixtureError
from mixture.units import decimal, percent

if TYPE_CHECKING:
    from rich.table import Table

    from mixture.data.store import Store
    from mixture.lock import Amendment, Lock
    from mixture.planning.amend import AmendedDomain, AmendedLockReport
    from mixture.planning.plan import Finding, Plan

EXAMPLE = (
    "Example: mixture amend run.lock.json shorter.yaml --step 90000 -o run-2.lock.json ·"
    " mixture amend run.lock.json --step 90000 --skip-steps 50 -o run-2.lock.json"
)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=EXAMPLE)(amend)


def amend(
    lock: LockFile,
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="[SPEC]", help="What the whole run is now; the part from --step on is used."),
    ] = None,
    step: Annotated[
        StepText,
        typer.Option(parser=parse_step, metavar="N", help=f"The first step that may be another one. {STEP_HELP}"),
    ] = ...,  # type: ignore[assignment]
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="NEW", help="Write the new lock; without it, only look.")
    ] = None,
    skip_steps: Annotated[
        int,
        typer.Option(
            metavar="K",
            min=0,
            help="Leave out K steps' worth of text at step N, in all, as after a loss spike.",
        ),
    ] = 0,
    mask: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take down documents from step N on: ids, or JSON, one a line."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The text: it finds documents, and must be the lock's; with a SPEC its digests are fixed.",
        ),
    ] = None,
    consumed_step: Annotated[
        StepText | None,
        typer.Option(
            parser=parse_step, metavar="C", help="The step that the run stands at; no amendment comes before it."
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it stays in the lock.")] = None,
    world_size: WorldSize = None,
    *,
    keep_weights: Annotated[
        bool,
        typer.Option(
            "--keep-weights",
            help="Keep the lock's weights where a rule of SPEC would be fitted again to the tokens of a phase.",
        ),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every domain, not only those that change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change a run from step N on: budget, boundaries, weights, context, text. What is before N stays, to the token."""
    from mixture.data.store import open_store
    from mixture.lock import Amendment, lock_to_replace, parting_step, read_lock, write_lock
    from mixture.planning.amend import amend as amend_lock
    from mixture.planning.plan import weight_findings, with_masks
    from mixture.stream import masks_of

    if spec is None and not skip_steps and mask is None:
        raise typer.BadParameter("say what changes: a SPEC, --skip-steps K or --mask FILE")
    if spec is None and keep_weights:
        raise typer.BadParameter("--keep-weights takes a SPEC: without one the weights stay as they are")
    if spec is None and world_size is not None:
        raise typer.BadParameter("--world-size takes a SPEC: without one no batch changes")
    if mask is not None and store is None:
        raise typer.BadParameter("--mask takes --store DIR: a document is found there")
    old = read_lock(lock)
    first_step = step.of(old.data.steps)
    consumed = 0 if consumed_step is None else consumed_step.of(old.data.steps)
    most = None if every else SHOWN_DOMAINS
    text = None if store is None else open_store(store)
    findings: tuple[Finding, ...] = ()
    if spec is None:
        new = amend_lock(old, first_step, skip_steps=skip_steps, consumed_step=consumed, reason=reason)
        agree(text, new)
    else:
        amendment = Amendment(
            old, first_step, skip_steps=skip_steps, consumed_step=consumed, reason=reason, keep_weights=keep_weights
        )
        plan = _plan(amendment, spec, world_size=world_size, most=most, as_json=as_json)
        new, findings = _locked(plan, old, first_step, text, most=most, as_json=as_json), plan.findings
    if mask is not None and text is not None:
        # Behind the rest of the amendment: a domain that it adds may hold the documents, too.
        taken = masks_of(text, mask, first_step, new)
        new = with_masks(new, taken)
        if not taken:
            print(f"{mask}: nothing of it is in the run, or it is down already", file=sys.stderr)
    held = None if out is None else lock_to_replace(out.resolve())
    if out is not None:
        write_lock(new, out.resolve())
    if as_json:
        print_json(_report(old, new, first_step, findings, out=out))
        return
    show(old, new, first_step, most=most)
    if keep_weights and not weight_findings(findings):
        print("no weights to come are fitted to the tokens of a phase: --keep-weights changes nothing")
    takes_place = "written" if held is None or held.digest == new.digest else f"replaces {held.digest}"
    print(f"{out.resolve()}: {takes_place}" if out is not None else "nothing was written: -o NEW does that")
    parted = parting_step(old, new)
    print(f"digest {new.digest}; checkpoints up to step {parted:,} resume under it")


def _plan(amendment: Amendment, spec: Path, *, world_size: int | None, most: int | None, as_json: bool) -> Plan:
    """The plan of the amended run. One that is refused is shown before its error is raised."""
    from mixture.planning.plan import make_plan, weight_findings
    from mixture.planning.spec import read_spec

    plan = make_plan(read_spec(spec), world_size=world_size, amends=amendment)
    if plan.refusals:
        _preview(plan, amendment.lock, amendment.step, most=most, as_json=as_json)
    require(plan, says=not as_json)
    for finding in weight_findings(plan.findings) if not as_json else ():
        if finding.level.value == "note":  # the others are printed already
            print(finding, file=sys.stderr)
    return plan


def _locked(plan: Plan, old: Lock, step: int, store: Store | None, *, most: int | None, as_json: bool) -> Lock:
    """The lock of the plan, on the store given or that of the spec. A plan that is refused there is shown first."""
    from mixture.planning.plan import make_lock

    try:
        text = store if store is not None else store_of(plan.spec)
        new = make_lock(plan, content={name: domain.content for name, domain in text.domains.items()} if text else None)
        agree(text, new)
    except MixtureError:
        _preview(plan, old, step, most=most, as_json=as_json)
        raise
    return new


def _preview(plan: Plan, old: Lock, step: int, *, most: int | None, as_json: bool) -> None:
    """What an amendment would do that is refused."""
    if as_json:
        print_json(_report(old, plan, step, plan.findings))
        return
    show(old, plan, step, most=most)
    print("nothing was written: the amendment is refused")


def _report(
    old: Lock, new: Lock | Plan, step: int, findings: Sequence[Finding], *, out: Path | None = None
) -> AmendedLockReport:
    from mixture.lock import Lock
    from mixture.planning.amend import amended_json
    from mixture.planning.plan import finding_json

    return {
        "lock": None if out is None else str(out.resolve()),
        "digest": new.digest if isinstance(new, Lock) else None,
        **amended_json(old, new, step),
        "findings": [finding_json(finding) for finding in findings],
    }


def show(old: Lock, new: Lock | Plan, step: int, *, most: int | None) -> None:
    """Print what an amendment does: the run, the domains that are read most, and what is left out or read again."""
    from mixture.lock import Lock
    from mixture.planning.amend import amended_domains

    domains = amended_domains(old, new, step)
    if isinstance(new, Lock):
        name, after, phases = new.mixture, new.schedule(), new.phases
    else:
        name, after, phases = new.spec.mixture, new.schedule, new.lock_phases
    before = old.schedule()
    tokens = [int(schedule.tokens(schedule.steps).sum()) for schedule in (before, after)]
    stays = f"steps 0 to {step - 1:,} stay as they are" if step else "nothing of the run stays as it is"
    print(f"{printable(name)}: {stays}")
    if name != old.mixture:
        print(f"  name    {printable(old.mixture)} → {printable(name)}: the spec names the run otherwise")
    print(f"  steps   {before.steps:,} → {after.steps:,}\n  tokens  {tokens[0]:,} → {tokens[1]:,}")
    for phase in phases:
        if phase.steps and phase.end_step > step:
            first = max(phase.first_step, step)
            shape = f"length {after.length_of(first):,}, batch {after.batch_of(first):,} sequences"
            print(f"  from step {first:,}: {phase.name}, {phase.end_step - first:,} steps, {shape}")
    print()
    changed = [domain for domain in domains if domain.is_changed]
    if changed:
        _show_domains(domains if most is None else changed, most)
    else:
        print("what each domain gives stays as it was")
    skips = {segment.first_step for segment in new.data.segments if segment.skip}
    for handoff in after.handoffs():
        left = sum(handoff.tokens_skipped)
        if handoff.first_step >= step and left:
            cause = "text is skipped" if handoff.first_step in skips else "the length changes"
            print(
                f"at step {handoff.first_step:,} {cause}: {left:,} tokens are left out"
                f" ({percent(Fraction(left, tokens[1]), digits=3)} of the run)"
            )
    print(f"{sum(domain.repeated for domain in domains):,} tokens to come are read in an epoch after the first")
    if isinstance(new, Lock) and len(new.masks) > len(old.masks):
        taken = sum(mask.tokens for mask in new.masks) - sum(mask.tokens for mask in old.masks)
        print(f"{taken:,} tokens are taken down from step {step:,} on")


def _show_domains(domains: Sequence[AmendedDomain], most: int | None) -> None:
    whole, width = _table(domains, most, exact=True), terminal_width()
    print_table(whole if width is None or width_of(whole) <= width else _table(domains, most, exact=False))
    if most is not None and len(domains) > most:
        print(f"… and {len(domains) - most} more domains that change; --all shows every one\n")
    print("tokens drawn before the step and to come; left out: unread where the length changes or text is skipped;")
    print("again: to come in an epoch after the first. `mixture diff` shows weights\n")


def _table(domains: Sequence[AmendedDomain], most: int | None, *, exact: bool) -> Table:
    columns = ["<domain", "tokens", "drawn", "to come", "was to come", "epochs", "epochs before", "left out", "again"]
    shown = table("Domains", *(column for column in columns if exact or column != "was to come"))
    show_count = counts_as(exact)
    digits = 4 if exact else 3
    for one in sorted(domains, key=lambda domain: (-domain.drawn - domain.to_come, domain.name))[:most]:
        epochs = ["" if x is None else decimal(x, digits=digits) for x in (one.epochs, one.epochs_before)]
        coming = (one.to_come, one.to_come_before) if exact else (one.to_come,)
        figures = map(show_count, (one.tokens, one.drawn, *coming))
        shown.add_row(plain(one.name), *figures, *epochs, *map(show_count, (one.skipped, one.repeated)))
    return shown
