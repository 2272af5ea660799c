"""`mixture plan SPEC --set KEY=VALUE`: a spec planned with changes, before and after."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mixture.cli.output import output_file, print_json
from mixture.cli.planning.diff import SHOWN
from mixture.cli.planning.diff import show as show_diff
from mixture.cli.planning.plan import show_findings
from mixture.errors import MixtureError, Place

if TYPE_CHECKING:
    from mixture.planning.plan import Plan
    from mixture.planning.whatif import WhatIf


def plan_with(
    path: Path,
    settings: Sequence[str],
    *,
    by: str | None,
    out: Path | None,
    world_size: int | None,
    every: bool,
    as_json: bool,
) -> None:
    """Plan the spec in a file with changes, print both plans, and write the changed spec. Exit 1 if it is refused."""
    from mixture.planning.plan import make_plan, plan_json
    from mixture.planning.spec import decode_source, parse_spec, read_source
    from mixture.planning.whatif import original_of, parse_changes, what_if

    if out is not None and os.path.lexists(out):
        place = Place(file=str(out))
        raise MixtureError("the file exists", code="file-exists", place=place, hint="name another with -o")
    data = read_source(path)
    text = decode_source(data, file=str(path))
    spec = parse_spec(data, path=path)
    changes = parse_changes(settings, [phase.phase for phase in spec.phases], by=by)
    before = make_plan(spec, world_size=world_size)
    changed = what_if(original_of(before, text), changes, path=out, world_size=world_size)
    if out is None:
        changed = replace(changed, plan=_without_lines(changed.plan))
    is_refused = bool(changed.plan.refusals)
    if out is not None and not is_refused:
        with output_file(out) as beside:
            beside.write_text(changed.spec_text, encoding="utf-8", newline="\n")
    if as_json:
        plans = {"before": plan_json(before), "after": plan_json(changed.plan)}
        print_json({**plans, "spec": changed.spec_text, "remarks": list(changed.remarks)})
    else:
        show(before, changed, every=every)
        if out is not None and not is_refused:
            print(f"{out}: written")
    if is_refused:
        if out is not None:
            print(f"{out}: not written, because the changed spec is refused", file=sys.stderr)
        raise typer.Exit(1)


def show(before: Plan, changed: WhatIf, *, every: bool) -> None:
    """Print what differs between two plans, remarks on the changes, and the findings of the changed plan."""
    from mixture.planning.compare import diff, side_of

    sides = side_of(before, name="before"), side_of(changed.plan, name="after")
    show_diff(diff(*sides), most=None if every else SHOWN)
    for remark in changed.remarks:
        print(remark)
    print()
    show_findings(changed.plan, every=every)


def _without_lines(plan: Plan) -> Plan:
    """The plan of a spec that is in no file: its findings are at keys, and at no lines."""
    findings = (
        finding if finding.place is None else replace(finding, place=Place(path=finding.place.path))
        for finding in plan.findings
    )
    return replace(plan, findings=tuple(findings))
