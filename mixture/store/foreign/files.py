"""The bytes of the files that a catalog leads to. What is read to count, to compare and to decode goes through here.

Rows of plain arrays are read by `mixture.store.rows.Files`, which keeps files open and mapped.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.errors import Place, StoreError

_CHUNK_BYTES = 1 << 22


class Looks(NamedTuple):
    """What can be said of a file without reading it: its bytes, and when it was written, in nanoseconds."""

    size: int
    modified: int


class SourceFile(Protocol):
    """A file that is open."""

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int: ...

    def read(self, start: int, size: int) -> bytes:
        """Bytes [start, start + size), fewer at the end."""
        ...

    def for_arrow(self) -> pa.NativeFile:
        """What Arrow reads from, wherever it wants to, and may close."""
        ...

    def whole(self) -> pa.Buffer:
        """All of it, mapped where it can be."""
        ...


def looks(path: str) -> Looks:
    """What can be said of a file. Errors: OSError."""
    status = os.stat(path)  # noqa: PTH116 paths of a catalog are texts
    return Looks(status.st_size, status.st_mtime_ns)


def is_there(path: str) -> bool:
    """Whether there is a file."""
    return os.path.isfile(path)  # noqa: PTH113


def beside(path: str, name: str) -> str:
    """The path of a file of this name in the folder of another."""
    return posixpath.join(posixpath.dirname(path), name)


@contextmanager
def opened(path: str) -> Iterator[SourceFile]:
    """A file; names it in what the system or Arrow raise. Errors: StoreError `file-missing`, `store-unreadable`."""
    try:
        with pa.OSFile(os.fsencode(path)) as source:
            yield _Local(path, source)
    except FileNotFoundError as error:
        raise StoreError("is not there", code="file-missing", place=Place(file=path)) from error
    except (OSError, pa.ArrowException) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreError(f"can not be read: {reason}", code="store-unreadable", place=Place(file=path)) from error


class _Local:
    """A file of this machine."""

    def __init__(self, path: str, source: pa.NativeFile) -> None:
        self.path = path
        self.size: int = source.size()
        self._source = source

    def read(self, start: int, size: int) -> bytes:
        self._source.seek(min(start, self.size))
        return bytes(self._source.read(size))

    def for_arrow(self) -> pa.NativeFile:
        return pa.OSFile(os.fsencode(self.path))

    def whole(self) -> pa.Buffer:
        return pa.memory_map(os.fsencode(self.path)).read_buffer() if self.size else pa.py_buffer(b"")


def array(file: SourceFile, dtype: np.dtype[Any], start: int, count: int) -> NDArray[Any]:
    """Numbers [count] from a byte on."""
    return np.frombuffer(file.read(start, count * dtype.itemsize), dtype)


def sha256(path: str) -> str:
    """The SHA-256 of all of a file. Errors: StoreError."""
    digest = hashlib.sha256()
    with opened(path) as file:
        for start in range(0, file.size, _CHUNK_BYTES):
            digest.update(file.read(start, _CHUNK_BYTES))
    return digest.hexdigest()
