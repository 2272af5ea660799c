"""Files by the SHA-256 of their bytes, in one folder that several copies of the service may share.

A file is whole or not there: it is written beside, flushed to the disk and takes its name by rename. Its name is made
of its digest alone, so nothing of a request enters a path.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from mixture.api.database.disk import Held, make_folder, private, usable
from mixture.api.database.errors import RepositoryError

LEAST_ROOM = 16 * 2**20
"""Bytes: as much as the tables of a mixture may have."""
UNFINISHED_SECONDS = 3600.0
_HEX = re.compile(r"[0-9a-f]{64}")


class Objects:
    """The folder of objects. Safe from any number of threads and processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder)
        self._held = Held(folder)

    def check(self) -> None:
        """Raises `data-dir-unusable` where the folder was removed."""
        self._held.check()

    def check_room(self) -> None:
        """Raises `data-dir-unusable` where the folder was removed, is read-only or has no room for a mixture."""
        self.check()
        with usable():
            room = os.statvfs(self.folder)
            if room.f_flag & os.ST_RDONLY or not os.access(self.folder, os.W_OK):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            if room.f_bavail * room.f_frsize < LEAST_ROOM or (room.f_files and not room.f_favail):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def put(self, data: bytes) -> str:
        """Keep bytes; gives their digest. Bytes that are there already are not written again.

        Raises `data-dir-unusable` where they can not be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        self.check()
        with usable():
            self._put(self._path(digest), data)
        return digest

    def _put(self, path: Path, data: bytes) -> None:
        if self._holds(path, data):
            return
        make_folder(path.parent)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            with open(beside, "xb", opener=private) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        for folder in (path.parent, self.folder):
            _flush(folder)

    def get(self, digest: str) -> bytes:
        """The bytes of a digest, which they are compared with.

        Raises `object-missing`, `object-damaged`, `data-dir-unusable`.
        """
        with usable():
            try:
                data = self._path(digest).read_bytes()
            except FileNotFoundError as error:
                message = f"the object {digest} is not in the folder of objects"
                raise RepositoryError(message, code="object-missing", digest=digest) from error
        if hashlib.sha256(data).hexdigest() != digest:
            message = f"the object {digest} is damaged: its bytes have another digest"
            raise RepositoryError(message, code="object-damaged", digest=digest)
        return data

    def _path(self, digest: str) -> Path:
        assert _HEX.fullmatch(digest), "digests come from this class and from the database"
        return self.folder / digest[:2] / digest[2:]

    def _holds(self, path: Path, data: bytes) -> bool:
        """Whether a file is there whole; one that is damaged is written again."""
        try:
            return path.read_bytes() == data
        except FileNotFoundError:
            return False


def sweep(folder: Path, *, now: float) -> int:
    """Remove what processes that were killed left half-written in a folder of objects; gives how many files.

    What is younger than an hour may be another copy's that is being written.
    """
    removed = 0
    for path in folder.glob("*/.*.tmp"):
        # Another copy may finish or remove it meanwhile; what cannot be removed, as on a read-only disk, stays.
        with suppress(OSError):
            if path.stat().st_mtime < now - UNFINISHED_SECONDS:
                path.unlink()
                removed += 1
    return removed


def _flush(folder: Path) -> None:
    """Bring a folder's entries to the disk, so that a renamed file is there after a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
