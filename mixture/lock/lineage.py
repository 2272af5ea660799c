"""The lineage of a lock: the locks that it was amended from, and what each amendment changed."""

from __future__ import annotations

from collections.abc import Iterator

from mixture.lock.lock import Amends, Lock
from mixture.schedule import Schedule, agreed_steps


def amends_faults(schedule: Schedule, amends: Amends | None, lineage: tuple[Amends, ...]) -> Iterator[tuple[str, str]]:
    """What a lock's amendments do not fit: the key, and what is wrong there."""
    if amends is None:
        if lineage:
            yield "lineage", "a lock that amends nothing has no lineage"
        return
    if amends.step > schedule.steps:
        yield "amends", f"at step {amends.step}, the run ends at {schedule.steps}"
    elif amends.history != schedule.history(amends.step):
        yield "amends", f"its history is not that of the schedule at step {amends.step}"
    line = (*lineage, amends)
    keys = [*(f"lineage[{i}]" for i in range(len(lineage))), "amends"]
    following = [*(one.domains for one in line[1:]), len(schedule.names)]
    for key, one, domains in zip(keys, line, following, strict=True):
        if one.step > one.steps:
            yield key, f"at step {one.step}, the run that it amends ends at {one.steps}"
        if one.domains > domains:
            yield key, f"it had {one.domains} domains, and the lock that came of it {domains}: none is taken out"


def lineage_of(lock: Lock) -> tuple[Amends, ...]:
    """Every amendment that made a lock, the oldest first, its own the last."""
    return (*lock.lineage, lock.amends) if lock.amends else ()


def parting_step(a: Lock, b: Lock) -> int:
    """The first step at which two locks read another sequence, or hide other text; the shorter one's steps if none.

    A checkpoint of either up to and at this step goes on under the other, on a store with the same content.
    """
    hidden = (mask.first_step for mask in set(a.masks) ^ set(b.masks))
    return min([agreed_steps(a.data, b.data), *hidden])
