"""What a changed spec says of itself: a name of its own, and on its first lines what was changed of which mixture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from api.registry import LoadedMixture
from api.what_if.shares import Asked, share_text
from mixture.names import DIGEST_MARK, LONGEST_NAME
from mixture.units import quote

if TYPE_CHECKING:
    from api.what_if.what_if import Changes

ENDING = "-what-if"
MOST_NAMED = 8
"""Shares of a phase that are named one by one."""


def changed_name(name: str) -> str:
    """What a changed mixture is called: never as the one that it was made of."""
    return name if name.endswith(ENDING) else name[: LONGEST_NAME - len(ENDING)] + ENDING


def heading(mixture: LoadedMixture, changes: Changes, tables: Sequence[str]) -> str:
    """Comment lines that stand before a changed spec; tables: the names of the files that it reads."""
    source = mixture.name + DIGEST_MARK + mixture.digest
    what = "; ".join(_changed(changes))
    return (
        f"# What if: {what}.\n"
        f"# Made of {source}, whose own comments follow.\n"
        f"# It belongs beside that mixture's tables: {', '.join(map(quote, tables))}.\n"
    )


def _changed(changes: Changes) -> Iterator[str]:
    if changes.budget is not None:
        yield f"budget {_plain(changes.budget)}"
    for name, change in changes.phases:
        if change.extent is not None:
            form, value = change.extent
            yield f"phase {quote(name)} {form.value} {_plain(value)}"
        for shares in (change.shares, change.groups):
            if shares:
                yield f"in phase {quote(name)} {', '.join(_named(shares))}"


def _named(shares: Sequence[tuple[str, Asked]]) -> Iterable[str]:
    # In quotes, control characters and ends of lines are escaped: a value of a table can not end the comment.
    named = [f"{quote(name)} {share_text(share)}" for name, share in shares[:MOST_NAMED]]
    return named if len(shares) <= MOST_NAMED else [*named, f"and {len(shares) - MOST_NAMED} more"]


def _plain(text: str) -> str:
    return quote(text)[1:-1]
