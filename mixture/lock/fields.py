"""The fields of a lock file: their types and ranges, and the lock that they make."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Never

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from mixture.errors import LockError, Place, ScheduleError
from mixture.lock.lineage import amends_faults
from mixture.lock.lock import Accepted, Amends, Checked, Lock, LockPhase, Mask
from mixture.lock.masks import mask_faults
from mixture.names import is_held_out, odd_character
from mixture.schedule import Batch, Domain, Schedule, ScheduleData, Segment
from mixture.units import quote


def _visible(name: str) -> str:
    odd = odd_character(name)
    if odd is not None:
        raise ValueError(f"the character {quote(odd)} is not one that a name may have")
    return name


def _to_train_on(name: str) -> str:
    if is_held_out(name):
        raise ValueError(f"{quote(name)} is reserved for text that is held out: a run never draws from it")
    return name


_Count = Annotated[int, Field(ge=0, lt=1 << 63)]
_Positive = Annotated[int, Field(ge=1, lt=1 << 63)]
_Name = Annotated[str, Field(min_length=1), AfterValidator(_visible)]
_Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Amends(_Model):
    lock: _Hex
    step: _Count
    history: _Hex
    steps: _Positive
    domains: _Positive
    reason: _Name | None = None
    keep_weights: bool = False


class _Mask(_Model):
    first_step: _Count
    domain: _Name
    first_token: _Count
    tokens: _Positive


class _Phase(_Model):
    name: _Name
    first_step: _Count
    steps: _Count


class _Batch(_Model):
    first_step: _Count
    sequences: _Positive


class _Segment(_Model):
    first_step: _Count
    steps: _Positive
    sequence_length: _Positive
    skip: _Positive | None = None
    weights: list[_Count]


class _Domain(_Model):
    name: Annotated[_Name, AfterValidator(_to_train_on)]
    tokens: _Count
    pool_tokens: _Positive | None = None
    content: str | None = None


class _Accepted(_Model):
    code: _Name
    facts: dict[str, JsonValue]


class _Checked(_Model):
    position: _Count
    domain: _Name
    draw: _Count
    sequence: _Count


class LockFields(_Model):
    """A lock file's fields, each by itself of the right type and range."""

    format: int
    features: list[_Name]
    mixture: _Name
    tokenizer: _Name | None
    amends: _Amends | None = None
    lineage: list[_Amends] = []
    seed: _Count
    block_tokens: _Positive
    window_blocks: _Positive
    phases: list[_Phase]
    batches: list[_Batch]
    segments: list[_Segment]
    domains: list[_Domain]
    masks: list[_Mask] = []
    accepted: list[_Accepted]
    spec: _Hex
    catalog: _Hex
    check: list[_Checked]
    digest: _Hex


def refuse(place: Place, message: str, *, code: str, key: str = "", hint: str | None = None) -> Never:
    """Raise LockError at a file, and a key in it."""
    raise LockError(message, code=code, place=replace(place, path=key), hint=hint)


def validated(value: dict[str, Any], place: Place) -> LockFields:
    """The fields of a JSON object. Raises LockError, `lock-field`, with the path of the first that is wrong."""
    try:
        return LockFields.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
        refuse(place, f"{key}: {first['msg'].removeprefix('Value error, ')}", code="lock-field", key=key)


def lock_of(file: LockFields, place: Place) -> Lock:
    """The lock that the fields make. Raises LockError, `lock-not-canonical`, where they do not fit together."""
    data = ScheduleData(
        seed=file.seed,
        block_tokens=file.block_tokens,
        window_blocks=file.window_blocks,
        domains=tuple(Domain(d.name, d.tokens, d.pool_tokens) for d in file.domains),
        segments=tuple(
            Segment(s.first_step, s.steps, s.sequence_length, tuple(s.weights), s.skip or 0) for s in file.segments
        ),
        batches=tuple(Batch(b.first_step, b.sequences) for b in file.batches),
    )
    try:
        schedule = Schedule(data)
    except ScheduleError as error:
        key = error.place.path if error.place else ""
        refuse(place, error.message, code="lock-not-canonical", key=key)
    phases = tuple(LockPhase(p.name, p.first_step, p.steps) for p in file.phases)
    _check_phases(phases, data.steps, place)
    amends = Amends(**file.amends.model_dump()) if file.amends else None
    lineage = tuple(Amends(**one.model_dump()) for one in file.lineage)
    masks = tuple(Mask(**mask.model_dump()) for mask in file.masks)
    for key, wrong in (*amends_faults(schedule, amends, lineage), *mask_faults(data, masks)):
        refuse(place, f"{key}: {wrong}", code="lock-not-canonical", key=key)
    return Lock(
        mixture=file.mixture,
        tokenizer=file.tokenizer,
        amends=amends,
        lineage=lineage,
        data=data,
        phases=phases,
        masks=masks,
        content={d.name: d.content for d in file.domains if d.content is not None},
        accepted=tuple(Accepted(a.code, a.facts) for a in file.accepted),
        spec_digest=file.spec,
        catalog_digest=file.catalog,
        check=tuple(Checked(c.position, c.domain, c.draw, c.sequence) for c in file.check),
        digest=file.digest,
        _schedule=schedule,
    )


def _check_phases(phases: tuple[LockPhase, ...], steps: int, place: Place) -> None:
    """Phases lie end to end over the run, and no name stands twice."""
    step = 0
    names: set[str] = set()
    for i, phase in enumerate(phases):
        if phase.first_step != step or phase.name in names:
            message = (
                f"phases[{i}]: {phase.name!r} begins at step {phase.first_step:,}, the ones before end at {step:,}"
            )
            if phase.name in names:
                message = f"phases[{i}]: phase {phase.name!r} stands there twice"
            refuse(place, message, code="lock-not-canonical", key=f"phases[{i}]")
        names.add(phase.name)
        step += phase.steps
    if step != steps:
        refuse(place, f"phases end at step {step:,}, the run at {steps:,}", code="lock-not-canonical", key="phases")
