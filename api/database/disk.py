"""The service's own files: nobody else reads them, and they are still the ones that it opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mixture.api.database.errors import RepositoryError

FOLDER_MODE, FILE_MODE = 0o700, 0o600


@contextmanager
def usable() -> Iterator[None]:
    """Say without its path that the folder cannot be used: it is full, gone, read-only. Raises `data-dir-unusable`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise unusable(reason) from error


def unusable(reason: str) -> RepositoryError:
    """That the folder cannot be used, and why."""
    return RepositoryError(f"the service's folder cannot be used: {reason}", code="data-dir-unusable")


def make_folder(path: Path) -> None:
    """Make a folder, for this user alone where it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=FOLDER_MODE, exist_ok=True)


def keep_from_git(folder: Path) -> None:
    """Let git pass over a folder: it may lie in somebody's repository, and holds a database and hashes of tokens."""
    with suppress(OSError), open(folder / ".gitignore", "x", encoding="utf-8", opener=private) as file:
        file.write("# Data of `mixture serve`, made by it.\n*\n")


def private(path: str, flags: int) -> int:
    """For `opener=` of `open`: a new file is for this user alone."""
    return os.open(path, flags, FILE_MODE)


class Held:
    """A file or folder that is in use since this was made: what is written to one that was removed is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._was = _identity(path)

    def check(self) -> None:
        """Raises `data-dir-unusable` where it was removed, or another one lies in its place."""
        if self._was is None or _identity(self._path) != self._was:
            raise RepositoryError(
                "the service's folder is not the one that it was started with",
                code="data-dir-unusable",
                hint="put it back, or start the service anew",
            )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
