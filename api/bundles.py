"""From what somebody publishes to the bundle that is kept: planned and locked here, in a folder with nothing else.

What a request names becomes a file's name only in that folder, and only after it was found to be a plain name; the
spec may name these files and no other. No message says where the folder was.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from api.pathless import told_without
from api.problems import Problem
from api.repository import Bundle, write_digest
from mixture.catalog import TABLE_ENDINGS, TEXT_ENDINGS, Catalog, read_catalog
from mixture.errors import LockError, Place, SpecError
from mixture.file_names import LOCK_FILE, SPEC_FILE, STORE_FILE, STORE_TABLE
from mixture.plan import Lock, Plan, check_lock, lock_text, make_lock, make_plan, parse_lock, plan_json
from mixture.spec import Groups, Spec, WhereGroup, parse_spec
from mixture.spec.tables import named_tables

MOST_TABLES = 32
MOST_BYTES = 16 * 2**20
"""Of all tables together."""
MOST_CELLS = 4_000_000
"""Of a Parquet table, which may be much larger than its file."""
MOST_WEIGHTS = 200_000
"""Phases times domains: planning these takes some 4 seconds and 0.5 GB."""
MOST_PHASES = 1_000
"""Each takes some 2 ms, and as much to read."""
MOST_CONDITIONS = 200
"""Each takes some 30 ms: a database of its own."""
CONDITION_SECONDS = 20.0
"""Of all conditions of a spec together."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def make_bundle(spec: str, tables: Mapping[str, str], *, lock: str | None = None) -> Bundle:
    """Plan and lock a spec over its tables.

    tables: by the name that the spec has for each: the text of a file, or base64 of a Parquet file; a name without an
            ending is a store's folder, and its value the store's table
    lock:   the text of the publisher's lock; it must be what comes out here

    A lock's content digests, of stores that this service may not have, are the publisher's word: every stream compares
    them with the store that it reads. Raises MixtureError where spec, tables or lock are refused; Problem: 409
    `lock-differs` with both digests, 413 `tables-too-large`, 422 `table-name`, `table-encoding`, `table-unused`,
    `too-many-tables`, `too-many-phases`, `too-many-conditions`, `too-many-weights`, `plan-too-slow`.
    """
    _check_names(tables)
    data, contents = spec.encode(), {name: _bytes(name, text) for name, text in tables.items()}
    _check_sizes(contents)
    with TemporaryDirectory(prefix="mixture-") as made, told_without(Path(made)):
        folder = Path(made)
        lay_out(folder, contents)
        read = _read_spec(data, folder, contents)
        given = None if lock is None else parse_lock(lock.encode(), place=Place(file=LOCK_FILE))
        plan = make_plan(read, _read_catalog(read))
        fixed = make_lock(plan, content=None if given is None else given.content)
        if given is not None and given.digest != fixed.digest:
            raise _differs(given, fixed, read, plan)
        return Bundle(
            digest=fixed.digest,
            mixture=fixed.mixture,
            steps=plan.steps,
            sequences=plan.sequences,
            tokens=plan.tokens,
            domains=len(plan.domains),
            spec=data,
            tables=contents,
            lock=lock_text(fixed).encode(),
            plan=json.dumps(plan_json(plan), ensure_ascii=False).encode(),
        )


def lay_out(folder: Path, tables: Mapping[str, bytes]) -> None:
    """Write tables as a spec in this folder names them; of a store, its table and a store.json with nothing in it."""
    for name, data in tables.items():
        path = folder / name
        if path.suffix.lower() not in TABLE_ENDINGS:
            path.mkdir()
            (path / STORE_FILE).touch()
            path = path / STORE_TABLE
        path.write_bytes(data)


def _check_names(tables: Mapping[str, str]) -> None:
    if len(tables) > MOST_TABLES:
        raise Problem(422, f"{len(tables)} tables, of at most {MOST_TABLES}", code="too-many-tables")
    for name in tables:
        if not _is_table_name(name):
            hint = f"letters, digits, '.', '_' and '-', with one of the endings {', '.join(TABLE_ENDINGS)}"
            raise Problem(422, f"{name[:100]!r} can not be the name of a table", code="table-name", hint=hint)


def _is_table_name(name: str) -> bool:
    """Whether a name is that of a table's file or, without an ending, of a store's folder; and of nothing else here."""
    is_known = "." not in name or Path(name).suffix.lower() in TABLE_ENDINGS
    return _PLAIN_NAME.fullmatch(name) is not None and is_known and name.lower() != LOCK_FILE


def _check_sizes(contents: Mapping[str, bytes]) -> None:
    size = sum(map(len, contents.values()))
    if size > MOST_BYTES:
        raise Problem(413, f"{size:,} bytes of tables, of at most {MOST_BYTES:,}", code="tables-too-large")
    for name, data in contents.items():
        if not data.startswith(b"PAR1"):
            continue
        with suppress(pa.ArrowException):  # what can not be read is refused, with the reason, where it is read
            found = pq.read_metadata(pa.BufferReader(data))
            if found.num_rows * found.num_columns > MOST_CELLS:
                detail = f"the table {name!r} has {found.num_rows:,} rows of {found.num_columns:,} columns"
                raise Problem(413, detail, code="tables-too-large", hint=f"up to {MOST_CELLS:,} cells are right")


def _read_spec(data: bytes, folder: Path, tables: Mapping[str, bytes]) -> Spec:
    """The spec, whose tables are all among those given, and which names all that were given."""
    spec = parse_spec(data, path=folder / SPEC_FILE)
    places = {key: replace(place, file=SPEC_FILE) for key, place in spec.places.items()}
    spec = spec.model_copy(update={"path": Path(SPEC_FILE), "places": places})
    named = set()
    for key, path in named_tables(spec):
        if path.parent != folder or path.name not in tables:
            known = ", ".join(sorted(tables)) or "none were given"
            raise SpecError(
                f"{key}: there is no such table among those that were given",
                code="table-missing",
                place=spec.place(key),
                hint=f"the name of a table without a folder is right here: {known}",
            )
        named.add(path.name)
    unused = sorted(set(tables) - named)
    if unused:
        detail = f"the spec does not name the table {unused[0]!r}"
        raise Problem(422, detail, code="table-unused", hint="leave it out", facts={"tables": unused})
    return spec


@dataclass(frozen=True)
class _TimedCatalog(Catalog):
    """A catalog whose conditions have to be worked out by a time."""

    until: float

    def select(self, where: str, *, place: Place | None = None, seconds: float | None = None) -> tuple[int, ...]:
        """As a catalog's. Raises Problem 422 `plan-too-slow` where the time is over."""
        left = self.until - time.monotonic()
        if left <= 0:
            detail = f"the conditions of the spec take more than {CONDITION_SECONDS:g} seconds together"
            raise Problem(422, detail, code="plan-too-slow", hint="fewer conditions, or simpler ones")
        return super().select(where, place=place, seconds=left if seconds is None else min(left, seconds))


def _read_catalog(spec: Spec) -> Catalog:
    """The spec's catalog, where planning all phases over its domains does not take too much."""
    phases = len(spec.phases)
    if phases > MOST_PHASES:
        raise Problem(422, f"{phases:,} phases, of at most {MOST_PHASES:,}", code="too-many-phases")
    groups = [group for phase in spec.phases if isinstance(phase.weights, Groups) for group in phase.weights.groups]
    conditions = sum(isinstance(group, WhereGroup) for group in groups)
    if conditions > MOST_CONDITIONS:
        detail = f"{conditions:,} conditions, of at most {MOST_CONDITIONS:,}"
        raise Problem(422, detail, code="too-many-conditions", hint="weights in a column of a table are read at once")
    catalog = read_catalog(spec.catalog.path, domain=spec.catalog.domain, place=spec.place("catalog"))
    domains = len(catalog.domains)
    if phases * domains > MOST_WEIGHTS:
        detail = f"{phases:,} phases of {domains:,} domains are more than {MOST_WEIGHTS:,} weights"
        raise Problem(422, detail, code="too-many-weights")
    parts = {field.name: getattr(catalog, field.name) for field in fields(catalog)}
    return _TimedCatalog(**parts, until=time.monotonic() + CONDITION_SECONDS)


def _differs(given: Lock, fixed: Lock, spec: Spec, plan: Plan) -> Problem:
    """Both digests, and the first thing that differs."""
    try:
        check_lock(given, spec, catalog=plan.catalog, content=given.content)
        detail = "spec and tables give another lock"
    except LockError as error:
        detail = error.message
    return Problem(
        409,
        detail,
        code="lock-differs",
        hint="make the lock again with `mixture lock`",
        facts={"given": write_digest(given.digest), "made": write_digest(fixed.digest)},
    )


def _bytes(name: str, text: str) -> bytes:
    """A table's bytes: of Parquet from base64, of the others the text as it is."""
    if Path(name).suffix.lower() in TEXT_ENDINGS:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            detail = f"the table {name[:100]!r} holds half of a character, {text[error.start]!r}"
            raise Problem(422, detail, code="table-encoding") from None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        hint = "Parquet is sent in base64, text as it is"
        raise Problem(422, f"the table {name[:100]!r} is not base64", code="table-encoding", hint=hint) from None
