"""What routes ask: mixtures by reference, the repository, conditions on catalogs, places for streams, the end.

`services_of(request)` gives it. Nothing here is state that a second copy of the service would not see, but for caches
and limits, which hold for one copy.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import anyio.to_thread
from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError

from mixture.api.database import Bundle, MixtureRecord, Repository, read_digest, write_digest
from mixture.api.middleware import (
    MOST_KEPT,
    Kept,
    Lifetime,
    Metrics,
    Problem,
    RateLimit,
    StreamPlaces,
    TokenWatch,
    Whole,
    Work,
    problem_of,
    threads_of,
    what_if_places,
    write_places,
)
from mixture.api.refs import OtherRefText, Ref, RefText, parse_ref
from mixture.api.registry import FEW_FOLDERS, BuiltinMixtures, Conditions, LoadedMixture, LogWatch, Stores, load_kept
from mixture.api.settings import Settings
from mixture.api.texts import KeptFacts, TypicalTexts
from mixture.api.what_if import WhatIfAnswer
from mixture.data.store import Store
from mixture.errors import MixtureError, nearest
from mixture.lock import Lock
from mixture.planning.catalog import Catalog
from mixture.planning.explain import Explanation
from mixture.planning.plan import Groups, group
from mixture.planning.whatif import Changes

KEPT_LINEAGES = 128
KEPT_GROUP_BYTES = 2**27
KEPT_DIGESTS = 100_000
KEPT_WHAT_IFS = 64
MOST_CANDIDATES = 20
"""Digests of a name that an ambiguous one is told."""
START_SECONDS = 3.0
"""Many mixtures are read for so long before the first answer, and then beside them: 1,000 take minutes."""
KEEP_AGAIN_SECONDS = 30.0
"""Where built-in mixtures could not be written to the repository, reading them tries again after that."""

logger = logging.getLogger("mixture.service")


class Services:
    """The parts of one copy of the service. Safe from any number of threads.

    stopping: set when the process was told to end, before connections are waited for: streams end themselves then
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.streams = StreamPlaces(settings, self.metrics)
        self.rate = RateLimit(settings.rate_per_second, settings.rate_burst)
        self.write_places = write_places()
        self.what_if_places = what_if_places()
        self.what_ifs: Kept[tuple[str, str, str, Changes], WhatIfAnswer] = Kept(KEPT_WHAT_IFS)
        self.lineages: Kept[tuple[str, tuple[str, ...]], Explanation] = Kept(KEPT_LINEAGES)
        self.document_facts = KeptFacts()
        self.typical_texts = TypicalTexts()
        self.stopping = asyncio.Event()
        self.log_watch = LogWatch(self._last_seqs, self.stopping)
        self.ranged: Kept[str, Whole] = Kept(MOST_KEPT, weigh=len)
        self.token_watch = TokenWatch(self._revoked_tokens)
        self.stores = Stores(settings.store_dirs, mixtures=settings.mixtures_dirs)
        self.builtin = BuiltinMixtures(settings.mixtures_dirs, settings.store_dirs, self.stores)
        self._kept: Kept[tuple[str, str], LoadedMixture] = Kept(
            settings.loaded_mixtures, weigh=lambda one: min(_places_of(one), settings.loaded_mixtures)
        )
        self._safe: set[tuple[str, str]] = set()
        self._all_safe: Mapping[str, LoadedMixture] | None = None
        self._keeping = threading.Lock()
        self._clock = time.monotonic
        self._next_try = self._clock()
        self._catalog_of = lru_cache(KEPT_DIGESTS)(self._read_catalog_digest)
        self._groups: Kept[_GroupsKey, Groups] = Kept(KEPT_GROUP_BYTES, weigh=_group_bytes)
        self._conditions = Conditions(settings.max_conditions, settings.condition_seconds)
        self._repository: Repository | None = None
        self._opening = threading.Lock()
        self._starting: threading.Thread | None = None
        self._closing = threading.Event()

    @property
    def repository(self) -> Repository:
        """What changes; opened at the first use. Raises RepositoryError, a problem 503, where it can not be reached."""
        with self._opening:
            if self._repository is None:
                self._repository = Repository.open(self.settings.data_dir, self.settings.database_url)
            return self._repository

    def start(self) -> None:
        """Read the built-in mixtures and open the repository, in a thread where that takes longer.

        What fails is said by /readyz, and tried again when asked.
        """
        self._closing.clear()
        self._starting = threading.Thread(target=self._read_all, name="reads mixtures")
        self._starting.start()
        self._starting.join(START_SECONDS if self.builtin.count() > FEW_FOLDERS else None)

    def _read_all(self) -> None:
        try:
            if self.builtin.read():
                self.builtin_mixtures()
                _ = self.repository
        except (MixtureError, OSError) as error:
            logger.error("not ready: %s", error)

    def check_started(self) -> None:
        """Raise Problem 503 `starting` while mixtures are being read: what is asked for may be among the others."""
        unread, folders = self.builtin.unread()
        if unread:
            detail = f"{folders - unread:,} of {folders:,} folders of mixtures are read"
            raise Problem(503, detail, code="starting", hint="ask again later", headers={"Retry-After": "5"})

    def _revoked_tokens(self, token_ids: Collection[str]) -> Collection[str]:
        return self.repository.revoked_tokens(token_ids)

    def _last_seqs(self, run_ids: Collection[str]) -> Mapping[str, int]:
        return self.repository.last_seqs(run_ids)

    def close(self) -> None:
        """Close what is open, and let go of this process's gauges."""
        self._closing.set()
        self.builtin.end()
        if self._starting is not None:
            self._starting.join()
        self.metrics.close()
        with self._opening:
            if self._repository is not None:
                self._repository.close()
                self._repository = None

    def mixture(self, ref: str | Ref) -> LoadedMixture:
        """The mixture that a reference names, which is loaded if it is not in memory. Raises as `_look_up` does."""
        found = self._look_up(ref)
        return found if isinstance(found, LoadedMixture) else self._kept.get(*found)

    def at_hand(self, ref: str | Ref) -> LoadedMixture | None:
        """The same where it is in memory; None where it has to be loaded first."""
        found = self._look_up(ref)
        return found if isinstance(found, LoadedMixture) else self._kept.peek(found[0])

    def _look_up(self, ref: str | Ref) -> LoadedMixture | tuple[tuple[str, str], Callable[[], LoadedMixture]]:
        """The mixture that a reference names; a built-in one comes first, and nobody may publish under its name.

        A digest goes with every name that has ever led to it, whatever the name leads to now.
        Raises Problem: 404 `unknown-mixture`, `digest-ambiguous`, 503 where what is kept can not be read.
        """
        asked = parse_ref(ref) if isinstance(ref, str) else ref
        if asked is None:
            hint = "NAME, or NAME@sha256:DIGEST with all 64 digits, or the first 8 or more, is right"
            raise Problem(404, f"there is no mixture {ref!r}", code="unknown-mixture", hint=hint)
        if asked.is_short:
            asked = self._whole(asked)
        current = self.builtin_mixtures().get(asked.name)
        if current is not None and asked.digest in (None, current.digest):
            return current
        if asked.digest is None:
            self.check_started()  # a folder that is not read yet may be of this name
        try:
            record = self.repository.get(str(asked))
        except MixtureError as error:
            if error.code != "unknown-mixture":
                raise
            raise self._unknown(asked) from error
        stores = self.stores if current is None else current.stores
        return (asked.name, record.digest), lambda: self._load(record, stores)

    def _whole(self, short: Ref) -> Ref:
        """The reference with all digits of the one digest that begins with these. Raises as `mixture` does."""
        start, current = short.digest or "", self.builtin_mixtures().get(short.name)
        found = {*self.repository.digests(short.name, start, limit=MOST_CANDIDATES)}
        if current is not None and current.digest.startswith(start):
            found.add(current.digest)
        if not found:
            raise self._unknown(short)
        if len(found) > 1:
            shown = [write_digest(digest) for digest in sorted(found)[:MOST_CANDIDATES]]
            detail = f"several digests of {short.name!r} begin with {start}"
            facts = {"candidates": shown}
            raise Problem(404, detail, code="digest-ambiguous", hint=f"one of: {', '.join(shown)}", facts=facts)
        return Ref(short.name, found.pop())

    def mixture_to_run(self, text: str) -> LoadedMixture:
        """The mixture that somebody trains on, by reference or by the digest of its lock alone, which is kept from now.

        Raises as `mixture` and `keep` do, and RepositoryError `unknown-mixture`.
        """
        found = self._by_digest(text) or self.mixture(text)
        self.keep(found)
        return found

    def held(self, digest: str) -> LoadedMixture | None:
        """The mixture with this lock digest (hex), under any name; None where there is none."""
        try:
            return self._by_digest(write_digest(digest))
        except MixtureError as error:
            if error.code != "unknown-mixture":
                raise
            return None

    def _by_digest(self, text: str) -> LoadedMixture | None:
        digest = read_digest(text)
        if digest is None:
            return None
        found = next(
            (
                builtin_mixture
                for builtin_mixture in self.builtin_mixtures().values()
                if builtin_mixture.digest == digest
            ),
            None,
        )
        return found or self.mixture(Ref(str(self.repository.get(text).name), digest))

    def _load(self, record: MixtureRecord, stores: Stores) -> LoadedMixture:
        bundle = self.repository.bundle(record.digest)
        try:
            return load_kept(bundle, record, stores)
        except MixtureError as error:
            # It was right when it was kept, by a version that may know more than this one.
            raise problem_of(error, status=503) from error

    def _unknown(self, ref: Ref) -> Problem:
        self.check_started()
        names = list(self.builtin.all())
        facts: dict[str, object] = {"ref": str(ref)}
        for left in self.builtin.left_out():
            if left.digest is None and ref.name in (left.name, left.folder):
                detail = f"the mixture '{ref}' is left out: {left.detail}"
                facts["left_out"] = left.code
                return Problem(404, detail, code="unknown-mixture", hint="/readyz says what is left out", facts=facts)
        if ref.name in names:
            hint: str | None = "the name is there, and never led to this digest"
        else:
            near = [head.name for head in self.heads(after=ref.name, limit=MOST_CANDIDATES)]
            longer = [repr(name) for name in near if name is not None and name.startswith(ref.name)]
            hint = f"did you mean {' or '.join(longer)}?" if longer else nearest(ref.name, names)
        return Problem(404, f"there is no mixture '{ref}'", code="unknown-mixture", hint=hint, facts=facts)

    def keep(self, one: LoadedMixture) -> None:
        """Keep a built-in mixture in the repository, so that its digest leads to it when its folder has changed.

        Raises RepositoryError where the repository can not be written to.
        """
        key = (one.name, one.digest)
        bundle = None if key in self._safe else self.builtin.bundle(*key)
        if bundle is None:
            return
        hidden = self.repository.keep(one.name, bundle)
        if hidden is not None:
            logger.warning("the mixture %r of a folder hides the one that was published as sha256:%s", one.name, hidden)
        self._safe.add(key)

    def bundle(self, one: LoadedMixture) -> Bundle:
        """The spec, tables, lock and plan of a mixture, as bytes. Errors: those of `Repository.bundle`."""
        return self.builtin.bundle(one.name, one.digest) or self.repository.bundle(one.digest)

    def is_kept(self, one: LoadedMixture) -> bool:
        """Whether a mixture can be had by its digest from now on, whatever becomes of its folder."""
        key = (one.name, one.digest)
        return key in self._safe or self.builtin.bundle(*key) is None

    def builtin_mixtures(self) -> Mapping[str, LoadedMixture]:
        """The built-in mixtures by name, kept in the repository before anybody is told their digests.

        Where that is not possible, it is said in the log and tried again later: they can be read without.
        """
        found = self.builtin.all()
        if self.builtin.unread()[0]:
            return found
        if found is self._all_safe or self._clock() < self._next_try or not self._keeping.acquire(blocking=False):
            return found
        try:
            for one in found.values():
                if self._closing.is_set():
                    return found
                self.keep(one)
            self._all_safe = found
        except (MixtureError, OSError, SQLAlchemyError) as error:
            self._next_try = self._clock() + KEEP_AGAIN_SECONDS
            logger.warning("built-in mixtures can not be kept, and are gone when their folders change: %s", error)
        finally:
            self._keeping.release()
        return found

    def heads(self, *, after: str | None, limit: int) -> list[LoadedMixture | MixtureRecord]:
        """Built-in and published mixtures in order of name (code points), from behind `after`, up to `limit`."""
        builtin = [
            builtin_mixture
            for name, builtin_mixture in self.builtin_mixtures().items()
            if after is None or name > after
        ]
        names = {one.name for one in builtin}
        published = [one for one in self.repository.names(after=after, limit=limit) if one.name not in names]
        both: list[LoadedMixture | MixtureRecord] = [*builtin, *published]
        return sorted(both, key=lambda one: one.name or "")[:limit]

    def has_text(self, lock: Lock) -> bool:
        """Whether a store here can be read that holds the domains of a lock: without one there are no batches."""
        try:
            return self.stores.of(lock) is not None
        except MixtureError:
            return False

    def catalog_digest(self, one: LoadedMixture | MixtureRecord) -> str | None:
        """The digest of a mixture's catalog, which its lock names: read once. None where its lock can not be read."""
        if isinstance(one, LoadedMixture):
            return one.lock.catalog_digest
        try:
            return self._catalog_of(one.digest)
        except (MixtureError, OSError, ValueError, KeyError) as error:
            # One damaged mixture must not keep the list from showing the others.
            logger.warning("the lock of %s can not be read: %s", one.digest, error)
            return None

    def _read_catalog_digest(self, digest: str) -> str:
        found: str = json.loads(self.repository.lock(digest))["catalog"]
        return found

    def select(self, catalog: Catalog, where: str) -> Sequence[int]:
        """`catalog.select(where)`, worked out by a few threads at a time, and kept.

        Raises CatalogError, and Problem 503 `busy` where too many conditions are being worked out.
        """
        return self._conditions.select(catalog, where)

    def groups(self, mixture: LoadedMixture, columns: Sequence[str], where: str | None) -> Groups:
        """`group(…)` of the domains that a condition selects, by columns of the catalog: made once, and kept.

        Raises as `select` does.
        """

        def make() -> Groups:
            rows = None if where is None else self.select(mixture.catalog, where)
            return group(mixture.lock, mixture.catalog, columns, rows)

        return self._groups.get((mixture.digest, tuple(columns), where), make)

    def has_groups(self, mixture: LoadedMixture, columns: Sequence[str], where: str | None) -> bool:
        """Whether `groups` need not make them."""
        return self._groups.peek((mixture.digest, tuple(columns), where)) is not None


_GroupsKey = tuple[str, tuple[str, ...], str | None]


def _group_bytes(groups: Groups) -> int:
    """About how much memory groups take: of each its key and numbers, of each domain a number."""
    return 1000 + len(groups.keys) * (250 + 80 * len(groups.columns)) + 8 * sum(groups.domains)


def _places_of(mixture: LoadedMixture) -> int:
    """How many mixtures one counts for in memory: a kilobyte a domain and phase, of 64 MiB a place."""
    return 1 + (len(mixture.lock.phases) + 2) * len(mixture.catalog.domains) // 2**16


async def services_of(request: Request) -> Services:
    """The services of the application that answers a request. Waits for nothing; not async, it would take a thread."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services


AppServices = Annotated[Services, Depends(services_of)]
"""`services: AppServices` as a parameter of a route."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The mixture that `{ref}` in an address names, and how long what follows from it holds there."""

    mixture: LoadedMixture
    ref: Ref
    lifetime: Lifetime

    def store(self) -> Store:
        """The store that holds the mixture's tokens.

        Raises Problem 404 `store-missing` where there is none, StoreError `store-gone`, `store-replaced` where it was.
        """
        store = self.mixture.store
        if store is None:
            detail = f"this service has no store that holds the domains of '{self.ref}'"
            hint = "its lock and schedule can be read; batches need its store: MIXTURE_STORE_DIRS names more folders"
            raise Problem(404, detail, code="store-missing", hint=hint)
        return store


async def asked_mixture(ref: RefText, services: AppServices) -> Asked:
    """The mixture of the path. Raises Problem 404 `unknown-mixture`.

    One that has to be loaded waits without a thread for one of a few, so that others are answered meanwhile.
    """
    asked = await anyio.to_thread.run_sync(_asked, services, services.at_hand, ref)
    if asked is None:
        asked = await anyio.to_thread.run_sync(_asked, services, services.mixture, ref, limiter=threads_of(Work.FIRST))
    assert asked is not None, "it was loaded"
    return asked


def _asked(services: Services, find: Callable[[str], LoadedMixture | None], ref: str) -> Asked | None:
    mixture = find(ref)
    if mixture is None:
        return None
    parsed = parse_ref(ref)
    assert parsed is not None
    is_for_good = parsed.digest == mixture.digest and services.is_kept(mixture)
    if parsed.is_short:  # which may be ambiguous one day
        parsed = Ref(parsed.name, mixture.digest)
    return Asked(mixture, parsed, Lifetime.FOR_GOOD if is_for_good else Lifetime.SHORT)


async def other_mixture(other: OtherRefText, services: AppServices) -> Asked:
    """The second mixture of the path. Raises Problem 404 `unknown-mixture`."""
    return await asked_mixture(other, services)


AskedMixture = Annotated[Asked, Depends(asked_mixture)]
"""`asked: AskedMixture` as a parameter of a route below `/…/{ref}`."""
AskedOther = Annotated[Asked, Depends(other_mixture)]
"""`other: AskedOther` as a parameter of a route below `/…/{ref}/…/{other}`."""
