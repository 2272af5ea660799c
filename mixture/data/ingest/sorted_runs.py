"""Sorted runs: documents that a process has read, in the keyed order of the store, on disk until all are read.

A run is two files: the tokens of its documents one behind the other, and an Arrow file that says of each document its
key, where its tokens are, its id and attributes, and the chance of one that may be held out. Keys are hashes, so a
range of keys holds a like part of every run, and the runs can be merged range by range in bounded memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.ingest.document_order import DocumentKeys
from mixture.data.ingest.parts import Making
from mixture.data.texts import Piece
from mixture.errors import IngestError, Place
from mixture.units import quote

RUN_BYTES = 1 << 27
_RUN_DOCUMENTS = 1 << 17
ORIGIN = ("file", "row", "byte")
"""Columns that say where a document is from."""
ATTRIBUTE = "attribute "  # before the names of attributes, which may be any
CHANCE = "chance"
MOST_DOMAINS = 100_000


@dataclass(frozen=True, slots=True)
class Run:
    """Documents of a domain in a run. The run's two files are path, in the folder of finished parts, with .tokens and
    .arrow; those of several domains stand one behind the other.

    held:  whether these are the documents that may be held out, which have a chance, or the others
    first: the first row that is of them
    """

    path: Path
    domain: str
    held: bool
    first: int
    documents: int
    tokens: int

    @property
    def num_bytes(self) -> int:
        """Of its tokens, of four bytes at most, and about of what is said of its documents."""
        return 4 * self.tokens + 64 * self.documents


class Entry(NamedTuple):
    """A document for a run. chance: of one that may be held out, else None; file, row, byte: where it is from.

    There are so many of them that the time in which one is made counts: a frozen dataclass takes four times as long.
    """

    domain: str
    chance: int | None
    key: bytes
    id: str
    attributes: tuple[str | None, ...]
    tokens: NDArray[np.unsignedinteger]
    file: str
    row: int | None
    byte: int | None

    @property
    def group(self) -> tuple[str, bool]:
        """Which documents stand together in a run."""
        return self.domain, self.chance is not None


class Names:
    """The domains that documents name. There may be many of them, and not one for each document.

    column: that names them, for the error
    """

    def __init__(self, seed: int, column: str | None) -> None:
        self._seed, self._column = seed, column
        self._keys: dict[str, DocumentKeys] = {}

    def keys(self, domain: str, piece: Piece) -> DocumentKeys:
        """The keys of a domain's documents. Errors: IngestError `too-many-domains`."""
        keys = self._keys.get(domain)
        if keys is None:
            if len(self._keys) == MOST_DOMAINS:
                raise too_many_domains(str(self._column), Place(file=str(piece.file.path)))
            keys = self._keys[domain] = DocumentKeys(self._seed, domain)
        return keys


def too_many_domains(column: str, place: Place) -> IngestError:
    """The error for a column that names more domains than a store can have."""
    return IngestError(
        f"domain_column {quote(column)}: it names more than {MOST_DOMAINS:,} domains",
        code="too-many-domains",
        place=place,
        hint="name a column of labels, not of ids or texts, or put its values together to fewer groups",
    )


class RunWriter:
    """Gathers documents and writes them as runs."""

    def __init__(self, making: Making, attributes: Sequence[str], dtype: np.dtype[Any]) -> None:
        self.runs: list[Run] = []
        self._making = making
        self._attributes = attributes
        self._dtype = dtype
        self._entries: list[Entry] = []
        self._bytes = 0
        self._files = 0

    def add(self, entry: Entry) -> None:
        """Take a document. Writes a run when there is enough for one."""
        self._entries.append(entry)
        self._bytes += entry.tokens.nbytes
        if self._bytes >= RUN_BYTES or len(self._entries) >= _RUN_DOCUMENTS:
            self.flush()

    def flush(self) -> None:
        """Write what there is, if there is any."""
        if not self._entries:
            return
        file = f"{self._files:05d}"
        path = self._making.folder / file
        entries = self._sorted()
        keys = np.frombuffer(b"".join(entry.key for entry in entries), ">u8").astype(np.uint64).reshape(-1, 2)
        lengths = np.array([len(entry.tokens) for entry in entries], np.int64)
        starts = np.cumsum(lengths) - lengths
        columns: dict[str, Any] = {
            "key_high": keys[:, 0],
            "key_low": keys[:, 1],
            "start": starts,
            "tokens": lengths,
            "id": pa.array([entry.id for entry in entries], pa.large_string()),
            "file": pa.array([entry.file for entry in entries], pa.large_string()),
            "row": pa.array([entry.row for entry in entries], pa.int64()),
            "byte": pa.array([entry.byte for entry in entries], pa.int64()),
        }
        if any(entry.chance is not None for entry in entries):
            columns[CHANCE] = pa.array([entry.chance for entry in entries], pa.uint64())
        for number, name in enumerate(self._attributes):
            columns[ATTRIBUTE + name] = pa.array([entry.attributes[number] for entry in entries], pa.large_string())
        with path.with_suffix(".tokens").open("wb") as tokens:
            for entry in entries:
                tokens.write(entry.tokens.data)
        table = pa.table(columns)
        with pa.OSFile(str(path.with_suffix(".arrow")), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, len(table))
        first = 0
        for (domain, held), together in groupby(entries, key=lambda one: one.group):
            count = sum(1 for _ in together)
            size = int(lengths[first : first + count].sum())
            self.runs.append(Run(Path(self._making.name, file), domain, held, first, count, size))
            first += count
        self._files += 1
        self._entries, self._bytes = [], 0

    def _sorted(self) -> list[Entry]:
        """In order of group, then of key. Most runs are of one group."""
        together: dict[tuple[str, bool], list[Entry]] = {}
        for entry in self._entries:
            together.setdefault(entry.group, []).append(entry)
        return [one for group in sorted(together) for one in sorted(together[group], key=lambda one: one.key)]
