"""JSON as this library reads it, strictly, and writes it: canonical, to make digests of, and by line, for a review."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from mixture.units import quote


class JsonError(ValueError):
    """A text is not JSON that this library reads.

    reason:       in words, without the place
    line, column: from 1, where the text breaks the grammar of JSON; else None
    key:          that an object has twice; else None
    """

    def __init__(
        self, reason: str, *, line: int | None = None, column: int | None = None, key: str | None = None, text: str = ""
    ) -> None:
        super().__init__(text or reason)
        self.reason, self.line, self.column, self.key = reason, line, column, key


def parse_json(data: bytes | str, *, number: Callable[[str], Any] = float) -> Any:  # noqa: ANN401 JSON
    """The value of a text from outside: UTF-8 without a byte order mark where it is bytes, no object with a key twice.

    number: makes a value of a number that is not an integer, and of NaN, Infinity and -Infinity; it may raise
            ValueError, as `finite` does

    Raises JsonError, also for what is nested too deeply and for integers of thousands of digits.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        return json.loads(text, object_pairs_hook=unique_object, parse_float=number, parse_constant=number)
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(error.msg, line=error.lineno, column=error.colno, text=str(error)) from error
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start} is not UTF-8") from error
    except RecursionError as error:
        raise JsonError("objects and lists are nested too deeply") from error
    except ValueError as error:
        raise JsonError(str(error)) from error


def finite(text: str) -> float:
    """A number of JSON; ValueError for NaN, Infinity and -Infinity. For `parse_json`."""
    if not text[-1].isdigit():
        raise ValueError(f"{text} is not a number")
    return float(text)


def unique_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these members: for a decoder's `object_pairs_hook`, in linear time.

    Raises JsonError, which names the first key that is there again.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"the key {quote(key)} is in an object twice", key=key)
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
