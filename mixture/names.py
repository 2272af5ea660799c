"""What names may be: of visible characters, some endings reserved. One rule for specs, catalogs and stores."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

HELD_OUT_ENDING = "@validation"
"""Ends the name of a domain of held-out documents."""

DIGEST_MARK = "@sha256:"
"""Stands before a digest; what follows is not part of a name."""

EXAMPLE_DIGEST = "92ff73e9bd79d8ba682ce4a3046bf6bfbb77f9c29b712a950ae97c6891fdf534"
"""For examples in schemas."""

LONGEST_NAME = 200
"""Characters of what a mixture or a token is called: lists, pages and logs show it whole."""

# Characters that are not seen, or end a line: control (the schedule's keys are joined by one), lone surrogates, and
# the line and paragraph separators.
_NOT_IN_NAMES = {"Cc", "Cs", "Zl", "Zp"}
# Those that turn the order of all that follows them: a page would show another text than the one that is there.
_REORDER = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# White space, control characters, and those without width: a text of these alone is empty to who reads it. The list
# is ours, for that of Python's own tables differs between its versions.
_BLANK = re.compile(
    "[\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]*"
)


def odd_character(name: str) -> str | None:
    """The first character that may not stand in a name, or None."""
    return next((one for one in name if unicodedata.category(one) in _NOT_IN_NAMES or one in _REORDER), None)


def is_blank(text: str) -> bool:
    """Whether a text has nothing that is seen: it is empty, or has only white space and characters without width."""
    return _BLANK.fullmatch(text) is not None


def is_held_out(name: str) -> bool:
    """True for a domain that no phase may weigh."""
    return name.endswith(HELD_OUT_ENDING) or DIGEST_MARK in name


def look_alikes(names: Iterable[str]) -> list[list[str]]:
    """Names that differ, and hardly to the eye: in case, width, invisible characters, separators, leading zeros."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_folded(name), []).append(name)
    return [some for some in alike.values() if len(some) > 1]


def _folded(name: str) -> str:
    wide = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(c for c in wide if unicodedata.category(c) != "Cf")
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\s_.\-]+", "_", visible.strip()))
