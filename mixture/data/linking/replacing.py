"""Putting a folder in the place of another: nobody finds none there, or half of one, whenever the writer is killed."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixture.data.writing import workplace
from mixture.errors import IngestError, Place, StoreError

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE
_CAN_NOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


@contextmanager
def replacing(place: Path) -> Iterator[Path]:
    """An empty folder beside `place`, for the one process that makes what is to replace it; gone afterwards.

    It is `.NAME.next.ingest`; what a killed process left in it is removed by the next one.
    Errors: StoreError `catalog-busy`; IngestError `place-taken`.
    """
    try:
        with workplace(place.with_name(f"{place.name}.next")) as work:
            yield work
    except IngestError as error:
        if error.code != "ingest-running":
            raise
        hint = "begin again when it has ended"
        message = "another process is writing this catalog"
        raise StoreError(message, code="catalog-busy", place=Place(file=str(place)), hint=hint) from error


def exchange(made: Path, place: Path) -> None:
    """Have two folders of one file system change places, at once where the system can: Linux, on its own file systems.

    Elsewhere what was at `place` is NAME.before for a moment, and stays so where the process is killed in it.
    """
    try:
        _exchange(made, place)
    except OSError as error:
        if error.errno not in _CAN_NOT:
            raise
        before = place.with_name(f"{place.name}.before")
        place.rename(before)
        try:
            made.rename(place)
        except BaseException:
            before.rename(place)
            raise
        before.rename(made)


def _exchange(one: Path, other: Path) -> None:
    """Errors: OSError, one of `_CAN_NOT` where the system does not know it."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(other))
