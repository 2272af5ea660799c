"""Counting a file of tokens: its pieces, its documents, and what it looks like, so that a change of it shows."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mixture.data.layout import How, LinkedFile, LinkedFormat, SeenFile, linked_path
from mixture.data.linking.formats import files_beside, survey
from mixture.data.storage import Address, located
from mixture.data.token_files import fingerprint, looks, naming, refused, sha256
from mixture.errors import StoreError

_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("tokens", pa.int64(), nullable=False)])


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file that was counted.

    dtype:     of its tokens as they are stored
    documents: a Parquet file of their ids and numbers of tokens, to be read once
    """

    file: LinkedFile
    dtype: np.dtype[np.integer]
    places: NDArray[np.int64]
    piece_tokens: NDArray[np.int64]
    documents: Path

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Its documents."""
        with pq.ParquetFile(self.documents) as file:
            yield from file.iter_batches()


@dataclass(frozen=True, slots=True)
class CountJob:
    """A file to be counted.

    file, base: its path, and the folder that it is relative to
    documents:  where what is found of its documents goes
    is_full:    whether all of it is read for its SHA-256
    """

    domain: str
    how: How
    file: str
    base: Path
    vocabulary: int
    end_of_document: int
    documents: Path
    is_full: bool

    def run(self) -> CountedFile:
        """Count it. Errors: StoreError, which names domain and file."""
        with naming(self.domain):
            return self._count(linked_path(self.base, self.file))

    def _count(self, path: str) -> CountedFile:
        own, folder, name = posixpath.dirname(self.file), posixpath.dirname(path), posixpath.basename(path)
        beside = tuple(
            see(one, _beside(own, posixpath.relpath(one, folder)), self.is_full) for one in files_beside(path, self.how)
        )
        seen = see(path, self.file, self.is_full)
        found = survey(path, self.how, self.vocabulary, self.end_of_document)
        if self.how.format is not LinkedFormat.STORE:  # a store has the same tokenizer, and its own word for that
            self._check_type(path, found.dtype)
        count = 0
        with pq.ParquetWriter(self.documents, _SCHEMA, compression="zstd") as writer:
            for documents in found.found():
                columns = [documents.named(name), pa.array(documents.tokens)]
                writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))
                count += len(documents.tokens)
        if looks(path) != (seen.bytes, seen.modified):
            raise refused(path, "was written to while it was counted", "file-changed", "count it when it is complete")
        file = LinkedFile(**seen.model_dump(), tokens=found.tokens, documents=count, beside=beside)
        return CountedFile(file, found.dtype, found.places, found.piece_tokens, self.documents)

    def _check_type(self, path: str, dtype: np.dtype[np.integer]) -> None:
        if np.iinfo(dtype).max < self.vocabulary - 1:
            message = f"its tokens are of type {dtype}, which does not hold a vocabulary of {self.vocabulary:,}"
            hint = "either is not what the tokens were written with"
            raise refused(path, message, "dtype-too-small", hint, vocabulary=self.vocabulary)


def _beside(own: str, file: str) -> str:
    """The path of a file from the folder `own`, as the catalog has it."""
    folder = located(own)
    return str(folder / file) if isinstance(folder, Address) else posixpath.normpath(posixpath.join(own, file))


def see(path: str, file: str, is_full: bool) -> SeenFile:
    """What a file looks like. Errors: StoreError `file-missing`, `store-unreadable`."""
    try:
        size, modified = looks(path)
    except OSError as error:
        raise refused(path, f"can not be read: {error.strerror}", "file-missing") from error
    whole = sha256(path) if is_full else None
    return SeenFile(file=file, bytes=size, modified=modified, fingerprint=fingerprint(path), sha256=whole)


def is_same(path: str, seen: SeenFile) -> bool:
    """Whether a file is, by all that is known of it, the one that was counted."""
    try:
        size, modified = looks(path)
        return size == seen.bytes and (modified == seen.modified or fingerprint(path) == seen.fingerprint)
    except (OSError, StoreError):
        return False
