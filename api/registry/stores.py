"""Which store holds the tokens of a mixture: the first of the configured ones whose domains are its lock's."""

from __future__ import annotations

import logging
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixture.api.registry.folders import OWN_STORE, mixture_files
from mixture.data.store import Store, disagreements, open_store
from mixture.errors import MixtureError, StoreError
from mixture.file_names import STORE_FILE
from mixture.lock import Lock

RETRY_SECONDS = 3.0
"""A store that could not be opened is tried again after that, or as soon as its store.json is another."""

logger = logging.getLogger("mixture.service")

Written = tuple[int, int, int]
"""The store.json of a folder, written last: its time, number and size."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What came of opening a store. `store` is None where it failed, for the reason `why`, at the time `at`."""

    written: Written
    store: Store | None
    why: str
    at: float


class Stores:
    """Stores below folders: a folder is one, or holds some. A store that appears later is found when asked for.

    mixtures: where mixtures are, whose own stores are looked at behind the others

    A lock whose store was found keeps what that store held: a lock need not say what its domains hold, and whoever
    reads on from a step must not get other tokens than before it.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        mixtures: Sequence[Path] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders = tuple(folders)
        self._mixtures = tuple(mixtures)
        self._clock = clock
        self._opened: dict[Path, _Tried] = {}
        self._found: dict[str, tuple[Store, Written]] = {}
        self._none: dict[str, list[tuple[str, str]]] = {}
        self._guard = threading.Lock()

    def of(self, lock: Lock) -> Store | None:
        """The first store that holds the domains of a lock, or None where there never was one.

        Errors: StoreError, where there was one: `store-gone`, it can not be read now; `store-replaced`, another one
        lies in its place, with other content or of another lock.
        """
        with self._guard:
            held = self._found.get(lock.digest)
            if held is not None and _written(held[0].path) == held[1]:
                return held[0]
            there = list(self._there())
            compared = [(store.tokenizer, store.digest) for store, _ in there]
            if held is None and self._none.get(lock.digest) == compared:
                return None
            for store, written in there:
                if not disagreements(store, lock) and (held is None or _same_content(held[0], store, lock)):
                    self._found[lock.digest] = store, written
                    return store
            if held is not None:
                raise _missed(held[0], [store.path for store, _ in there])
            self._none[lock.digest] = compared
            return None

    def _there(self) -> Iterator[tuple[Store, Written]]:
        """The stores that can be opened, in order."""
        own = (files.folder / OWN_STORE for files in mixture_files(self._mixtures))
        for folder in (*self._folders, *own):
            try:
                inside = sorted(folder.iterdir())
            except OSError:
                continue
            for path in (folder, *inside):
                written = _written(path)
                store = None if written is None else self._open(path, written)
                if written is not None and store is not None:
                    yield store, written

    def _open(self, path: Path, written: Written) -> Store | None:
        known, now = self._opened.get(path), self._clock()
        if known is None or known.written != written or (known.store is None and now - known.at >= RETRY_SECONDS):
            store, why = None, ""
            try:
                store = open_store(path)
            except (MixtureError, OSError) as error:
                why = str(error)
                if known is None or known.why != why:
                    logger.warning("store %s is left out: %s", path, why)
            self._opened[path] = known = _Tried(written, store, why, now)
        return known.store


def _written(path: Path) -> Written | None:
    """What the store in a folder was written as; None where there is none."""
    try:
        status = (path / STORE_FILE).stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):  # opening a named pipe could wait for ever
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _same_content(one: Store, other: Store, lock: Lock) -> bool:
    """Whether two stores hold the same tokens in the domains of a lock."""

    def contents(store: Store) -> Mapping[str, str | None]:
        held = ((domain.name, store.domains.get(domain.name)) for domain in lock.data.domains)
        return {name: None if domain is None else domain.content for name, domain in held}

    return one.tokenizer_digest == other.tokenizer_digest and contents(one) == contents(other)


def _missed(was: Store, there: Sequence[Path]) -> StoreError:
    if was.path in there:
        hint = "put the store back that was there; the service reads another one when it is started anew"
        return StoreError("the store of this mixture was replaced by another one", code="store-replaced", hint=hint)
    return StoreError(
        "the store of this mixture is gone, or can not be read", code="store-gone", hint="ask again later"
    )
