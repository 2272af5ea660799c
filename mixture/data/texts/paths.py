"""The paths that a pattern leads to. Python's `glob` passes over folders that can not be read, and walks in circles."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path, PurePath

from mixture.errors import IngestError, Place

_ANY_DEPTH = "**"


class Paths:
    """Finds paths below a folder. Links are followed; a folder that they lead to more than once is walked once.

    reason: why a path below would not be read; a folder is walked once for each, for where one way to it goes by a
    hidden folder, its files are read by the other
    """

    def __init__(self, folder: Path, reason: Callable[[PurePath], Hashable]) -> None:
        self._folder = folder
        self._reason = reason

    def find(self, pattern: str) -> set[str]:
        """The files that a pattern means: of a folder, all below it. Folders that it matches are left out.

        Errors: IngestError `source-unreadable`.
        """
        parts = PurePath(pattern).parts
        if self._is_folder(PurePath(pattern)):
            found = self._walk_files(PurePath(pattern))
        elif os.path.lexists(self._folder / pattern):
            return {pattern}
        else:
            found = self._match(PurePath(), parts)
        return {str(path) for path in found}

    def _match(self, base: PurePath, parts: tuple[str, ...]) -> Iterator[PurePath]:
        if not parts:
            if not self._is_folder(base) and os.path.lexists(self._folder / base):
                yield base
            return
        part, rest = parts[0], parts[1:]
        if part == _ANY_DEPTH:
            if not rest:
                yield from self._walk_files(base)
                return
            for folder in self._walk(base):
                yield from self._match(folder, rest)
        elif not glob.has_magic(part):
            yield from self._match(base / part, rest)
        elif self._is_folder(base):
            for name in fnmatch.filter(self._names(base), part):
                yield from self._match(base / name, rest)

    def _walk_files(self, base: PurePath) -> Iterator[PurePath]:
        for folder in self._walk(base):
            yield from (folder / name for name in self._names(folder) if not self._is_folder(folder / name))

    def _walk(self, base: PurePath) -> Iterator[PurePath]:
        """A folder and all below it."""
        seen: set[tuple[int, int, Hashable]] = set()
        waiting = [base] if self._is_folder(base) else []
        while waiting:
            folder = waiting.pop()
            status = (self._folder / folder).stat()
            key = (status.st_dev, status.st_ino, self._reason(folder))
            if key in seen:
                continue
            seen.add(key)
            yield folder
            below = [folder / name for name in self._names(folder)]
            waiting += [path for path in reversed(below) if self._is_folder(path)]

    def _is_folder(self, path: PurePath) -> bool:
        return os.path.isdir(self._folder / path)  # noqa: PTH112 Path.is_dir raises where a folder may not be read

    def _names(self, folder: PurePath) -> list[str]:
        path = self._folder / folder
        try:
            return sorted(entry.name for entry in path.iterdir())
        except OSError as error:
            message = f"the folder can not be read: {error.strerror}"
            raise IngestError(message, code="source-unreadable", place=Place(file=str(path))) from error
