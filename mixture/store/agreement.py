"""Whether a store holds the domains that a lock names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from mixture.errors import Place, StoreError, nearest
from mixture.store.manifest import read_manifest
from mixture.store.store import Store, Verify
from mixture.store.verify import Progress, damage


class LockedDomain(Protocol):
    """What a lock says of a domain: `mixture.schedule.Domain` is one."""

    @property
    def name(self) -> str: ...
    @property
    def tokens(self) -> int: ...


def disagreements(
    store: Store, domains: Iterable[LockedDomain], contents: Mapping[str, str] = MappingProxyType({})
) -> list[StoreError]:
    """Where the store is not the lock's: domains it lacks, other numbers of tokens, other content digests.

    contents: digest by name, for the domains whose lock keeps one. Domains that the lock does not name are no matter.
    Codes: `domain-unknown`, `tokens-differ`, `content-differs`.
    """
    found: list[StoreError] = []
    place = Place(file=str(store.path))
    for domain in domains:
        held = store.domains.get(domain.name)
        if held is None:
            message, code = f"the lock names the domain '{domain.name}', and the store has none", "domain-unknown"
            hint = nearest(domain.name, store.domains)
            found.append(StoreError(message, code=code, place=place, hint=hint, domain=domain.name))
            continue
        if held.tokens != domain.tokens:
            found.append(
                StoreError(
                    f"domain '{domain.name}' has {held.tokens:,} tokens, and the lock says {domain.tokens:,}",
                    code="tokens-differ",
                    place=place,
                    domain=domain.name,
                    found=held.tokens,
                    expected=domain.tokens,
                )
            )
        expected = contents.get(domain.name, held.content)
        if held.content != expected:
            found.append(
                StoreError(
                    f"domain '{domain.name}' has the content {held.content}, and the lock says {expected}",
                    code="content-differs",
                    place=place,
                    domain=domain.name,
                    found=held.content,
                    expected=expected,
                )
            )
    return found


def verify_store(
    path: str | os.PathLike[str],
    *,
    domains: Iterable[LockedDomain] = (),
    contents: Mapping[str, str] = MappingProxyType({}),
    progress: Progress | None = None,
) -> list[StoreError]:
    """Read every byte of a store; give all that is wrong with it, nothing where all is well.

    Compared are: the digest of every file and the content digest of every domain; that ids are below the size of the
    vocabulary; that documents tile their domain, each with end-of-document as its last token; that the tables say the
    same; and that it is the store of a lock with these domains and contents.
    progress(bytes read, bytes in all) may be called from any thread.

    Errors: StoreError where there is no store to read, or a file is missing, cut short or changed at its ends.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    found = list(damage(folder, manifest, progress))
    return found + disagreements(Store(folder, manifest, Verify.FULL), domains, contents)
