"""How the errors of a spec file are worded and gathered, so that one reading shows them all."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Keeps the errors of the parts that are read in its `with` blocks, and raises all of them at the end."""

    def __init__(self) -> None:
        self._errors: list[MixtureError] = []

    def __enter__(self) -> None:
        """Begins a part."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        """Ends a part, also at an error of this library."""
        if not isinstance(error, MixtureError):
            return False
        self._errors.append(error)
        return True

    def finish(self) -> None:
        """Raises SpecFileError where a part had an error."""
        if self._errors:
            raise SpecFileError(self._errors)


def refuse(place: Place, message: str, *, code: str, hint: str | None = None, **facts: object) -> Never:
    """Raises SpecError, its message led by the path of keys."""
    named = f"{place.path}: {message}" if place.path else message
    raise SpecError(named, code=code, place=place, hint=hint, **facts)


def _line_and_column(error: MixtureError) -> tuple[int, int]:
    place = error.place or Place()
    return place.line or 0, place.column or 0
