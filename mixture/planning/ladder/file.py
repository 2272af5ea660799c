"""The files of a rung: its lock, and beside it a spec that gives this lock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from os.path import relpath
from pathlib import Path

from mixture.errors import LockError, Place, PlanError
from mixture.lock import Lock, write_lock
from mixture.planning.ladder.ladder import Rung
from mixture.planning.plan import check_lock, read_inputs
from mixture.planning.spec import (
    BatchSize,
    Extent,
    PhaseEdit,
    ShareMap,
    Spec,
    decode_source,
    edit_spec,
    named_tables,
    parse_spec,
    read_source,
)
from mixture.units import format_exact
from mixture.whole_file import whole_file

_LONGEST_PERCENTAGE = 10


def write_rung(
    rung: Rung, folder: Path, *, content: Mapping[str, str] | None = None, with_batch: bool = False
) -> tuple[Path, Path]:
    """Write a rung's spec and lock, by rename, as MIXTURE-47.9B.yaml and MIXTURE-47.9B.lock.json: gives both paths.

    folder:     made if it is not there
    content:    content digests by domain name, where the catalog is a store
    with_batch: names are MIXTURE-47.9B-1024.…, for ladders with several batches of the same tokens

    The spec is the full run's text, comments too, with its name, budget, batches, ends of phases and transitions
    changed, and with the full run's shares where a rule divides the tokens of a phase; paths of tables lead from the
    folder to the same tables. So `mixture plan` and `mixture lock --check` of it work. Pools, which no spec says, are
    in the lock only: `mixture lock` without `--check` would make it anew without them.

    Raises PlanError where the plan refuses a lock, `spec-changed` where the full run's file is no longer what the
    ladder was made from, `file-not-written`; LockError where the lock can not be written.
    """
    lock = rung.lock(content=content)
    name = f"{rung.full.spec.mixture}-{rung.size.label}"
    if with_batch and rung.size.batch is not None:
        name += f"-{rung.size.batch}"
    path = folder / f"{re.sub(r'[^0-9A-Za-z._@+-]', '_', name)}.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = rung_text(rung, path)
        _check_same(rung, lock, text, path)
        with whole_file(path) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise PlanError(
            f"can not be written: {error.strerror or error}", code="file-not-written", place=Place(file=str(path))
        ) from error
    written = path.with_suffix(".lock.json")
    write_lock(lock, written)
    return path, written


def rung_text(rung: Rung, path: Path) -> str:
    """The text of a rung's spec, for a file at this path. Raises SpecError where the full run's can not be read."""
    source = rung.full.spec
    text = decode_source(read_source(source.path), file=str(source.path))
    tables = {key: _from(path.parent, table) for key, table in named_tables(source)}
    if rung.is_full_run:
        return edit_spec(text, {}, tables=tables)
    spec = rung.plan.spec
    budget = f"{spec.budget.tokens} tokens" if spec.budget.steps is None else f"{spec.budget.steps} steps"
    edited = edit_spec(
        text,
        dict(_edits(spec, source)),
        budget=budget,
        name=spec.mixture,
        batch=_batch(spec.batch),
        tables=tables,
        accept=[code.value for code in spec.accept if code not in source.accept],
    )
    return "".join(f"# {line}\n" for line in _heading(rung, path)) + edited


def _edits(spec: Spec, source: Spec) -> Iterator[tuple[int, PhaseEdit]]:
    for i, (phase, full) in enumerate(zip(spec.phases, source.phases, strict=True)):
        extent = None if phase.extent is None else (phase.extent.form, _part(phase.extent))
        stairs = None if phase.transition is None else (phase.transition.steps, phase.transition.parts)
        own = phase.weights if phase.weights != full.weights else None
        yield (
            i,
            PhaseEdit(
                extent=extent,
                weights=own.shares if isinstance(own, ShareMap) else None,
                batch=None if phase.batch is None else _batch(phase.batch),
                transition=stairs,
            ),
        )


def _part(extent: Extent) -> str:
    """A part of the budget: a percentage where it is short, else the ratio."""
    percentage = format_exact(Fraction(extent.amount * 100))
    if "/" not in percentage and len(percentage) <= _LONGEST_PERCENTAGE:
        return f"{percentage}%"
    return f"{extent.amount.numerator}/{extent.amount.denominator}"


def _batch(size: BatchSize) -> str:
    return f"{size.amount} {size.unit.value}"


def _heading(rung: Rung, path: Path) -> Iterator[str]:
    yield (
        f"A rung of {rung.size} of {_from(path.parent, rung.full.spec.path)}, made by `mixture ladder`; what follows is"
        " that file, changed."
    )
    if rung.pools:
        yield "The lock beside it keeps domains to pools, which a spec can not say: check it, do not make it anew."


def _from(folder: Path, path: Path) -> str:
    """The path as it is written in a file of a folder: relative."""
    return Path(relpath(path.resolve(), folder.resolve())).as_posix()


def _check_same(rung: Rung, lock: Lock, text: str, path: Path) -> None:
    """What is written must give the lock: whatever was edited meanwhile, or edited wrongly, is not written."""
    spec = parse_spec(text.encode(), path=path)
    try:
        check_lock(lock, spec, inputs=read_inputs(spec, catalog=rung.plan.catalog))
    except LockError as error:
        raise PlanError(
            f"the file is no longer what the ladder was made from: {error.message}",
            code="spec-changed",
            place=Place(file=str(rung.full.spec.path)),
            hint="make the ladder again",
        ) from error
