"""Published mixtures: from the bytes that the repository keeps to what the service answers from."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from api.builtin import LOCK_FILE, SPEC_FILE
from api.bundles import lay_out
from api.library import LoadedMixture, Source
from api.repository import Bundle, MixtureRecord
from api.stores import Stores
from mixture.catalog import read_catalog
from mixture.plan import read_lock
from mixture.spec import load_spec


def load_published(bundle: Bundle, record: MixtureRecord, stores: Stores) -> LoadedMixture:
    """The mixture in a bundle. Raises MixtureError where its bytes are no longer what was published."""
    with TemporaryDirectory(prefix="mixture-") as made:
        folder = Path(made)
        lay_out(folder, bundle.tables)
        (folder / SPEC_FILE).write_bytes(bundle.spec)
        (folder / LOCK_FILE).write_bytes(bundle.lock)
        spec = load_spec(folder / SPEC_FILE)
        catalog = read_catalog(folder / spec.catalog.path.name, domain=spec.catalog.domain)
        lock = read_lock(folder / LOCK_FILE)
    return LoadedMixture(
        name=record.name or record.mixture,
        digest=record.digest,
        lock=lock,
        lock_text=bundle.lock.decode(),
        plan_json=json.loads(bundle.plan),
        spec_text=bundle.spec.decode(),
        catalog=catalog,
        domain_column=spec.catalog.domain,
        source=Source.PUBLISHED,
        published=record.published,
        stores=stores,
    )
