"""Lock files: JSON that a review can read, a domain, a segment and a batch a line; read strictly, written by rename."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

from mixture.errors import LockError, Place
from mixture.file_kinds import says_spec
from mixture.json_text import JsonError, by_line, digest, parse_json
from mixture.lock.fields import lock_of, refuse, validated
from mixture.lock.lock import FORMAT, Lock, document, self_check
from mixture.units import quote
from mixture.whole_file import whole_file
from mixture.wording import NAMED, listed

LARGEST_FILE = 1 << 28


def read_lock(path: str | os.PathLike[str]) -> Lock:
    """Read a lock file and verify it: format, fields, digest, canonical form, and the positions that it keeps.

    Raises LockError: `lock-missing`, `lock-unreadable`, `lock-too-large`, `not-a-lock` (a spec), `lock-not-json`,
    `lock-format`, `lock-outdated`, `lock-feature`, `lock-field`, `lock-digest`, `lock-not-canonical`,
    `lock-self-check`.
    """
    path = Path(path)
    return parse_lock(_read(path), place=Place(file=str(path)))


def parse_lock(data: bytes, *, place: Place) -> Lock:
    """The lock in the bytes of a lock file, verified as `read_lock` does; `place` is where errors say that it lies.

    Raises LockError: those of `read_lock` but for the first two.
    """
    if len(data) > LARGEST_FILE:
        refuse(place, f"the file has more than {LARGEST_FILE:,} bytes: it is no lock", code="lock-too-large")
    if says_spec(data):
        refuse(
            place,
            "this is a spec",
            code="not-a-lock",
            hint="`mixture plan` shows it, `mixture lock` makes a lock of it",
        )
    value = _parse(data, place)
    if not isinstance(value, dict):
        refuse(place, "a lock is a JSON object", code="lock-field")
    if value.get("format") != FORMAT or isinstance(value["format"], bool):
        found = value.get("format")
        refuse(place, f"this is no lock of format {FORMAT}: `format` is {found!r}", code="lock-format", key="format")
    _check_features(value, place)
    file = validated(value, place)
    del value["digest"]
    try:
        found = digest(value)
    except UnicodeEncodeError:
        refuse(place, "a text in it holds half a character of UTF-16: the file is no lock", code="lock-not-json")
    if found != file.digest:
        refuse(
            place,
            f"the lock's digest is {file.digest}, its fields give {found}: it was changed by hand or damaged",
            code="lock-digest",
            key="digest",
            hint="take it from git again; the spec is what to change",
        )
    try:
        lock = lock_of(file, place)
        self_check(lock, place=replace(place, path="check"))
    except MemoryError:
        refuse(place, "its schedule needs more memory than there is", code="lock-too-large")
    if document(lock) != value:
        refuse(place, "a field that may be left out is there with nothing in it", code="lock-not-canonical")
    return lock


def _check_features(value: dict[str, Any], place: Place) -> None:
    """Refuse a lock that needs more than this version reads, and one from before the first release."""
    features = value.get("features")
    if features is None:
        refuse(
            place,
            "this lock was made before the first release, when a run had another order",
            code="lock-outdated",
            key="features",
            hint="lock the spec again with `mixture lock`",
        )
    if isinstance(features, list) and features and all(isinstance(name, str) for name in features):
        names = listed([quote(name) for name in features[:NAMED]], more=len(features) - NAMED)
        refuse(
            place,
            f"this lock needs features that this version cannot read: {names}",
            code="lock-feature",
            key="features",
            hint="read it with a later version of mixture",
        )


def write_lock(lock: Lock, path: str | os.PathLike[str]) -> None:
    """Write a lock file, by rename: the file is the whole lock or what it was before. Raises LockError."""
    path = Path(path)
    try:
        with whole_file(path) as beside:
            beside.write_text(lock_text(lock), encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:  # ValueError: a path without a name, or one that no system takes
        raise LockError(
            f"the lock can not be written: {_reason(error)}", code="lock-not-written", place=Place(file=str(path))
        ) from error


def lock_text(lock: Lock) -> str:
    """The text of a lock file: a field a line, and of a list of things, one of them a line."""
    return by_line(document(lock) | {"digest": lock.digest})


def _read(path: Path) -> bytes:
    """The bytes of the file, or one more than a lock may have."""
    place = Place(file=str(path))
    try:
        if path.is_dir():
            refuse(place, "this is a folder, not a lock file", code="lock-unreadable")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        refuse(place, "there is no such lock file", code="lock-missing", hint="`mixture lock SPEC` makes one")
    except (OSError, ValueError) as error:
        refuse(place, f"the lock can not be read: {_reason(error)}", code="lock-unreadable")
    return data


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _parse(data: bytes, place: Place) -> object:
    """The JSON value of a file that holds integers only, no key twice, and valid UTF-8."""
    try:
        return parse_json(data, number=_not_an_integer)
    except JsonError as error:
        if error.line is None:
            refuse(place, error.reason, code="lock-not-json")
        at = replace(place, line=error.line, column=error.column)
        raise LockError(f"not JSON: {error.reason}", code="lock-not-json", place=at) from error


def _not_an_integer(text: str) -> Never:
    raise ValueError(f"{text} is not an integer: a lock holds exact integers only")
