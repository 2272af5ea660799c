"""Files with something changed: bytes, lines, or values of a JSON tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

PIECES = [
    b"", b"\0", b"\xff", b"\n", b"\r", b" ", b":", b"-", b"{", b"}", b"[", b"]", b"'", b'"', b",", b"#", b"|", b"%",
    b"/", b"..", b"0", b"1", b"-1", b"9", b"1e9", b"99999999999999999999", b"0.1", b"nan", b"inf", b"null", b"true",
    b"~", b"\xc3\xa9", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\\ud800", b"&a ", b"*a", b"!!str ", b"<<: ", b"8K", b"80%",
    b"1/0", b"\0\0\0\0\0\0\0\0", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80",
    b"\1\0\0\0\0\0\0\0",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), 0.5, -0.0, 1e308, "", "a", "é",
    "0", "\0", "\u2028", "../x", "/dev/null", "x" * 300, [], {}, [[]], [0], [None], {"a": 1}, {"": None}, "80%",
    "1T tokens",
]  # fmt: skip
WORDS = [
    *(piece.decode("utf-8", "replace") for piece in PIECES),
    "uniform",
    "proportional",
    "{}",
    "[]",
    "{a: 1}",
    "[1]",
]


@dataclass(frozen=True)
class Change:
    """What is done at one place: `at` is a part of the file's length."""

    kind: str
    at: float
    length: int
    piece: bytes


CHANGES = st.lists(
    st.builds(
        Change,
        st.sampled_from(["put", "put", "flip", "cut", "twice", "end"]),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from([0, 1, 1, 2, 4, 8, 16, 64]),
        st.sampled_from(PIECES),
    ),
    min_size=1,
    max_size=4,
)
LINES = st.lists(
    st.tuples(
        st.sampled_from(["value", "value", "key", "drop", "twice", "indent", "outdent", "swap"]),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(WORDS),
    ),
    min_size=1,
    max_size=4,
)
TREE = st.lists(
    st.tuples(st.integers(0, 10_000), st.sampled_from(["put", "put", "drop", "twice"]), st.sampled_from(VALUES)),
    min_size=1,
    max_size=3,
)


def changed_bytes(seed: bytes, changes: Sequence[Change]) -> bytes:
    """A file with some of its bytes changed."""
    data = bytearray(seed)
    for change in changes:
        at = int(change.at * (len(data) + 1))
        match change.kind:
            case "put":
                data[at : at + change.length] = change.piece
            case "flip" if at < len(data):
                data[at] ^= 1 << (change.length % 8)
            case "cut":
                del data[at : at + change.length]
            case "twice":
                data[at:at] = data[at : at + change.length]
            case "end":
                del data[at:]
    return bytes(data)


def changed_lines(seed: bytes, changes: Sequence[tuple[str, float, str]]) -> bytes:
    """A text with some of its lines changed, most of them at a value."""
    lines = seed.decode().split("\n")
    for kind, at, word in changes:
        i = int(at * len(lines))
        key, colon, _ = lines[i].partition(": ")
        match kind:
            case "value":
                lines[i] = f"{key}{colon}{word}"
            case "key":
                lines[i] = lines[i].replace(key.strip(" -"), word, 1)
            case "drop" if len(lines) > 1:
                del lines[i]
            case "twice":
                lines.insert(i, lines[i])
            case "indent":
                lines[i] = "  " + lines[i]
            case "outdent":
                lines[i] = lines[i].removeprefix("  ")
            case "swap":
                lines[i], lines[-1] = lines[-1], lines[i]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def changed_tree(seed: bytes, changes: Sequence[tuple[int, str, Any]]) -> bytes:
    """A JSON text with some of its values changed."""
    holder = {"root": json.loads(seed)}
    for number, kind, value in changes:
        places = list(_places(holder))
        owner, key = places[number % len(places)]
        if kind == "drop" and owner is not holder:
            del owner[key]
        elif kind == "twice" and isinstance(owner, list):
            owner.insert(key, deepcopy(owner[key]))
        else:
            owner[key] = deepcopy(value)
    return json.dumps(holder["root"]).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in entries:
        yield value, key
        yield from _places(held)
