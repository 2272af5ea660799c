"""A folder of sites while one is written: for one run at a time, and whole again after a run that was killed.

DIR/.site.lock                  held by the run that writes; it names a date that is put here and not in the index yet
DIR/.2026.11.29.01234567.tmp    a site that is being written
DIR/.2026.11.29.01234567.old    the one whose place it takes, where two folders can not be exchanged at once
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from mixture.errors import MixtureError, Place

LOCK = ".site.lock"
_DATE = re.compile(r"[0-9]{4}\.[0-9]{2}\.[0-9]{2}")
_SITE = re.compile(r"\.([0-9]{4}\.[0-9]{2}\.[0-9]{2})\.[0-9a-f]{8}\.(tmp|old)")
_INDEX = re.compile(r"\.index\.(html|json|csv)\.[0-9a-f]{8}\.tmp")
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
"""Of Linux: renameat2(2)."""


def is_left_behind(name: str) -> bool:
    """Whether a name in a folder of sites is of what a run that was killed has left."""
    return name == LOCK or bool(_SITE.fullmatch(name) or _INDEX.fullmatch(name))


def begun(folder: Path) -> str | None:
    """The date of a site that was put in its place by a run which did not come to the index; None: there is none."""
    try:
        text = (folder / LOCK).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    return text if _DATE.fullmatch(text) else None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder, made where there is none, for this process alone. Raises MixtureError `site-running`; OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another run is writing a site into this folder"
            raise MixtureError(message, code="site-running", place=Place(file=str(folder))) from None
        yield
    finally:
        os.close(descriptor)


@contextmanager
def beside(folder: Path, date: str) -> Iterator[Path]:
    """A path for the files of a site that gets its place by `put`; gone at the end. For who has the lock."""
    path = folder / f".{date}.{secrets.token_hex(4)}.tmp"
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def noted(folder: Path, date: str) -> Iterator[None]:
    """Until the block has put a site in its place and named it in the index, the lock says that it is ours."""
    (folder / LOCK).write_text(date, encoding="utf-8")
    yield
    (folder / LOCK).write_text("", encoding="utf-8")


def put(made: Path, path: Path) -> None:
    """Give a folder its name. One that has it is gone in the same moment, where the system can exchange two."""
    if not path.exists():
        made.rename(path)
        return
    if not _exchange(made, path):
        path.rename(made.with_suffix(".old"))
        made.rename(path)
    for old in (made, made.with_suffix(".old")):
        if old.exists():
            shutil.rmtree(old)


def clear(folder: Path, listed: Collection[str]) -> None:
    """Remove what runs that were killed have left; a site whose place was given to none gets it back.

    listed: the dates in the index
    """
    first = begun(folder)
    if first is not None and first not in listed and (folder / first).is_dir():
        shutil.rmtree(folder / first)
    for path in sorted(folder.iterdir()):
        if site := _SITE.fullmatch(path.name):
            if site[2] == "old" and site[1] in listed and not (folder / site[1]).exists():
                path.rename(folder / site[1])
            else:
                shutil.rmtree(path)
        elif _INDEX.fullmatch(path.name):
            path.unlink()


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one moment; False where system or file system can not."""
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
