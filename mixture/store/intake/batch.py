"""What reading sources gives: documents, some at a time, and why others are not among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mixture.store.intake.matching import SourceFile
from mixture.store.intake.report import Reason
from mixture.store.intake.values import document_text, value_text


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of Parquet, or keys of JSON lines, to read; without id, a document's is the hash of its text."""

    text: str
    id: str | None
    attributes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys([self.text, *([self.id] if self.id else []), *self.attributes]))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file that is read by one process: row groups [start, stop) of Parquet, else bytes [start, stop).

    size: its share of the file's bytes
    """

    file: SourceFile
    start: int
    stop: int
    size: int


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its id (None: it has none) and its attributes in the order asked for."""

    text: str
    id: str | None
    attributes: tuple[str | None, ...]


@dataclass(slots=True)
class Batch:
    """Some documents of a piece, why others are not among them, and how many of the piece's bytes they are.

    seen: the columns that some row has, whatever stands in them; weight: the characters of its documents
    """

    documents: list[Document] = field(default_factory=list)
    dropped: list[Reason] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    size: int = 0
    weight: int = 0

    def add(self, row: dict[str, Any], columns: Columns) -> None:
        text = document_text(row.get(columns.text))
        if isinstance(text, Reason):
            self.dropped.append(text)
            return
        identity = value_text(row.get(columns.id)) if columns.id else None
        attributes = tuple(value_text(row.get(name)) for name in columns.attributes)
        self.documents.append(Document(text, identity or None, attributes))
        self.weight += len(text) + sum(len(value) for value in attributes if value)
