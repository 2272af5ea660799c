"""A folder of what was read of objects, for all processes of a machine, bounded in bytes.

    FOLDER/blocks/KE/KEY.block   magic, XXH3 (128 bits) of the bytes, the bytes; by rename
    FOLDER/tables/DIGEST/…       the tables of a store, which are mapped: they count, and stay

KEY is the BLAKE2b (160 bits) of address, size, ETag or time, and range, so what was changed has another one. What is
not of this form is not touched.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import xxhash

from mixture.data.storage.spans import Span
from mixture.errors import Place, StoreError

BLOCKS, TABLES = "blocks", "tables"
MAGIC = b"mixblk1\n"
HEAD_BYTES = len(MAGIC) + 16
LEFT_SECONDS = 3600
"""After which a file that was being written is one that a process left."""
_NAME = re.compile(r"[0-9a-f]{40}\.block")
_LEFT = re.compile(r"\.[0-9a-f]{40}\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True, slots=True)
class _Kept:
    used: int
    size: int
    path: str
    is_left: bool


class DiskCache:
    """Bytes by span, the last used ones. Any number of processes and threads may share a folder.

    After each 64th of its size that a process has written it looks at all of the folder, and deletes what was not used
    for longest until an eighth is free: eight processes keep below the bound, whatever they do at a time.

    Errors: StoreError `cache-unusable`, where the folder can not be made or written.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self.most_bytes = folder, most_bytes
        self._guard = threading.Lock()
        self._unseen = most_bytes  # so that what is there is counted with the first block
        try:
            (folder / BLOCKS).mkdir(parents=True, exist_ok=True)
            (folder / TABLES).mkdir(exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error

    def get(self, span: Span) -> bytes | None:
        """What is kept of a span; what is not what was written is thrown away."""
        path = self._path(span)
        try:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 thousands a second
                found = file.readall()
        except OSError:
            return None
        data = found[HEAD_BYTES:]
        if not _is_whole(found, data) or len(data) != span.size:
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108
            return None
        with suppress(OSError):
            os.utime(path)
        return data

    def put(self, span: Span, data: bytes) -> None:
        """Keep the bytes of a span."""
        size = HEAD_BYTES + len(data)
        if size > self.most_bytes // 8:
            return
        path = self._path(span)
        name = os.path.basename(path)  # noqa: PTH119
        beside = f"{os.path.dirname(path)}/.{name.removesuffix('.block')}.{secrets.token_hex(4)}.tmp"  # noqa: PTH120
        self._make_room(size)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            with open(beside, "wb") as file:  # noqa: PTH123
                file.write(MAGIC + xxhash.xxh3_128_digest(data))
                file.write(data)
            os.replace(beside, path)  # noqa: PTH105
        except OSError as error:
            with suppress(OSError):
                os.unlink(beside)  # noqa: PTH108
            raise self._unusable(error) from error

    def _make_room(self, size: int) -> None:
        with self._guard:
            self._unseen += size
            if self._unseen <= self.most_bytes // 64:
                return
            self._unseen = 0
            self._trim(self.most_bytes - self.most_bytes // 8 - size)

    def _trim(self, most: int) -> None:
        """Delete the blocks that were not used for longest, until all of the folder has at most so many bytes."""
        now = time.time_ns()
        kept = sorted(self._kept(), key=lambda one: one.used)
        total = sum(one.size for one in kept) + _folder_bytes(self.folder / TABLES)
        for one in kept:
            if one.is_left and now - one.used < LEFT_SECONDS * 10**9:
                continue
            if (total > most or one.is_left) and (one.is_left or _is_ours(one.path)):
                with suppress(OSError):
                    os.unlink(one.path)  # noqa: PTH108
                total -= one.size

    def _kept(self) -> Iterator[_Kept]:
        """The files of this form. What another process deletes meanwhile is left out."""
        for part in _entries(self.folder / BLOCKS):
            for entry in _entries(part.path) if part.is_dir(follow_symlinks=False) else ():
                is_left = _LEFT.fullmatch(entry.name) is not None
                if (is_left or _NAME.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        yield _Kept(status.st_mtime_ns, status.st_size, entry.path, is_left)

    def _path(self, span: Span) -> str:
        facts = span.object.facts
        what = facts.tag if facts.tag is not None else str(facts.modified)
        said = "\x1f".join((str(span.object.address), str(facts.size), what, str(span.start), str(span.stop)))
        key = hashlib.blake2b(said.encode(), digest_size=20).hexdigest()
        return f"{self.folder}/{BLOCKS}/{key[:2]}/{key}.block"

    def _unusable(self, error: OSError) -> StoreError:
        message = f"can not be used as a cache: {error.strerror}"
        return StoreError(message, code="cache-unusable", place=Place(file=str(self.folder)))


def _is_whole(found: bytes, data: bytes) -> bool:
    return found[:HEAD_BYTES] == MAGIC + xxhash.xxh3_128_digest(data)


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _folder_bytes(folder: str | Path) -> int:
    total = 0
    for entry in _entries(folder):
        with suppress(OSError):
            is_folder = entry.is_dir(follow_symlinks=False)
            total += _folder_bytes(entry.path) if is_folder else entry.stat(follow_symlinks=False).st_size
    return total
