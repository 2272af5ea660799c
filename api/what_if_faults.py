"""What is wrong with changes: all of it at once, each fault with where it stands in the body."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from api.problems import Problem, pointer_token


class Faults:
    """Problems that are kept while others are looked for."""

    def __init__(self) -> None:
        self._first: Problem | None = None
        self._errors: list[dict[str, object]] = []

    @property
    def count(self) -> int:
        """How many were kept."""
        return len(self._errors)

    @contextmanager
    def at(self, *path: str) -> Iterator[None]:
        """Keep the Problem that is raised within, which is about this part of the body."""
        try:
            yield
        except Problem as problem:
            self._first = self._first or problem
            fault = {"detail": str(problem.detail), "code": problem.code, "hint": problem.hint, "in": "body"}
            pointer = "".join(f"/{pointer_token(part)}" for part in path)
            self._errors.append({**{name: value for name, value in fault.items() if value}, "pointer": pointer})

    def refuse(self) -> None:
        """Raise what was kept as one Problem: the first, with all as its `errors`. Nothing was: go on."""
        if self._first is None:
            return
        more = f", and {len(self._errors) - 1} more" if len(self._errors) > 1 else ""
        raise Problem(
            self._first.status_code,
            f"{self._first.detail}{more}",
            code=self._first.code,
            hint=self._first.hint,
            errors=self._errors,
        )
