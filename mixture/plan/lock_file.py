"""Lock files: JSON that a review can read, a domain, a segment and a batch a line; read strictly, written by rename."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Annotated, Any, Never

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from mixture.errors import LockError, Place, ScheduleError
from mixture.plan.digests import digest
from mixture.plan.lock import FORMAT, Accepted, Checked, Lock, LockPhase, document, self_check
from mixture.schedule import Batch, Domain, Schedule, ScheduleData, Segment

LARGEST_FILE = 1 << 28

_Count = Annotated[int, Field(ge=0, lt=1 << 63)]
_Positive = Annotated[int, Field(ge=1, lt=1 << 63)]
_Name = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
_Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Phase(_Model):
    name: _Name
    first_step: _Count
    steps: _Count


class _Batch(_Model):
    first_step: _Count
    sequences: _Positive
    mix_steps: _Positive


class _Segment(_Model):
    first_step: _Count
    steps: _Positive
    sequence_length: _Positive
    skip: _Positive | None = None
    weights: list[_Count]


class _Domain(_Model):
    name: _Name
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


class _File(_Model):
    format: int
    mixture: _Name
    tokenizer: _Name | None
    seed: _Count
    block_tokens: _Positive
    window_blocks: _Positive
    phases: list[_Phase]
    batches: list[_Batch]
    segments: list[_Segment]
    domains: list[_Domain]
    accepted: list[_Accepted]
    spec: _Hex
    catalog: _Hex
    check: list[_Checked]
    digest: _Hex


def read_lock(path: str | os.PathLike[str]) -> Lock:
    """Read a lock file and verify it: format, fields, digest, canonical form, and the positions that it keeps.

    Raises LockError: `lock-missing`, `lock-unreadable`, `lock-too-large`, `lock-not-json`, `lock-format`, `lock-field`,
    `lock-digest`, `lock-not-canonical`, `lock-self-check`.
    """
    path = Path(path)
    value = _parse(_read(path), path)
    if not isinstance(value, dict):
        _refuse(path, "a lock is a JSON object", code="lock-field")
    if value.get("format") != FORMAT or isinstance(value["format"], bool):
        found = value.get("format")
        _refuse(path, f"this is no lock of format {FORMAT}: `format` is {found!r}", code="lock-format", key="format")
    file = _validated(value, path)
    del value["digest"]
    found = digest(value)
    if found != file.digest:
        _refuse(
            path,
            f"the lock's digest is {file.digest}, its fields give {found}: it was changed by hand or damaged",
            code="lock-digest",
            key="digest",
            hint="make it again with `mixture lock`",
        )
    lock = _lock(file, path)
    if document(lock) != value:
        _refuse(path, "a field that may be left out is there with nothing in it", code="lock-not-canonical")
    try:
        self_check(lock)
    except LockError as error:
        _refuse(path, error.message, code=error.code, key="check")
    return lock


def write_lock(lock: Lock, path: str | os.PathLike[str]) -> None:
    """Write a lock file, by rename: the file is the whole lock or what it was before. Raises LockError."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(lock_text(lock))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise LockError(
            f"the lock can not be written: {error.strerror}", code="lock-not-written", place=Place(file=str(path))
        ) from error


def lock_text(lock: Lock) -> str:
    """The text of a lock file: a field a line, and of a list of things, one of them a line."""
    lines = []
    for name, value in (document(lock) | {"digest": lock.digest}).items():
        if isinstance(value, list) and value:
            held = ",\n".join("    " + _json(item) for item in value)
            lines.append(f"  {_json(name)}: [\n{held}\n  ]")
        else:
            lines.append(f"  {_json(name)}: {_json(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse(path: Path, message: str, *, code: str, key: str = "", hint: str | None = None) -> Never:
    raise LockError(message, code=code, place=Place(file=str(path), path=key), hint=hint)


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            _refuse(path, "this is a folder, not a lock file", code="lock-unreadable")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        _refuse(path, "there is no such lock file", code="lock-missing", hint="`mixture lock SPEC` makes one")
    except OSError as error:
        _refuse(path, f"the lock can not be read: {error.strerror}", code="lock-unreadable")
    if len(data) > LARGEST_FILE:
        _refuse(path, f"the file has more than {LARGEST_FILE:,} bytes: it is no lock", code="lock-too-large")
    return data


def _parse(data: bytes, path: Path) -> object:
    """The JSON value of a file that holds integers only, no key twice, and valid UTF-8."""
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_once,
            parse_float=_not_an_integer,
            parse_constant=_not_an_integer,
        )
    except json.JSONDecodeError as error:
        place = Place(file=str(path), line=error.lineno, column=error.colno)
        raise LockError(f"not JSON: {error.msg}", code="lock-not-json", place=place) from error
    except UnicodeDecodeError as error:
        _refuse(path, f"byte {error.start} is not UTF-8: the file is no lock", code="lock-not-json")
    except RecursionError:
        _refuse(path, "lists and objects are nested too deeply: the file is no lock", code="lock-not-json")
    except ValueError as error:
        _refuse(path, str(error), code="lock-not-json")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _not_an_integer(text: str) -> Never:
    raise ValueError(f"{text} is not an integer: a lock holds exact integers only")


def _validated(value: dict[str, Any], path: Path) -> _File:
    try:
        return _File.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
        _refuse(path, f"{key}: {first['msg']}", code="lock-field", key=key)


def _lock(file: _File, path: Path) -> Lock:
    data = ScheduleData(
        seed=file.seed,
        block_tokens=file.block_tokens,
        window_blocks=file.window_blocks,
        domains=tuple(Domain(d.name, d.tokens, d.pool_tokens) for d in file.domains),
        segments=tuple(
            Segment(s.first_step, s.steps, s.sequence_length, tuple(s.weights), s.skip or 0) for s in file.segments
        ),
        batches=tuple(Batch(b.first_step, b.sequences, b.mix_steps) for b in file.batches),
    )
    try:
        schedule = Schedule(data)
    except ScheduleError as error:
        key = error.place.path if error.place else ""
        _refuse(path, error.message, code="lock-not-canonical", key=key)
    phases = tuple(LockPhase(p.name, p.first_step, p.steps) for p in file.phases)
    _check_phases(phases, data.steps, path)
    return Lock(
        mixture=file.mixture,
        tokenizer=file.tokenizer,
        data=data,
        phases=phases,
        content={d.name: d.content for d in file.domains if d.content is not None},
        accepted=tuple(Accepted(a.code, a.facts) for a in file.accepted),
        spec_digest=file.spec,
        catalog_digest=file.catalog,
        check=tuple(Checked(c.position, c.domain, c.draw, c.sequence) for c in file.check),
        digest=file.digest,
        _schedule=schedule,
    )


def _check_phases(phases: tuple[LockPhase, ...], steps: int, path: Path) -> None:
    """Phases lie end to end over the run, and no name stands twice."""
    step = 0
    names: set[str] = set()
    for i, phase in enumerate(phases):
        if phase.first_step != step or phase.name in names:
            message = f"phases[{i}]: {phase.name!r} begins at step {phase.first_step}, the ones before end at {step}"
            if phase.name in names:
                message = f"phases[{i}]: phase {phase.name!r} stands there twice"
            _refuse(path, message, code="lock-not-canonical", key=f"phases[{i}]")
        names.add(phase.name)
        step += phase.steps
    if step != steps:
        _refuse(path, f"phases end at step {step}, the run at {steps}", code="lock-not-canonical", key="phases")
