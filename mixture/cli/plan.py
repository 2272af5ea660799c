"""`mixture plan|lock`: work a spec out, and make it permanent."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, console, print_json, table

if TYPE_CHECKING:
    from mixture.plan import Finding, Plan
    from mixture.spec import Spec

SHOWN_DOMAINS = 40

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="A mixture spec, a YAML file.")]
WorldSize = Annotated[
    int | None, typer.Option(metavar="R", min=1, help="Also check that every batch is divisible by R ranks.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog="Example: mixture plan mixtures/demo/mixture.yaml --world-size 8")(plan)
    app.command(epilog="Example: mixture lock mixtures/demo/mixture.yaml --check")(lock)


def plan(
    spec: SpecFile,
    world_size: WorldSize = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Show every domain, not only the ones read most.")] = False,
    as_json: AsJson = False,
) -> None:
    """Work a spec out: steps, tokens and epochs, and what would go wrong. Exit 1 where an error is not accepted."""
    from mixture.plan import make_plan, plan_json
    from mixture.spec import load_spec

    made = make_plan(load_spec(spec), world_size=world_size)
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
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 where spec and catalog no longer give LOCK.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fix the whole run in a small file: the same lock is the same run, to the token, on every machine."""
    from mixture.plan import check_lock, finding_json, lock_text, make_lock, make_plan, read_lock, write_lock
    from mixture.spec import load_spec

    path = out or spec.with_suffix(".lock.json")
    loaded = load_spec(spec)
    if check:
        known = read_lock(path)
        check_lock(known, loaded, content=_contents(loaded))
        report = {"lock": str(path), "digest": known.digest, "check": "same"}
        print_json(report) if as_json else print(f"{path}: is what the spec and its catalog give ({known.digest})")
        return
    made = make_plan(loaded, world_size=world_size)
    if not as_json:
        for finding in made.findings:
            if finding.level.value != "note":
                print(finding, file=sys.stderr)
    made.require()
    fixed = make_lock(made, content=_contents(loaded))
    is_same = path.is_file() and path.read_text(encoding="utf-8", errors="replace") == lock_text(fixed)
    if not is_same:
        write_lock(fixed, path)
    if as_json:
        findings = [finding_json(finding) for finding in made.findings]
        print_json({"lock": str(path), "digest": fixed.digest, "changed": not is_same, "findings": findings})
    else:
        print(f"{path}: {'unchanged' if is_same else 'written'}, {made.steps:,} steps, {made.tokens:,} tokens")
        print(f"digest {fixed.digest}")


def _contents(spec: Spec) -> Mapping[str, str] | None:
    """Content digests by domain, where the catalog is a store's folder."""
    if not spec.catalog.path.is_dir():
        return None
    from mixture.store import open_store

    return {name: domain.content for name, domain in open_store(spec.catalog.path).domains.items()}


def show(plan: Plan, *, most: int | None) -> None:
    """Print a plan as tables; of its domains the `most` that are read most, or all."""
    from mixture.units import format_count

    out = console()
    out.print(
        f"[bold]{plan.spec.mixture}[/bold]: {plan.steps:,} steps, {plan.sequences:,} sequences, "
        f"{format_count(plan.tokens)} tokens · tokenizer {plan.tokenizer or 'not said'} · "
        f"blocks of {plan.data.block_tokens:,} tokens, windows of {plan.data.window_blocks:,} blocks\n"
    )
    phases = table(
        "Phases", "<phase", "first step", "steps", "tokens", "share", "batch", "batch tokens", "length", "mix"
    )
    for phase in plan.phases:
        laid = phase.laid
        share = _percent(laid.tokens, plan.tokens)
        sizes = (laid.batch_sequences, laid.batch_tokens, laid.sequence_length, laid.mix_steps)
        spans = (laid.first_step, laid.steps, laid.tokens)
        phases.add_row(phase.name, *(f"{n:,}" for n in spans), share, *(f"{n:,}" for n in sizes))
    out.print(phases)
    _show_domains(plan, most)
    errors = len(plan.refusals)
    out.print(f"[bold]Findings[/bold]: {len(plan.findings)}, {errors} of them refuse a lock")
    for finding in plan.findings:
        out.print(_styled(finding), soft_wrap=True)


def _show_domains(plan: Plan, most: int | None) -> None:
    from mixture.plan import decimal

    out = console()
    order = sorted(range(len(plan.domains)), key=lambda d: (-plan.domains[d].tokens_drawn, d))
    rest = [] if most is None else order[most:]
    domains = table(
        "Domains, weights are token shares", "<domain", "tokens", *(phase.name for phase in plan.phases),
        "tokens read", "epochs", "at most",
    )  # fmt: skip
    for d in order[: len(order) - len(rest)]:
        domain = plan.domains[d]
        domains.add_row(
            domain.name,
            f"{domain.tokens:,}",
            *(f"{decimal(phase.shares[d] * 100, digits=4)}%" for phase in plan.phases),
            f"{domain.tokens_drawn:,}",
            "" if domain.epochs is None else decimal(domain.epochs, digits=4),
            "" if domain.max_epochs is None else decimal(domain.max_epochs, digits=4),
        )
    out.print(domains)
    if rest:
        drawn = sum(plan.domains[d].tokens_drawn for d in rest)
        out.print(f"… and {len(rest)} more domains with {drawn:,} tokens read; --all shows them\n")


def _percent(part: int, whole: int) -> str:
    from fractions import Fraction

    from mixture.plan import decimal

    return f"{decimal(Fraction(part * 100, whole), digits=4)}%" if whole else ""


def _styled(finding: Finding) -> str:
    from rich.markup import escape

    style = {"error": "red", "warning": "yellow", "note": "dim"}[finding.level.value]
    return f"[{style}]{escape(str(finding))}[/{style}]"
