"""What publishing may not do: take a name, rewrite what runs have read, say what is not so of the amended lock."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mixture.api.database import RunRecord, write_digest
from mixture.api.dependencies.services import Services
from mixture.api.middleware import Problem
from mixture.api.registry import LoadedMixture
from mixture.lock import Lock, parting_step

MOST_SHOWN = 20
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A run that has read past the step from which a lock reads something else than the run's own."""

    run: RunRecord
    step: int
    parts_at: int


def check_free(services: Services, name: str, *, hint: str = "choose another name") -> None:
    """Raise Problem 409, `name-built-in`, with a hint what to do, where nobody may publish under a name."""
    services.check_started()
    if name in services.builtin.all():
        detail = f"the name {name!r} is that of a mixture that comes with the service"
        raise Problem(409, detail, code="name-built-in", hint=hint)


def check_lineage(services: Services, lock: Lock) -> None:
    """Compare an amended lock with the one that it amends, where that is here.

    Raises Problem 409 `lineage-differs` where that is another one than the amendment says, or reads something else
    before its step.
    """
    amends = lock.amends
    parent = None if amends is None else services.held(amends.lock)
    if amends is None or parent is None:
        return
    of = parent.lock
    parts = parting_step(of, lock)
    sizes = (of.data.steps, len(of.data.domains))
    if parts < amends.step or sizes != (amends.steps, amends.domains):
        detail = (
            f"the lock says that it amends {parent.name!r} at step {amends.step:,}, and they part at step {parts:,}"
        )
        facts = {"amended": write_digest(amends.lock), "step": amends.step, "parts_at": parts}
        raise Problem(409, detail, code="lineage-differs", hint="`mixture amend` makes a lock that fits", facts=facts)


def check_consumed(services: Services, name: str, lock: Lock, *, leaves: Collection[str] = ()) -> None:
    """Refuse a lock as the next one of a name where it rewrites what an unfinished run of that name has read.

    leaves: ids of runs that may be left behind: they go on by their own locks, which stay

    Raises Problem 409 `run-consumed` with the runs that stand in the way.
    """
    found = [one for one in rewritten(services, name, lock) if one.run.id not in leaves]
    if not found:
        return
    first = max(found, key=lambda one: one.step)
    more = f", and {len(found) - 1:,} more runs have read too far" if len(found) > 1 else ""
    called = f"{first.run.name!r} ({first.run.id})" if first.run.name else first.run.id
    raise Problem(
        409,
        f"the run {called} has done {first.step:,} steps, and this lock reads something else than the run from step"
        f" {first.parts_at:,} on{more}",
        code="run-consumed",
        hint=f"amend at step {first.step:,} or later; or name the runs in leaves_runs, and they stay with their locks",
        facts={
            "runs": [
                {"run": one.run.id, "name": one.run.name, "step": one.step, "parts_at": one.parts_at}
                for one in found[:MOST_SHOWN]
            ]
        },
    )


def rewritten(services: Services, name: str, lock: Lock) -> Iterator[Rewritten]:
    """The unfinished runs of a name that have read past where a lock parts from theirs."""
    parts: dict[str, int | None] = {lock.digest: None}
    for run in _runs(services, name):
        step = 0 if run.last is None else run.last.step
        if not step or (run.steps is not None and step >= run.steps):
            continue
        if run.digest not in parts:
            own: LoadedMixture | None = services.held(run.digest)
            parts[run.digest] = None if own is None else parting_step(own.lock, lock)
        at = parts[run.digest]
        if at is not None and step > at:
            yield Rewritten(run, step, at)


def _runs(services: Services, name: str) -> Iterator[RunRecord]:
    before = None
    while found := services.repository.runs(before=before, limit=PAGE, mixture=name):
        yield from found
        before = found[-1].number
