"""A lock: a plan made permanent. All that a sampler needs, with digests of what it was made from and of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mixture.errors import LockError, Place, nearest
from mixture.json_text import digest
from mixture.schedule import Schedule, ScheduleData
from mixture.units import quote

FORMAT = 1
NUM_CHECKED = 8
"""Positions, evenly spread over the run, whose rows a lock keeps: whoever loads it must find the same."""


@dataclass(frozen=True, slots=True)
class LockPhase:
    """A phase's name, laid over the steps of the schedule."""

    name: str
    first_step: int
    steps: int

    @property
    def end_step(self) -> int:
        """The first step after it."""
        return self.first_step + self.steps


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that was let through: its code and its facts as JSON has them."""

    code: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Checked:
    """What stands at a position: the domain's name, the draw, the number of the sequence."""

    position: int
    domain: str
    draw: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Amends:
    """An amendment: from `step` on a lock takes the place of another one.

    lock:    the digest of the lock that was amended
    history: that of both at the step
    steps, domains: how many the amended lock had
    reason:  why, in the words of whoever amended it
    keep_weights: whether rules of its spec that are fitted to tokens gave way to the weights that the run had
    """

    lock: str
    step: int
    history: str
    steps: int
    domains: int
    reason: str | None = None
    keep_weights: bool = False


@dataclass(frozen=True, slots=True)
class Mask:
    """From `first_step` on a stream hides `tokens` tokens of a domain, from `first_token` on. Positions stay."""

    first_step: int
    domain: str
    first_token: int
    tokens: int

    @property
    def end(self) -> int:
        """The first token behind it."""
        return self.first_token + self.tokens


@dataclass(frozen=True, slots=True)
class Lock:
    """The fields of a lock file.

    amends:  the amendment that made it of another lock
    lineage: those before, oldest first
    data:    what fixes the order
    masks:   text that was taken down: by first step, domain and first token, of a domain none overlap
    content: content digests by domain name, where the lock was made from a store
    spec_digest, catalog_digest: of what they said
    digest:  SHA-256 of the lock's own canonical form, without this field
    """

    mixture: str
    tokenizer: str | None
    amends: Amends | None
    lineage: tuple[Amends, ...]
    data: ScheduleData
    phases: tuple[LockPhase, ...]
    masks: tuple[Mask, ...]
    content: Mapping[str, str]
    accepted: tuple[Accepted, ...]
    spec_digest: str
    catalog_digest: str
    check: tuple[Checked, ...]
    digest: str
    _schedule: Schedule = field(repr=False, compare=False)

    def schedule(self) -> Schedule:
        """The schedule that the lock defines; always the same object."""
        return self._schedule

    @property
    def keeps_weights(self) -> bool:
        """Whether it has weights that an amendment kept in place of those that a rule of its spec would fit."""
        return self.amends is not None and self.amends.keep_weights

    def phase_named(self, text: str) -> LockPhase:
        """The phase of this name, else that of this number: `2` is the second. Raises LockError, `unknown-phase`."""
        names = [phase.name for phase in self.phases]
        if text in names:
            return self.phases[names.index(text)]
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
        if 1 <= number <= len(names):
            return self.phases[number - 1]
        hint = nearest(text, names) or f"its phases: {', '.join(names)}; or a number, from 1 to {len(names)}"
        raise LockError(f"there is no phase {quote(text)}", code="unknown-phase", hint=hint, phase=text)

    def phase_of(self, step: int) -> LockPhase | None:
        """The phase that a step is in; None behind the run's last step."""
        held = (phase for phase in self.phases if phase.first_step <= step < phase.end_step)
        return next(held, None)


def with_digest(lock: Lock) -> Lock:
    """The same lock under the digest of what it now says."""
    return replace(lock, digest=digest(document(lock)))


def document(lock: Lock) -> dict[str, object]:
    """A lock as its file has it, all but the digest."""
    data = lock.data
    lineage = {"lineage": [_amends(one) for one in lock.lineage]} if lock.lineage else {}
    masks = [
        {"first_step": mask.first_step, "domain": mask.domain, "first_token": mask.first_token, "tokens": mask.tokens}
        for mask in lock.masks
    ]
    return {
        "format": FORMAT,
        "features": [],
        "mixture": lock.mixture,
        "tokenizer": lock.tokenizer,
        **({"amends": _amends(lock.amends)} if lock.amends else {}),
        **lineage,
        "seed": data.seed,
        "block_tokens": data.block_tokens,
        "window_blocks": data.window_blocks,
        "phases": [{"name": phase.name, "first_step": phase.first_step, "steps": phase.steps} for phase in lock.phases],
        "batches": [{"first_step": batch.first_step, "sequences": batch.sequences} for batch in data.batches],
        "segments": [
            {"first_step": segment.first_step, "steps": segment.steps, "sequence_length": segment.sequence_length}
            | ({"skip": segment.skip} if segment.skip else {})
            | {"weights": list(segment.weights)}
            for segment in data.segments
        ],
        "domains": [
            {"name": domain.name, "tokens": domain.tokens}
            | ({} if domain.pool_tokens is None else {"pool_tokens": domain.pool_tokens})
            | ({"content": lock.content[domain.name]} if domain.name in lock.content else {})
            for domain in data.domains
        ],
        **({"masks": masks} if masks else {}),
        "accepted": [{"code": accepted.code, "facts": accepted.facts} for accepted in lock.accepted],
        "spec": lock.spec_digest,
        "catalog": lock.catalog_digest,
        "check": [
            {"position": row.position, "domain": row.domain, "draw": row.draw, "sequence": row.sequence}
            for row in lock.check
        ],
    }


def _amends(amends: Amends) -> dict[str, object]:
    known: dict[str, object] = {
        "lock": amends.lock,
        "step": amends.step,
        "history": amends.history,
        "steps": amends.steps,
        "domains": amends.domains,
    }
    known |= {} if amends.reason is None else {"reason": amends.reason}
    return known | ({"keep_weights": True} if amends.keep_weights else {})


def self_check(lock: Lock, *, place: Place | None = None) -> None:
    """Raise LockError, `lock-self-check`, where the schedule does not give the rows that the lock keeps.

    It then was made by another program, or this one computes wrongly here; either way nothing may be read with it.
    """
    found = look_up(lock.schedule())
    if found == lock.check:
        return
    if len(found) != len(lock.check):
        message = f"the lock keeps {len(lock.check)} positions, a lock of this run keeps {len(found)}"
        raise LockError(message, code="lock-self-check", place=place, kept=lock.check, found=found)
    kept, here = next((a, b) for a, b in zip(lock.check, found, strict=True) if a != b)
    raise LockError(
        f"the lock keeps {_row(kept)}, its schedule gives {_row(here)}",
        code="lock-self-check",
        place=place,
        kept=kept,
        found=here,
    )


def _row(row: Checked) -> str:
    return f"draw {row.draw} of {row.domain!r}, its sequence {row.sequence}, at position {row.position}"


def look_up(schedule: Schedule) -> tuple[Checked, ...]:
    """The rows of a schedule that a lock keeps."""
    last = schedule.num_sequences - 1
    positions = sorted({i * last // (NUM_CHECKED - 1) for i in range(NUM_CHECKED)})
    rows = schedule.at(positions)
    columns = (rows.position, rows.domain, rows.draw, rows.sequence)
    return tuple(
        Checked(position, schedule.names[d], draw, sequence)
        for position, d, draw, sequence in zip(*(column.tolist() for column in columns), strict=True)
    )
