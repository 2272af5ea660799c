"""Where a store is made: a hidden folder beside the place it goes to, so that it gets there whole, by one rename."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixture.errors import IngestError, Place
from mixture.store.manifest import MANIFEST


@contextmanager
def workplace(out: Path) -> Iterator[Path]:
    """An empty folder on the file system of `out`, for this process alone; gone afterwards.

    What a killed ingest left in it is removed. Errors: IngestError `store-exists`, `place-taken`, `ingest-running`.
    """
    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = place.parent / f".{place.name}.ingest"
    descriptor = _lock(folder, out)
    try:
        _empty(folder)
        _check_free(out)
        # A name of its own: a process of a killed ingest may live a moment longer, and write where it did.
        yield Path(tempfile.mkdtemp(dir=folder))
    finally:
        # The lock's file goes last: until then nobody else gets in.
        _empty(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _check_free(out: Path) -> None:
    """Refuse a place that has something in it: nothing is ever written over."""
    place = Place(file=str(out))
    if (out / MANIFEST).exists():
        raise IngestError(
            "there is a store already", code="store-exists", place=place, hint="remove it, or choose another folder"
        )
    if out.is_dir() and not any(out.iterdir()):
        return
    if os.path.lexists(out):
        raise IngestError(
            "there is something else already",
            code="place-taken",
            place=place,
            hint="a new or empty folder is right here",
        )


def publish(made: Path, out: Path) -> None:
    """Move a finished store to its place at once, all of it on the disk before its name is."""
    for path in (*made.rglob("*"), made):
        _sync(path)
    place = out.resolve()
    made.rename(place)
    _sync(place.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(folder: Path, out: Path) -> int:
    """Hold the folder's lock file. The system lets go of it when the process ends, however it ends."""
    path = folder / "lock"
    while True:
        folder.mkdir(exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        except FileNotFoundError:
            continue  # the one before has just removed the folder
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise IngestError(
                "another ingest is writing this store", code="ingest-running", place=Place(file=str(out))
            ) from None
        os.close(descriptor)


def _same(path: Path, descriptor: int) -> bool:
    """Whether the lock that is held is the one that the next process will find."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name != "lock":
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
