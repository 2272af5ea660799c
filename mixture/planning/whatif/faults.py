"""Errors in changes: all of them at once, each with the path of keys that it is about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from mixture.errors import Place, SpecError, nearest

MOST_FAULTS = 20
"""Errors that are listed; the others are counted."""


class ChangesError(SpecError):
    """All errors in changes. It has the code and hint of the first.

    errors: the first 20, each with its path of keys in `place`
    paths:  the same paths as tuples: ("phases", "pretraining", "weights", "books")
    count:  the number of all errors
    """

    def __init__(self, errors: Sequence[SpecError], paths: Sequence[tuple[str, ...]], count: int) -> None:
        first = errors[0]
        more = f", and {count - 1:,} more" if count > 1 else ""
        super().__init__(f"{first.message}{more}", code=first.code, place=first.place, hint=first.hint)
        self.errors = tuple(errors)
        self.paths = tuple(paths)
        self.count = count


class Faults:
    """Collects errors, so that one call reports all of them."""

    def __init__(self) -> None:
        self._errors: list[SpecError] = []
        self._paths: list[tuple[str, ...]] = []
        self._count = 0

    @property
    def count(self) -> int:
        """The number of errors so far."""
        return self._count

    def nearest(self, word: str, known: Collection[str], *, kind: str | None = None) -> str | None:
        """A hint for an unknown word; kind: the plural noun for the known words, which lists the first of them.

        Searching is slow: an error that will not be listed gets no hint.
        """
        if self._count >= MOST_FAULTS:
            return None
        return nearest(word, known) or (kind and f"its {kind}: {', '.join(list(known)[:10])}")

    @contextmanager
    def at(self, *path: str) -> Iterator[None]:
        """Collect the SpecError that the block raises; path: the keys that it is about."""
        try:
            yield
        except SpecError as error:
            self._count += 1
            if self._count > MOST_FAULTS:
                return
            error.place = Place(path=".".join(path))
            self._errors.append(error)
            self._paths.append(path)

    def finish(self) -> None:
        """Raise ChangesError if there are errors."""
        if self._errors:
            raise ChangesError(self._errors, self._paths, self._count)
