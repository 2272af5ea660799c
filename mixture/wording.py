"""How sentences count and list things."""

from __future__ import annotations

from collections.abc import Callable, Sequence

NAMED = 5
"""Names that a line lists; the others are counted."""
Quote = Callable[[str], str]
"""Makes a name one that can be printed."""


def counted(count: int, what: str) -> str:
    """`1 step`, `2,000 steps`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def listed(words: Sequence[str], *, more: int = 0, between: str = ", ") -> str:
    """`a, b and 3 more`. between: `; ` for words that have commas of their own."""
    parts = [*words, *([f"{more:,} more"] if more > 0 else [])]
    last = "; and " if between != ", " else " and "
    return last.join([between.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def names_of(names: Sequence[str], quote: Quote) -> str:
    """The first names, and how many more there are."""
    return listed([quote(name) for name in names[:NAMED]], more=len(names) - NAMED)
