"""Reading the files of a store that is open: it was whole then, and may not be now."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.layout.manifest import MANIFEST
from mixture.data.storage import Address, Blocks, ObjectOptions, StoredObject, blocks_of, located
from mixture.errors import Place, StoreError

Written = tuple[int, int]
"""When a file was written last, in nanoseconds, and its size: what changes in a file that is written to in place."""


class Standing:
    """A store's folder as it stands: its files are opened when they are read, and must not be another store's by then,
    nor others than they were when the store was opened.

    To be made before store.json is read, and asked after a file was opened, and before it is read again.

    base:    what paths in a catalog begin in: the folder that it lies in
    options: how objects are read; None: as the environment says
    """

    def __init__(
        self, folder: Path, options: ObjectOptions | None = None, *, base: Path | Address | None = None
    ) -> None:
        self._folder = folder
        self._manifest = folder / MANIFEST
        self._replaced_at = self._now()
        self._written: dict[str, Written] = {}
        self._objects: dict[str, StoredObject] = {}
        self.options = options
        self.base = base if base is not None else folder.resolve().parent

    def check(self) -> None:
        """Errors: StoreError `store-replaced`."""
        if self._now() != self._replaced_at:
            # It is written last and by rename: while it is the same one, so are the files beside it.
            place = Place(file=str(self._manifest))
            raise StoreError(
                "is not the one that was there when the store was opened", code="store-replaced", place=place
            )

    def note(self, path: str, status: os.stat_result) -> None:
        """Keep what a file is as the store is opened."""
        self._written[path] = _written(status)

    def check_file(self, path: str, status: os.stat_result) -> None:
        """Compare a file with what was noted of it, if it was. Errors: StoreError `store-changed`.

        Its number is not compared: some network file systems give a file another one each time it is opened.
        """
        now = _written(status)
        if self._written.get(path, now) != now:
            raise StoreError(
                "was changed in place after the store was opened",
                code="store-changed",
                place=Place(file=path),
                hint="`mixture verify` says whether it is whole; replace a store by rename, never its files in place",
            )

    def check_path(self, path: str) -> None:
        """`check_file` of a file that is not open; of an object each answer says what it is."""
        if self.object_at(path) is None:
            self.check_file(path, os.stat(path))  # noqa: PTH116 paths of a catalog are texts

    def at_hand(self, path: str | os.PathLike[str]) -> None:
        """Have a file of the folder here before it is opened: where a store lies elsewhere, it is fetched."""

    def path_of(self, file: str) -> str:
        """Where a file of the store lies."""
        return f"{self._folder}/{file}"

    @property
    def blocks(self) -> Blocks:
        """What reads objects."""
        return blocks_of(self.options or ObjectOptions.from_environment())

    @property
    def threads(self) -> int:
        """How many files are read at a time where all are."""
        return self.blocks.options.in_flight if isinstance(self.base, Address) else os.cpu_count() or 1

    def pin(self, found: StoredObject) -> None:
        """Keep what an object is as the store is opened: nothing else is read in its place."""
        self._objects[str(found.address)] = found

    def object_at(self, path: str) -> StoredObject | None:
        """The object that lies at a path, None where that is a file. Errors: StoreError, those of `Blocks`."""
        if path not in self._objects:
            address = located(path)
            if isinstance(address, Path):
                return None
            self._objects.setdefault(path, self.blocks.objects.look(address))
        return self._objects[path]

    def _now(self) -> tuple[int, int, int] | None:
        try:
            status = self._manifest.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size


def _written(status: os.stat_result) -> Written:
    return status.st_mtime_ns, status.st_size


class Memory(NamedTuple):
    """Bytes of a file, mapped, and the address at which they begin as long as this is held."""

    bytes: NDArray[np.uint8]
    start: int


class OpenFile:
    """A file of a store that stays open. What is mapped of it kills the process where it was cut short since: ask
    `check` before it is read; `read` needs no such care.

    advice: how its map is read, for the system

    Errors: StoreError, those of `readable`, `file-size`, `store-replaced`, `store-changed`.
    """

    def __init__(self, path: str, size: int, standing: Standing, *, advice: int = mmap.MADV_NORMAL) -> None:
        self._path = path
        self._size = size
        self._advice = advice
        self._standing = standing
        self._descriptor = -1
        standing.at_hand(path)
        with readable(path):
            self._descriptor = os.open(path, os.O_RDONLY)
        standing.check()
        self.check()

    def __del__(self) -> None:
        # A map has a descriptor of its own, so that views of it stay good.
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def check(self) -> None:
        """Errors: StoreError `file-size` where it is shorter than it has to be, `store-changed`."""
        status = os.fstat(self._descriptor)
        if status.st_size < self._size:
            message = "was cut short after the store was opened"
            raise StoreError(message, code="file-size", place=Place(file=self._path))
        self._standing.check_file(self._path, status)

    @cached_property
    def mapped(self) -> mmap.mmap:
        """Its bytes, mapped."""
        with readable(self._path):
            mapped = mmap.mmap(self._descriptor, self._size, access=mmap.ACCESS_READ)
        mapped.madvise(self._advice)
        return mapped

    @cached_property
    def memory(self) -> Memory:
        """The same, and where that is."""
        found = np.frombuffer(self.mapped, np.uint8)
        start: int = found.__array_interface__["data"][0]
        return Memory(found, start)

    def read(self, start: int, target: memoryview) -> None:
        """Fill `target` with the bytes from `start` on, whatever becomes of the file meanwhile."""
        try:
            found = os.preadv(self._descriptor, (target,), start)
            while 0 < found < len(target):  # one call gives up to 2 GiB
                more = os.preadv(self._descriptor, (target[found:],), start + found)
                found = found + more if more else -1
        except OSError as error:  # not by `readable`: a context for each row took a third of the time
            raise unreadable(self._path, error) from error
        if found != len(target):
            message = "was cut short after the store was opened"
            raise StoreError(message, code="file-size", place=Place(file=self._path))


@contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name a file in what the system or Arrow raise. Errors: StoreError `file-missing`, `store-unreadable`."""
    try:
        yield
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise unreadable(path, error) from error


def unreadable(path: str | os.PathLike[str], error: Exception) -> StoreError:
    """The StoreError that an error of the system or of Arrow is: `file-missing`, `store-unreadable`."""
    place = Place(file=str(path))
    if isinstance(error, FileNotFoundError):
        return StoreError("was removed after the store was opened", code="file-missing", place=place)
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return StoreError(f"can not be read: {reason}", code="store-unreadable", place=place)


def arrow_file(path: Path) -> pa.OSFile:
    """A file opened for Arrow, which takes a path as text only where it is UTF-8. To be closed by the caller."""
    return pa.OSFile(os.fsencode(path))
