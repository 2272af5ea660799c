"""JSON as this library writes it: canonical, to make digests of, and by line, for a review to read. And a check for
readers: the keys of an object are unique."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from mixture.units import quote


class RepeatedKeyError(ValueError):
    """An object has a key twice: readers disagree about which of its values is meant."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {quote(key)} is in an object twice")
        self.key = key


def unique_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these members: for `json.loads(…, object_pairs_hook=unique_object)`, in linear time.

    Raises RepeatedKeyError, which names the first key that is there again.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKeyError(key)
            seen.add(key)
    return members


def canonical(value: object) -> bytes:
    """One spelling of a value, the same on every machine: UTF-8, sorted keys, no spaces, no escapes but needed ones.

    Raises UnicodeEncodeError where a text holds half a character of UTF-16, which UTF-8 can not.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(value: object) -> str:
    """SHA-256 of a value's canonical JSON, in lower-case hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def by_line(fields: Mapping[str, object]) -> str:
    """An object with a field a line, and of a field that is a list, an element a line."""
    lines = []
    for name, value in fields.items():
        text = _plain(value)
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join("    " + _plain(element) for element in value) + "\n  ]"
        lines.append(f"  {_plain(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def json_number(value: float) -> float | str:
    """A float as JSON has it; what JSON has no number for is "NaN", "Infinity" or "-Infinity"."""
    return value if isfinite(value) else json.dumps(value)


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
