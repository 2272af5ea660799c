"""Names of groups beside their titles."""

from __future__ import annotations

import re


def says_the_same(title: str, key: str) -> bool:
    """Whether a title is its key in other letters: `Arts & Crafts` of `arts_and_crafts`. One of them is enough then."""
    return _words(title) == _words(key)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold().replace("&", " and "))
