"""A spec with changes, planned over the same tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mixture.errors import MixtureError, Place, SpecError
from mixture.planning.catalog import TableFiles
from mixture.planning.plan import Plan, make_plan, read_inputs
from mixture.planning.spec import Groups, Phase, PhaseEdit, ReplayGroup, Spec, edit_spec, parse_spec
from mixture.planning.whatif.changes import Changes, PhaseChange
from mixture.planning.whatif.faults import Faults
from mixture.planning.whatif.heading import changed_name, heading
from mixture.planning.whatif.original import Original
from mixture.planning.whatif.tables import relative_tables
from mixture.planning.whatif.weights import ChangedWeights


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The result of changes.

    plan:      of the changed spec
    spec_text: the changed spec, with the comments of the original
    remarks:   what happened to shares that no change names, in sentences
    """

    plan: Plan
    spec_text: str
    remarks: tuple[str, ...]


def what_if(
    original: Original,
    changes: Changes,
    *,
    path: Path | None = None,
    tables: TableFiles | None = None,
    beside: Sequence[str] = (),
    pools: Mapping[str, int] | None = None,
    seconds: float | None = None,
    world_size: int | None = None,
) -> WhatIf:
    """Change a spec and plan it. Nothing is written.

    In a phase with changed shares, named domains and groups get the shares that the change has. All other domains keep
    their proportions and share the rest; a remark says so.

    path:    where the changed spec will be, from where its paths lead to the same tables; else the original's path
    tables:  the tables of the spec; read from the files that it names if not given
    beside:  names of tables for the heading of the changed spec
    pools, world_size: as in `make_plan`; seconds: as in `read_inputs`

    Raises ChangesError with all errors in the changes: `unknown-phase`, `unknown-domain`, `unknown-group`,
    `unknown-column`, `shares-overlap`, `weights-sum`, `share-below-zero`, `group-empty`; what `parse_spec`,
    `read_inputs` and `make_plan` raise, with lines of the original.
    """
    spec = parse_spec(original.text.encode(), path=original.path)
    order = {phase.phase: i for i, phase in enumerate(spec.phases)}
    changes = replace(changes, phases=tuple(sorted(changes.phases, key=lambda one: order.get(one[0], -1))))
    edits, remarks = _edits(original, spec, changes)
    path = path or original.path
    moved = relative_tables(spec, path.parent)
    text, comments = original.text, ""
    if edits or changes.budget is not None:
        text = edit_spec(text, edits, budget=changes.budget, name=changed_name(original.mixture), tables=moved)
        comments = heading(original.source, changes, beside)
    elif moved:
        text = edit_spec(text, {}, tables=moved)
    try:
        changed = parse_spec((comments + text).encode(), path=path)
        inputs = read_inputs(changed, tables=tables, catalog=original.catalog, seconds=seconds)
        plan = make_plan(changed, inputs, pools=pools, world_size=world_size)
    except MixtureError as error:
        # The reader has the original spec, which lacks the heading.
        added, files = comments.count("\n"), (str(path), str(original.path))
        raise error.with_places(lambda place: _in_original(place, added, *files)) from error
    return WhatIf(plan, comments + text, remarks)


def _edits(original: Original, spec: Spec, changes: Changes) -> tuple[dict[int, PhaseEdit], tuple[str, ...]]:
    """The edits by the place of their phase, and remarks. Raises ChangesError."""
    names = [phase.phase for phase in spec.phases]
    edits: dict[int, PhaseEdit] = {}
    remarks: list[str] = []
    faults = Faults()
    for name, change in changes.phases:
        with faults.at("phases", name):
            if name not in names:
                hint = faults.nearest(name, names, kind="phases")
                raise SpecError(f"there is no phase {name!r}", code="unknown-phase", hint=hint)
        if name not in names or change == PhaseChange():
            continue
        i = names.index(name)
        weights = None
        if change.weights or change.groups:
            changed = ChangedWeights(original, i, changes.by, faults)
            with faults.at("phases", name):
                weights = changed.weights(change)
            remarks += changed.remarks
            remarks += (
                f"phase {phase.phase!r} replays {name!r}, and changes with it" for phase in _replays(spec, name)
            )
        edits[i] = PhaseEdit(change.extent, weights)
    faults.finish()
    return edits, tuple(remarks)


def _replays(spec: Spec, name: str) -> Iterator[Phase]:
    for phase in spec.phases:
        groups = phase.weights.groups if isinstance(phase.weights, Groups) else ()
        if any(isinstance(group, ReplayGroup) and group.replay == name for group in groups):
            yield phase


def _in_original(place: Place, added: int, changed: str, original: str) -> Place:
    if place.line is None or place.file not in (None, changed):
        return place
    return replace(place, line=place.line - added, file=place.file and original)
