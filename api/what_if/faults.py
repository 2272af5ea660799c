"""What is wrong with changes: all of it at once, each fault with where it stands in the body."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from api.middleware import MOST_ERRORS, Problem, pointer_token
from mixture.errors import nearest


class Faults:
    """Problems that are kept while others are looked for."""

    def __init__(self) -> None:
        self._first: Problem | None = None
        self._errors: list[dict[str, object]] = []
        self._count = 0

    @property
    def count(self) -> int:
        """How many there were."""
        return self._count

    def nearest(self, word: str, known: Collection[str], *, kind: str | None = None) -> str | None:
        """A hint for a word that is not known; kind: what the first of those that are known are called in it.

        Finding the nearest word takes long: a fault that is not listed has no hint.
        """
        if self._count >= MOST_ERRORS:
            return None
        return nearest(word, known) or (kind and f"its {kind}: {', '.join(list(known)[:10])}")

    @contextmanager
    def at(self, *path: str) -> Iterator[None]:
        """Keep the Problem that is raised within, which is about this part of the body."""
        try:
            yield
        except Problem as problem:
            self._first = self._first or problem
            self._count += 1
            if self._count > MOST_ERRORS:
                return
            fault = {"detail": str(problem.detail), "code": problem.code, "hint": problem.hint, "in": "body"}
            pointer = "".join(f"/{pointer_token(part)}" for part in path)
            self._errors.append({**{name: value for name, value in fault.items() if value}, "pointer": pointer})

    def refuse(self) -> None:
        """Raise what was kept as one Problem: the first, with all as its `errors`. Nothing was: go on."""
        if self._first is None:
            return
        more = f", and {self._count - 1:,} more" if self._count > 1 else ""
        raise Problem(
            self._first.status_code,
            f"{self._first.detail}{more}",
            code=self._first.code,
            hint=self._first.hint,
            errors=self._errors,
            num_errors=self._count,
        )
