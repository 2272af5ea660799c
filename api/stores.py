"""Which store holds the tokens of a mixture: the first of the configured ones whose domains are its lock's."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from mixture.errors import MixtureError
from mixture.plan import Lock
from mixture.store import Store, disagreements, open_store

MANIFEST = "store.json"

logger = logging.getLogger("mixture.service")


class Stores:
    """Stores below folders: a folder is one, or holds some. A store that appears later is found when asked for."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._opened: dict[Path, tuple[int, Store | None]] = {}
        self._found: dict[str, Store] = {}
        self._none: dict[str, tuple[tuple[Path, int], ...]] = {}
        self._guard = threading.Lock()

    def of(self, lock: Lock) -> Store | None:
        """The first store that holds the domains of a lock, or None."""
        with self._guard:
            if lock.digest in self._found:
                return self._found[lock.digest]
            there = tuple(self._there())
            if self._none.get(lock.digest) == there:
                return None
            for path, written in there:
                store = self._open(path, written)
                if store is not None and not disagreements(store, lock):
                    self._found[lock.digest] = store
                    return store
            self._none[lock.digest] = there
            return None

    def _there(self) -> Iterator[tuple[Path, int]]:
        """The folders that are stores, in order, and when each was finished."""
        for folder in self._folders:
            inside = sorted(folder.iterdir()) if folder.is_dir() else []
            for path in (folder, *inside):
                try:
                    yield path, (path / MANIFEST).stat().st_mtime_ns
                except OSError:
                    continue

    def _open(self, path: Path, written: int) -> Store | None:
        known = self._opened.get(path)
        if known is None or known[0] != written:
            try:
                known = (written, open_store(path))
            except (MixtureError, OSError) as error:
                logger.warning("store %s is left out: %s", path, error)
                known = (written, None)
            self._opened[path] = known
        return known[1]
