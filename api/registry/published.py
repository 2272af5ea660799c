"""Mixtures that the repository keeps: from their bytes to what the service answers from."""

from __future__ import annotations

import json
from pathlib import Path

from mixture.api.database import Bundle, MixtureRecord, Source
from mixture.api.registry.library import LoadedMixture
from mixture.api.registry.stores import Stores
from mixture.errors import Place
from mixture.file_names import LOCK_FILE, SPEC_FILE
from mixture.lock import parse_lock
from mixture.planning.catalog import GivenTables, read_catalog
from mixture.planning.spec import parse_spec


def load_kept(bundle: Bundle, record: MixtureRecord, stores: Stores) -> LoadedMixture:
    """The mixture in a bundle. Raises MixtureError where its bytes are no longer what was kept."""
    spec = parse_spec(bundle.spec, path=Path(SPEC_FILE))
    return LoadedMixture(
        name=record.name or record.mixture,
        digest=record.digest,
        lock=parse_lock(bundle.lock, place=Place(file=LOCK_FILE)),
        lock_text=bundle.lock.decode(),
        plan_json=json.loads(bundle.plan),
        spec_text=bundle.spec.decode(),
        catalog=read_catalog(spec.catalog.path, domain=spec.catalog.domain, tables=GivenTables(bundle.tables)),
        domain_column=spec.catalog.domain,
        source=record.source,
        published=record.published if record.source is Source.PUBLISHED else None,
        stores=stores,
    )
