"""A lock of any run, for tests that need no spec."""

from __future__ import annotations

from mixture.lock import Lock, LockPhase
from mixture.lock.lock import look_up, with_digest
from mixture.schedule import Schedule, ScheduleData


def lock_of_run(data: ScheduleData, *phases: tuple[str, int]) -> Lock:
    """The lock of a run's fields. phases: names and first steps; without any the run is one."""
    schedule = Schedule(data)
    named = phases or (("all", 0),)
    ends = [first for _, first in named[1:]] + [data.steps]
    return with_digest(
        Lock(
            mixture="test",
            tokenizer=None,
            amends=None,
            lineage=(),
            data=data,
            phases=tuple(LockPhase(name, first, end - first) for (name, first), end in zip(named, ends, strict=True)),
            masks=(),
            content={},
            accepted=(),
            spec_digest="0" * 64,
            catalog_digest="0" * 64,
            check=look_up(schedule),
            digest="",
            _schedule=schedule,
        )
    )
