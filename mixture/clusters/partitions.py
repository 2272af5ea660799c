"""Partitions: the parts in which sources are read and written, the same whoever reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from urllib.parse import unquote

from mixture.data.ingest import DocumentKeys, SourceDomain, Sources
from mixture.data.texts import UNREADABLE, Columns, Document, Piece, Reason, Unreadable, check_errors, read, split_all
from mixture.errors import ClusterError, IngestError, Place
from mixture.units import quote

_SMALLEST, _LARGEST = 1 << 22, 1 << 28  # bytes of a partition
_PARTITIONS = 32  # that is enough for many processes, and for a restart to lose little
_PIECES = 4000


@dataclass(frozen=True, slots=True)
class Partition:
    """Pieces of one source, in the order of the sources file.

    columns:  those that are read: the source's, then the ones that hold labels
    """

    number: int
    source: str
    pieces: tuple[Piece, ...]
    columns: Columns
    size: int
    place: Place


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """What a task gives that is done with a partition: its number, and the errors of files that cannot be read."""

    number: int
    errors: tuple[IngestError, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A document of a partition: its text, its id and keyed place, its attributes, and the file it stands in."""

    text: str
    data: bytes
    id: str
    key: bytes
    attributes: tuple[str | None, ...]
    file: str


def partitions(sources: Sources, *, label_columns: tuple[str, ...]) -> list[Partition]:
    """All partitions, source by source in order of name, each of about the same size.

    label_columns: read beside each source's own columns. Errors: those of `split`, of all files at once.
    """
    errors: list[IngestError] = []
    split_up = [
        (domain, split_all(domain.files, _columns(domain, label_columns), errors)) for domain in sources.domains
    ]
    check_errors(errors, Unreadable.REFUSE)
    whole = sum(piece.size for _, pieces in split_up for piece in pieces)
    most = min(max(whole // _PARTITIONS, _SMALLEST), _LARGEST)
    made: list[Partition] = []
    for domain, pieces in split_up:
        for group in _grouped(pieces, most):
            size = sum(piece.size for piece in group)
            columns = _columns(domain, label_columns)
            made.append(Partition(len(made), domain.name, tuple(group), columns, size, domain.place))
    return made


def _columns(domain: SourceDomain, label_columns: tuple[str, ...]) -> Columns:
    return replace(domain.columns, attributes=(*domain.columns.attributes, *label_columns))


def _grouped(pieces: list[Piece], most: int) -> Iterator[list[Piece]]:
    group: list[Piece] = []
    size = 0
    for piece in pieces:
        if group and (len(group) >= _PIECES or size + piece.size > most):
            yield group
            group, size = [], 0
        group.append(piece)
        size += piece.size
    if group:
        yield group


def documents(partition: Partition, *, seed: int, errors: list[IngestError] | None = None) -> Iterator[Read | Reason]:
    """The documents of a partition in their order, and of what is none, why.

    errors: takes those of pieces that cannot be read, of which some documents may be given; None: the first is raised
    """
    keys = DocumentKeys(seed, partition.source)
    for piece in partition.pieces:
        try:
            for batch in read(piece, partition.columns):
                yield from (left.reason for left in batch.dropped)
                for document in batch.documents:
                    yield _read(document, keys, piece)
        except IngestError as error:
            if errors is None or error.code not in UNREADABLE:
                raise
            errors.append(error)


def _read(document: Document, keys: DocumentKeys, piece: Piece) -> Read:
    data = document.text.encode()
    identity, key = keys.of(document.id, data)
    return Read(document.text, data, identity, key, document.attributes, piece.file.shown)


def folder_label(file: str, name: str) -> str | None:
    """What a folder `NAME=VALUE` in a file's path says, as it is written there: of `cluster=03`, `03`."""
    for part in PurePath(file).parts[:-1]:
        if part.startswith(f"{name}="):
            return unquote(part.removeprefix(f"{name}="))
    return None


def labels_in_folders(sources: Sources, name: str) -> bool:
    """Whether the files' paths have folders `NAME=VALUE`. Errors: ClusterError `label-missing`, where only some do."""
    files = [file for domain in sources.domains for file in domain.files]
    without = [file for file in files if not folder_label(file.shown, name)]
    if without and len(without) < len(files):
        raise ClusterError(
            f"its path has no folder {name}=…, and those of {len(files) - len(without):,} other files do",
            code="label-missing",
            place=Place(file=str(without[0].path)),
        )
    return not without


def missing_label(what: str, read: Read) -> ClusterError:
    """The error for a document that has no label where others have one."""
    message = f"document {quote(read.id)} has no {what}"
    hint = "a label that is taken as it is stands with every document"
    return ClusterError(message, code="label-missing", place=Place(file=read.file), hint=hint, document=read.id)
