"""What reading sources gives: documents, some at a time, and why others are not among them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from mixture.data.texts.matching import SourceFile
from mixture.data.texts.quarantine import LeftOut, start_of
from mixture.data.texts.report import Reason
from mixture.data.texts.values import (
    Kind,
    NestedValueError,
    attribute,
    document_text,
    domain_name,
    joined_text,
    value_text,
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of tables, or keys of JSON lines, to read; without id, a document's is the hash of its text.

    `meta.id` is the field `id` of the objects in `meta`, where no column has the whole name.

    text:   columns of text; those of several that are not empty are joined by a blank line
    domain: names the domain of each row; None: all are of one
    """

    text: tuple[str, ...]
    id: str | None
    attributes: tuple[str, ...]
    domain: str | None = None

    @property
    def names(self) -> list[str]:
        named = [name for name in (self.id, self.domain) if name is not None]
        return list(dict.fromkeys([*self.text, *named, *self.attributes]))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file that is read by one process: row groups or record batches [start, stop), else bytes.

    size:    its share of the file's bytes
    first:   the rows of the file before it, where it has rows
    problem: why it is not read; None: it is
    """

    file: SourceFile
    start: int
    stop: int
    size: int
    first: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its id (None: it has none), its attributes in the order asked for, and its place in the file.

    at:     its row, or of lines, its first byte
    domain: as its column has it; None: none was asked for
    """

    text: str
    id: str | None
    attributes: tuple[str | None, ...]
    at: int
    domain: str | None = None


@dataclass(slots=True)
class Batch:
    """Some documents of a piece, why others are not among them, and how many of the piece's bytes they are.

    seen:   the columns that some row has, whatever stands in them
    kinds:  what the values of an attribute are
    weight: the characters of its documents
    """

    documents: list[Document] = field(default_factory=list)
    dropped: list[LeftOut] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    kinds: defaultdict[str, set[Kind]] = field(default_factory=lambda: defaultdict(set))
    size: int = 0
    weight: int = 0

    def add(self, row: dict[str, Any], columns: Columns, at: int) -> None:
        """Take a row, which stands at this row, or byte, of its file."""
        value = row.get(columns.text[0])
        identity = (value_text(row.get(columns.id)) or None) if columns.id else None
        domain = None
        if columns.domain is not None:
            named = row.get(columns.domain)
            domain = domain_name(named)
            if isinstance(domain, Reason):
                detail = start_of(named)
                self.dropped.append(LeftOut(domain, None, at, identity, start_of(value), detail))
                return
        text = document_text(value) if len(columns.text) == 1 else joined_text([row.get(name) for name in columns.text])
        if isinstance(text, Reason):
            self.dropped.append(LeftOut(text, domain, at, identity, start_of(value)))
            return
        try:
            found = [attribute(row.get(name), name) for name in columns.attributes]
        except NestedValueError as error:
            left = LeftOut(Reason.NESTED_ATTRIBUTE, domain, at, identity, start_of(value), start_of(error.name))
            self.dropped.append(left)
            return
        for name, (_, kind) in zip(columns.attributes, found, strict=True):
            if kind is not None:
                self.kinds[name].add(kind)
        attributes = tuple([written for written, _ in found])
        self.documents.append(Document(text, identity, attributes, at, domain))
        self.weight += len(text) + sum(len(value) for value in attributes if value)
