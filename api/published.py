"""Mixtures that the repository keeps: from their bytes to what the service answers from."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from api.bundle_tables import lay_out
from api.library import LoadedMixture
from api.pathless import told_without
from api.repository import Bundle, MixtureRecord, Source
from api.stores import Stores
from mixture.catalog import Catalog, read_catalog
from mixture.errors import Place
from mixture.file_names import LOCK_FILE, SPEC_FILE
from mixture.plan import parse_lock
from mixture.spec import Spec, parse_spec


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
        catalog=_catalog(bundle, spec),
        domain_column=spec.catalog.domain,
        source=record.source,
        published=record.published if record.source is Source.PUBLISHED else None,
        stores=stores,
    )


def _catalog(bundle: Bundle, spec: Spec) -> Catalog:
    """The catalog, from a folder with nothing else: tables are read by what their files are named."""
    name = spec.catalog.path.name
    with TemporaryDirectory(prefix="mixture-") as made, told_without(Path(made)):
        lay_out(Path(made), {one: data for one, data in bundle.tables.items() if one == name})
        return read_catalog(Path(made) / name, domain=spec.catalog.domain)
