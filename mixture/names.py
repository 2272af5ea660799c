"""What names may be: of visible characters, some endings reserved. One rule for specs, catalogs and stores."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

HELD_OUT_ENDING = "@validation"
"""Ends the name of a domain of held-out documents."""

DIGEST_MARK = "@sha256:"
"""Stands before a digest; what follows is not part of a name."""

LONGEST_NAME = 200
"""Characters of what a mixture or a token is called: lists, pages and logs show it whole."""

# Characters that are not seen, or end a line: control (the schedule's keys are joined by one), lone surrogates, and
# the line and paragraph separators.
_NOT_IN_NAMES = {"Cc", "Cs", "Zl", "Zp"}


def odd_character(name: str) -> str | None:
    """The first character that may not stand in a name, or None."""
    return next((character for character in name if unicodedata.category(character) in _NOT_IN_NAMES), None)


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
