"""Reading the files of a store that is open: it was whole then, and may not be now."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from mixture.errors import Place, StoreError
from mixture.store.manifest import MANIFEST


class Standing:
    """A store's folder as it stands: its files are opened when they are read, and must not be another store's by then.

    To be made before store.json is read, and asked after a file was opened.
    """

    def __init__(self, folder: Path) -> None:
        self._manifest = folder / MANIFEST
        self._written = self._now()

    def check(self) -> None:
        """Errors: StoreError `store-replaced`."""
        if self._now() != self._written:
            # It is written last and by rename: while it is the same one, so are the files beside it.
            place = Place(file=str(self._manifest))
            raise StoreError(
                "is not the one that was there when the store was opened", code="store-replaced", place=place
            )

    def _now(self) -> tuple[int, int, int] | None:
        try:
            status = self._manifest.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size


@contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name a file in what the system or Arrow raise. Errors: StoreError `file-missing`, `store-unreadable`."""
    place = Place(file=str(path))
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError("was removed after the store was opened", code="file-missing", place=place) from error
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreError(f"can not be read: {reason}", code="store-unreadable", place=place) from error


def arrow_file(path: Path) -> pa.OSFile:
    """A file opened for Arrow, which takes a path as text only where it is UTF-8. To be closed by the caller."""
    return pa.OSFile(os.fsencode(path))


def map_file(path: str, size: int) -> mmap.mmap:
    """The first `size` bytes of a file, mapped. Errors: StoreError, those of `readable` and `file-size`."""
    with readable(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            if os.fstat(descriptor).st_size < size:
                # A map past the end of a file kills the process when it is read.
                raise StoreError("was cut short after the store was opened", code="file-size", place=Place(file=path))
            return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
