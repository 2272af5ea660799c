"""Mixtures in memory: what a lock, its spec and its catalog say, loaded once by digest and kept while there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from api.stores import Stores
from mixture.catalog import Catalog
from mixture.plan import Lock
from mixture.store import Store


class Source(StrEnum):
    """Where a mixture comes from: a folder that the service was started with, or somebody who published it."""

    BUILTIN = "builtin"
    PUBLISHED = "published"


@dataclass(frozen=True)
class LoadedMixture:
    """A mixture as the service answers from it. Everything here follows from `digest`, but for `store`.

    name:      the name that it was asked by
    digest:    of its lock, lower-case hex
    lock:      the lock; `lock.schedule()` is its schedule
    lock_text: the lock's file as it is
    plan_json: what `mixture plan --json` prints
    spec_text: the spec's file as it is
    catalog:   the table of its domains, `domain_column` the column that names them
    published: when, or None for a mixture from a folder
    """

    name: str
    digest: str
    lock: Lock
    lock_text: str
    plan_json: Mapping[str, object]
    spec_text: str
    catalog: Catalog
    domain_column: str
    source: Source
    published: datetime | None
    stores: Stores = field(repr=False)

    @property
    def store(self) -> Store | None:
        """The first store that holds the lock's domains, or None while there is none. Errors: those of `Stores.of`."""
        return self.stores.of(self.lock)

    @cached_property
    def description(self) -> str:
        """The comment that the spec begins with, without its marks."""
        lines = []
        for line in self.spec_text.splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.lstrip("#").strip())
        return " ".join(lines).strip()


class Kept:
    """Loaded mixtures by (name, digest), the ones used last. Threads that ask for the same one load it once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[tuple[str, str], LoadedMixture] = OrderedDict()
        self._loading: dict[tuple[str, str], threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, name: str, digest: str, load: Callable[[], LoadedMixture]) -> LoadedMixture:
        """The mixture that is kept, or that `load` gives."""
        key = (name, digest)
        with self._guard:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
            loading = self._loading.setdefault(key, threading.Lock())
        with loading:
            with self._guard:
                if key in self._held:
                    return self._held[key]
            try:
                found = load()
            finally:
                with self._guard:
                    self._loading.pop(key, None)
            with self._guard:
                self._held[key] = found
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return found

    def peek(self, name: str, digest: str) -> LoadedMixture | None:
        """The mixture if it is kept."""
        with self._guard:
            return self._held.get((name, digest))
