"""The bytes of the files that a catalog leads to. What is read to count, to compare and to decode goes through here.

Rows of plain arrays are read by `mixture.data.layout.Files`, which keeps files open and mapped, and out of objects by
`mixture.data.layout.DistantRows`. An object is looked at again each time, but for an open store, whose
`Standing` says what it was when the store was opened.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.layout import Standing
from mixture.data.storage import Address, Blocks, ObjectFile, ObjectOptions, Span, StoredObject, blocks_of, located
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
    """What can be said of a file. Errors: OSError; StoreError, those of `Blocks`."""
    found = _object(path, None)
    if found is not None:
        return Looks(found.facts.size, found.facts.written)
    status = os.stat(path)  # noqa: PTH116 paths of a catalog are texts
    return Looks(status.st_size, status.st_mtime_ns)


def is_there(path: str) -> bool:
    """Whether there is a file. Errors: StoreError, those of `Blocks`."""
    place = located(path)
    if isinstance(place, Address):
        return _blocks(None).objects.is_there(place)
    return os.path.isfile(path)  # noqa: PTH113


def beside(path: str, name: str) -> str:
    """The path of a file of this name in the folder of another."""
    return posixpath.join(posixpath.dirname(path), name)


@contextmanager
def opened(path: str, standing: Standing | None = None) -> Iterator[SourceFile]:
    """A file; names it in what the system or Arrow raise. Errors: StoreError `file-missing`, `store-unreadable`; those
    of `Blocks`.
    """
    try:
        found = _object(path, standing)
        if found is not None:
            yield _Object(path, found, _blocks(standing))
            return
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


class _Object:
    """An object. Nothing of it is kept: it is read once."""

    def __init__(self, path: str, found: StoredObject, blocks: Blocks) -> None:
        self.path = path
        self.size = found.facts.size
        self._object, self._blocks = found, blocks

    def read(self, start: int, size: int) -> bytes:
        return self._blocks.objects.read(Span(self._object, min(start, self.size), min(start + size, self.size)))

    def for_arrow(self) -> pa.NativeFile:
        return pa.PythonFile(ObjectFile(self._blocks.objects, self._object), mode="r")

    def whole(self) -> pa.Buffer:
        if not self.size:
            return pa.py_buffer(b"")
        # Out of memory's way: in a file that is gone when nobody maps it any more.
        with tempfile.NamedTemporaryFile(dir=self._blocks.tables) as spare:
            for start in range(0, self.size, _CHUNK_BYTES):
                spare.write(self.read(start, _CHUNK_BYTES))
            spare.flush()
            return pa.memory_map(os.fsencode(spare.name)).read_buffer()


def _object(path: str, standing: Standing | None) -> StoredObject | None:
    if standing is not None:
        return standing.object_at(path)
    place = located(path)
    return _blocks(None).objects.look(place) if isinstance(place, Address) else None


def _blocks(standing: Standing | None) -> Blocks:
    return standing.blocks if standing is not None else blocks_of(ObjectOptions.from_environment())


def array(file: SourceFile, dtype: np.dtype[Any], start: int, count: int) -> NDArray[Any]:
    """Numbers [count] from a byte on."""
    return np.frombuffer(file.read(start, count * dtype.itemsize), dtype)


def sha256(path: str, standing: Standing | None = None) -> str:
    """The SHA-256 of all of a file. Errors: StoreError."""
    digest = hashlib.sha256()
    with opened(path, standing) as file:
        for start in range(0, file.size, _CHUNK_BYTES):
            digest.update(file.read(start, _CHUNK_BYTES))
    return digest.hexdigest()
