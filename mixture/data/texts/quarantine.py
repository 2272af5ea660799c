"""What an ingest leaves out, and where it stands: a table in the store, beside the counts, which are always exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mixture.data.texts.matching import SourceFile
from mixture.data.texts.report import NO_ROW, Reason
from mixture.data.texts.values import value_text
from mixture.errors import IngestError, Place

EXAMPLES = 20
"""Rows of the table for each domain and reason: the first ones, in the order of files and places."""
_ROWS = 100_000  # of the table, however many domains there are
_START = 100  # characters of a text, an id, a detail

_COLUMNS: dict[str, pa.DataType] = {
    "reason": pa.string(),
    "domain": pa.string(),
    "file": pa.string(),
    "row": pa.int64(),
    "byte": pa.int64(),
    "id": pa.string(),
    "start": pa.string(),
    "detail": pa.string(),
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is no document of the store.

    domain: None: that of its source, or where a column names it, none
    at:     its row in the file, or of lines, the first byte
    start:  the first characters of its text or line
    detail: more of the reason
    """

    reason: Reason
    domain: str | None
    at: int
    id: str | None = None
    start: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A row of the table. file: as the sources file reaches it, in UTF-8."""

    reason: Reason
    domain: str | None
    file: str
    row: int | None
    byte: int | None
    id: str | None
    start: str | None
    detail: str | None

    def refusal(self, place: Place) -> IngestError:
        """The error of an ingest that leaves nothing out."""
        where = f"row {self.row:,}: " if self.row is not None else ""
        said = f" ({self.detail})" if self.detail else ""
        return IngestError(
            f"{where}this would be left out: {self.reason.value}{said}",
            code="left-out",
            place=place,
            hint="without --strict it is left out, counted and listed in the store's quarantine.parquet",
            reason=self.reason.value,
            domain=self.domain,
            row=self.row,
            byte=self.byte,
            id=self.id,
        )


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many rows of a domain were left out for a reason. domain: None: of none."""

    domain: str | None
    reason: Reason
    count: int


class Ward:
    """Counts what one job leaves out, and keeps the first examples of each domain and reason."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str | None, Reason]] = Counter()
        self._examples: list[Example] = []

    def add(self, left: LeftOut, file: SourceFile, domain: str | None) -> None:
        """domain: what the row is of where it does not say so itself."""
        domain = left.domain if left.domain is not None else domain
        key = (domain, left.reason)
        self._counts[key] += 1
        if self._counts[key] > EXAMPLES or len(self._examples) >= _ROWS:
            return
        row, byte = (None, None) if left.reason in NO_ROW and not left.at else file.row_and_byte(left.at)
        self._examples.append(
            Example(
                reason=left.reason,
                domain=domain,
                file=printable(file.shown),
                row=row,
                byte=byte,
                id=_cut(left.id),
                start=_cut(left.start),
                detail=_cut(left.detail),
            )
        )

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return tuple(Dropped(domain, reason, count) for (domain, reason), count in self._counts.items())

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(self._examples)


def duplicate_examples(duplicates: pa.Table, domain: str) -> list[Example]:
    """Documents of a domain that are not kept, for another one has their id and text: rows of `ORIGIN` and id."""
    return [
        Example(Reason.DUPLICATE, domain, row["file"], row["row"], row["byte"], _cut(row["id"]), None, None)
        for row in duplicates.slice(0, EXAMPLES).to_pylist()
    ]


def first_of(examples: Iterable[Example]) -> list[Example]:
    """The first of the examples of one domain and reason."""
    return sorted(examples, key=lambda example: (example.file, example.row or 0, example.byte or 0))[:EXAMPLES]


class Quarantine:
    """The first examples of each domain and reason, whichever jobs have read them, in memory that is bounded."""

    def __init__(self, files: Sequence[str]) -> None:
        """files: of all sources, in order, as the sources file reaches them."""
        self._order = {printable(file): number for number, file in enumerate(files)}
        self._kept: list[Example] = []

    def add(self, examples: Iterable[Example]) -> None:
        """Take those of a job."""
        self._kept.extend(examples)
        if len(self._kept) > 2 * _ROWS:
            self._kept = self._first()

    def _first(self) -> list[Example]:
        seen: Counter[tuple[str | None, Reason]] = Counter()
        examples: list[Example] = []
        for one in sorted(self._kept, key=lambda one: (self._order[one.file], one.row or 0, one.byte or 0)):
            seen[one.domain, one.reason] += 1
            if seen[one.domain, one.reason] <= EXAMPLES and len(examples) < _ROWS:
                examples.append(one)
        return examples

    @property
    def table(self) -> pa.Table | None:
        """The table that goes with the store; None: nothing was left out."""
        rows = [{name: getattr(one, name) for name in _COLUMNS} for one in self._first()]
        return pa.Table.from_pylist(rows, schema=pa.schema(_COLUMNS)) if rows else None


def start_of(value: object) -> str | None:
    """The first characters of a value."""
    if isinstance(value, bytes | str):
        return _cut(value_text(value[: 4 * _START]))
    return _cut(value_text(value))


def printable(text: str) -> str:
    """A text that UTF-8 can hold."""
    return text.encode(errors="backslashreplace").decode()


def _cut(text: str | None) -> str | None:
    return None if text is None else printable(text[:_START])
