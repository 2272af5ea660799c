"""The error tree. Every error has a stable code, a place where it can be known, and its facts as attributes.

MixtureError
├── UnitError        a quantity cannot be read ("2e12T"), or has the wrong unit
├── SpecError        a spec file cannot be read, or does not say something a run can be made from
├── CatalogError     a catalog table cannot be read, or a condition on it is not allowed
├── PlanError        a plan has errors that the spec does not accept
├── AmendError       a lock cannot be amended like this
├── LockError        a lock file is damaged, of another format, or no longer what spec and catalog give
├── ScheduleError    a question outside of a schedule: a position past its end, a domain it does not know
├── StoreError       a token store is incomplete, damaged, or not the one that a lock names
├── IngestError      sources cannot be made into a store
├── ClusterError     sources cannot be put into clusters, or not with these options
├── FormatError      a trainer's mixture file cannot be read, or a mixture cannot be said in one
├── StreamError      a stream cannot be opened, or cannot go on from a saved state
└── ServiceError     a service refuses what is asked of it, or cannot be reached
"""

from __future__ import annotations

import bisect
import copy
import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file, its line and column (from 1), and the path of keys inside it."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    path: str = ""

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return where or self.path


class MixtureError(Exception):
    """What every error of this library is.

    code:   a stable word for programs, such as ``unknown-domain``
    place:  where the cause stands, or None
    hint:   what would be right, or None
    facts:  the figures and names that the message is made of
    """

    def __init__(
        self, message: str, *, code: str, place: Place | None = None, hint: str | None = None, **facts: object
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.place = place
        self.hint = hint
        self.facts = facts

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross processes: a worker's reaches its user whole."""
        return _restore, (type(self), self.args, self.__dict__)

    def with_places(self, change: Callable[[Place], Place]) -> Self:
        """The same error with other places, its own and those of its `errors`."""
        error = copy.copy(self)
        error.place = None if self.place is None else change(self.place)
        if "errors" in self.__dict__:
            error.__dict__["errors"] = tuple(single.with_places(change) for single in self.__dict__["errors"])
        return error

    def __str__(self) -> str:
        where = str(self.place) if self.place is not None else ""
        text = f"{where}: {self.message}" if where else self.message
        return f"{text} ({self.hint})" if self.hint else text


def _restore(kind: type[MixtureError], arguments: tuple[object, ...], fields: dict[str, object]) -> MixtureError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(fields)
    return error


class UnitError(MixtureError):
    """A quantity cannot be read, or has a unit that does not fit."""


class SpecError(MixtureError):
    """A spec file cannot be read, or does not say something a run can be made from."""


class CatalogError(MixtureError):
    """A catalog table cannot be read, or a condition on it is not allowed."""


class PlanError(MixtureError):
    """A plan has errors that the spec does not accept."""


class AmendError(MixtureError):
    """A lock cannot be amended like this: it would change what was read, or is not possible at this step."""


class LockError(MixtureError):
    """A lock file is damaged, of another format, or no longer what spec and catalog give."""


class ScheduleError(MixtureError):
    """A question outside of a schedule, or fields that do not make one."""


class StoreError(MixtureError):
    """A token store is incomplete, damaged, or not the one that a lock names."""


class IngestError(MixtureError):
    """Sources cannot be made into a store."""


class ClusterError(MixtureError):
    """Sources cannot be put into clusters, or not with these options."""


class FormatError(MixtureError):
    """A trainer's mixture file cannot be read as a spec, or a mixture cannot be said in its format."""


class StreamError(MixtureError):
    """A stream cannot be opened, or cannot go on from a saved state."""


class ServiceError(MixtureError):
    """A service refuses what is asked of it, or cannot be reached.

    errors: the single faults that it found in a file, each in its place
    """

    errors: tuple[MixtureError, ...] = ()


LONGEST_WORD = 100
MOST_COMPARED = 2000
"""Words that are compared with one that is not known: of more, those beside it in order."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the known word nearest to this one: ``did you mean 'code'?``; None where nothing is near."""
    word, known = word[:LONGEST_WORD], list(known)
    if len(known) > MOST_COMPARED:
        # Comparing takes 4 us a word, and more where they are alike.
        known.sort()
        first = max(0, bisect.bisect(known, word) - MOST_COMPARED // 2)
        known = known[first : first + MOST_COMPARED]
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None
