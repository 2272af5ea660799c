"""A mixture in memory: what its lock, its spec and its catalog say."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from mixture.api.database import Source
from mixture.api.registry.stores import Stores
from mixture.data.store import Store
from mixture.json_text import digest as digest_of
from mixture.lock import Lock
from mixture.planning.catalog import Catalog
from mixture.planning.plan import PlanReport


@dataclass(frozen=True)
class LoadedMixture:
    """A mixture as the service answers from it.

    Everything here follows from `digest`, but for `store`, and for what is in the spec's comments and where in its file
    things stand: specs that say the same in other words give the same lock. That follows from `text_digest`.

    name:      the name that it was asked by
    digest:    of its lock, lower-case hex
    lock:      the lock; `lock.schedule()` is its schedule
    lock_text: the lock's file as it is
    plan_json: what `mixture plan --json` prints
    spec_text: the spec's file as it is
    catalog:   the table of its domains, `domain_column` the column that names them
    published: when, or None for a mixture from a folder
    folder:    that, or None for one that was published
    renamed_from: the name that its folder gives it, where another folder's mixture has that
    """

    name: str
    digest: str
    lock: Lock
    lock_text: str
    plan_json: PlanReport
    spec_text: str
    catalog: Catalog
    domain_column: str
    source: Source
    published: datetime | None
    stores: Stores = field(repr=False)
    folder: Path | None = None
    renamed_from: str | None = None

    @property
    def store(self) -> Store | None:
        """The first store that holds the lock's domains, or None while there is none. Errors: those of `Stores.of`."""
        return self.stores.of(self.lock)

    @cached_property
    def text_digest(self) -> str:
        """The SHA-256 of the spec's file, lower-case hex."""
        return hashlib.sha256(self.spec_text.encode()).hexdigest()

    @cached_property
    def domains_digest(self) -> str:
        """The SHA-256, lower-case hex, of the names and sizes of the catalog's domains: of what plans are over."""
        return digest_of([[domain.name, domain.tokens] for domain in self.catalog.domains])

    @cached_property
    def description(self) -> str:
        """The comment that the spec begins with, without its marks."""
        lines = []
        for line in self.spec_text.splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.lstrip("#").strip())
        return " ".join(lines).strip()
