"""How the errors of a spec file are worded and gathered, so that one reading shows them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Never

from mixture.errors import MixtureError, Place, SpecError


class SpecFileError(SpecError):
    """All that is wrong with one spec file. It has the code, place, hint and facts of the first; `errors` has all.

    errors: SpecError and UnitError, in the order of their places, at least one.
    """

    def __init__(self, errors: Sequence[MixtureError]) -> None:
        single: list[MixtureError] = []
        for error in errors:
            single.extend(error.errors if isinstance(error, SpecFileError) else [error])
        self.errors: tuple[MixtureError, ...] = tuple(sorted(single, key=_line_and_column))
        first = self.errors[0]
        super().__init__(first.message, code=first.code, place=first.place, hint=first.hint, **first.facts)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


class Gatherer:
    """Goes on after an error, and raises all of them at the end."""

    def __init__(self) -> None:
        self._errors: list[MixtureError] = []

    @contextmanager
    def part(self) -> Iterator[None]:
        """Keeps an error of the part that is read in this block."""
        try:
            yield
        except MixtureError as error:
            self._errors.append(error)

    def finish(self) -> None:
        """Raises SpecFileError if any part had an error."""
        if self._errors:
            raise SpecFileError(self._errors)


def refuse(place: Place, message: str, *, code: str, hint: str | None = None, **facts: object) -> Never:
    """Raises SpecError, its message led by the path of keys."""
    named = f"{place.path}: {message}" if place.path else message
    raise SpecError(named, code=code, place=place, hint=hint, **facts)


def _line_and_column(error: MixtureError) -> tuple[int, int]:
    place = error.place or Place()
    return place.line or 0, place.column or 0
