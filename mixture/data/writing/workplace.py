"""Where a store is made: a hidden folder beside the place it goes to, so that it gets there whole, by one rename."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mixture.data.layout import MANIFEST
from mixture.errors import IngestError, Place
from mixture.units import quote

_LOCK = "mixture-ingest.lock"  # marks the folder as ours; the first in it, and the last
_AT_ONCE = 16
_IN_TURN = 4  # files, for which no thread is begun
_WORK = "mixture-work-"  # begins the names of the folders in it


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a store is made.

    folder: an empty one on the file system of its place, for this process alone
    left:   such folders that others left which ended, or were ended, before their store was whole
    """

    folder: Path
    left: tuple[Path, ...]


@contextmanager
def lasting_workplace(out: Path) -> Iterator[Workplace]:
    """A place to work for this process alone; what is still in it afterwards stays, for the next one to go on with.

    A folder of that name that no ingest made is refused, and left as it is.
    Errors: IngestError `store-exists`, `place-taken`, `ingest-running`.
    """
    place = out.resolve()
    folder = place.parent / f".{place.name}.ingest"
    if not ((out / MANIFEST).exists() and folder.is_dir()):  # of an ingest that was killed when its store was there
        _check_free(out)
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _lock(folder, out)
    try:
        left = _works(folder)
        if (out / MANIFEST).exists():
            remove(left)
        _check_free(out)  # once more: the ingest that held the lock may just have put its store there
        # A name of its own: a process of a killed ingest may live a moment longer, and write where it did.
        yield Workplace(Path(tempfile.mkdtemp(prefix=_WORK, dir=folder)), tuple(left))
    finally:
        if not _works(folder):
            with suppress(OSError):  # another may begin in it as soon as the lock's file, which goes last, is gone
                (folder / _LOCK).unlink()
                folder.rmdir()
        os.close(descriptor)


@contextmanager
def workplace(out: Path) -> Iterator[Path]:
    """An empty folder on the file system of `out`, for this process alone; gone afterwards.

    What was left in its place is removed. Errors: those of `lasting_workplace`.
    """
    with lasting_workplace(out) as place:
        try:
            remove(place.left)
            yield place.folder
        finally:
            remove([*place.left, place.folder])  # into what was left a process may have written, that is gone by now


def remove(folders: Iterable[Path]) -> None:
    """Remove folders as far as that can be."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _check_free(out: Path) -> None:
    """Refuse a place that has something in it: nothing is ever written over."""
    place = Place(file=str(out))
    if not _is_utf8(out.resolve()):
        raise IngestError(
            "the path is not UTF-8, and DuckDB, which sorts the ids, can not write there",
            code="store-unwritable",
            place=place,
            hint="a store that is made elsewhere can be moved here",
        )
    if (out / MANIFEST).exists():
        raise IngestError(
            "there is a store already", code="store-exists", place=place, hint="remove it, or choose another folder"
        )
    if os.path.ismount(out):
        raise IngestError(
            "another file system is mounted here, and a store gets to its place by a rename",
            code="place-taken",
            place=place,
            hint=f"a folder inside it is right here, such as {out / 'store'}",
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


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def publish(made: Path, out: Path) -> None:
    """Move a finished store to its place at once, all of it on the disk before its name is."""
    on_disk(made)
    place = out.resolve()
    made.rename(place)
    sync(place.parent)


def on_disk(made: Path) -> None:
    """Have all of a folder on the disk."""
    sync_all((*made.rglob("*"), made))


def sync_all(paths: Iterable[Path]) -> None:
    """Have files, or the names in folders, on the disk: a fifth of the time that they take in turn."""
    waiting = list(paths)
    if len(waiting) <= _IN_TURN:
        for path in waiting:
            sync(path)
        return
    with ThreadPoolExecutor(_AT_ONCE, "sync") as pool:
        for _ in pool.map(sync, waiting):
            pass


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(folder: Path, out: Path) -> int:
    """Hold the folder's lock file. The system lets go of it when the process ends, however it ends."""
    path = folder / _LOCK
    while True:
        if os.path.lexists(folder):
            _check_own(folder)
        folder.mkdir(exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o644)
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


def _check_own(folder: Path) -> None:
    """Refuse to work in a folder that holds what no ingest has put there: it would be removed."""
    try:
        kind = folder.lstat().st_mode
        names = {entry.name for entry in folder.iterdir()} if stat.S_ISDIR(kind) else set()
    except FileNotFoundError:
        return  # the one before has just removed it
    foreign = sorted(name for name in names if name != _LOCK and not name.startswith(_WORK))
    if stat.S_ISDIR(kind) and not foreign and (_LOCK in names or not names):
        return
    what = f"holds {quote((foreign or sorted(names))[0])}" if names else "is not a folder"
    raise IngestError(
        f"a store is made in this folder, and it {what}, which no ingest has made",
        code="place-taken",
        place=Place(file=str(folder)),
        hint="move it away, or choose another place for the store",
    )


def _works(folder: Path) -> list[Path]:
    """What ingests have made in the folder, but for the lock."""
    return sorted(entry for entry in folder.iterdir() if entry.name.startswith(_WORK))
