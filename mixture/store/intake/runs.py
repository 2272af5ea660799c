"""Sorted runs: documents that a process has read, in the keyed order of the store, on disk until all are read.

A run is two files: the tokens of its documents one behind the other, and an Arrow file that says of each document its
key, where its tokens are, its id and attributes. Keys are hashes, so a range of keys holds a like part of every run,
and the runs can be merged range by range in bounded memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

RUN_BYTES = 1 << 27
_RUN_DOCUMENTS = 1 << 17
ATTRIBUTE = "attribute "  # before the names of attributes, which may be any


@dataclass(frozen=True, slots=True)
class Run:
    """A run on disk: its two files are path with .tokens and .arrow."""

    path: Path
    documents: int
    tokens: int


class DocumentKeys:
    """The place of documents in a domain's order: BLAKE2b of 16 bytes over seed, domain, id and text.

    Documents with one key have the same id and text. The text enters by its digest, which is also the id of a document
    that has none.
    """

    def __init__(self, seed: int, domain: str) -> None:
        self._base = hashlib.blake2b(f"mixture-store/1\x1f{seed}\x1f{domain}\x1f".encode(), digest_size=16)

    def of(self, identity: str | None, text: bytes) -> tuple[str, bytes]:
        """Id and key of a document."""
        digest = hashlib.blake2b(text, digest_size=16).hexdigest()
        identity = digest if identity is None else identity
        key = self._base.copy()
        key.update(f"{identity}\x1f{digest}".encode())
        return identity, key.digest()


class RunWriter:
    """Gathers the documents of a domain and writes them as runs."""

    def __init__(self, folder: Path, name: str, attributes: Sequence[str], dtype: np.dtype[Any]) -> None:
        self.runs: list[Run] = []
        self._folder = folder
        self._name = name
        self._attributes = attributes
        self._dtype = dtype
        self._clear()

    def _clear(self) -> None:
        self._keys: list[bytes] = []
        self._ids: list[str] = []
        self._values: list[tuple[str | None, ...]] = []
        self._tokens: list[NDArray[np.unsignedinteger]] = []
        self._bytes = 0

    def add(
        self, key: bytes, identity: str, attributes: tuple[str | None, ...], tokens: NDArray[np.unsignedinteger]
    ) -> None:
        """Take a document. Writes a run when there is enough for one."""
        self._keys.append(key)
        self._ids.append(identity)
        self._values.append(attributes)
        self._tokens.append(tokens)
        self._bytes += tokens.nbytes
        if self._bytes >= RUN_BYTES or len(self._keys) >= _RUN_DOCUMENTS:
            self.flush()

    def flush(self) -> None:
        """Write what there is, if there is any."""
        if not self._keys:
            return
        path = self._folder / f"{self._name}-{len(self.runs):05d}"
        order = sorted(range(len(self._keys)), key=self._keys.__getitem__)
        keys = np.frombuffer(b"".join(self._keys[i] for i in order), ">u8").astype(np.uint64).reshape(-1, 2)
        lengths = np.array([len(self._tokens[i]) for i in order], np.int64)
        starts = np.cumsum(lengths) - lengths
        columns: dict[str, Any] = {
            "key_high": keys[:, 0],
            "key_low": keys[:, 1],
            "start": starts,
            "tokens": lengths,
            "id": pa.array([self._ids[i] for i in order], pa.large_string()),
        }
        for number, name in enumerate(self._attributes):
            columns[ATTRIBUTE + name] = pa.array([self._values[i][number] for i in order], pa.large_string())
        with path.with_suffix(".tokens").open("wb") as file:
            for i in order:
                file.write(self._tokens[i].data)
        table = pa.table(columns)
        with pa.OSFile(str(path.with_suffix(".arrow")), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, len(table))
        self.runs.append(Run(path, len(order), int(lengths.sum())))
        self._clear()
