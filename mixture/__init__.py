"""Declarative data mixtures for language model training: plan, lock, sample exactly, stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixture._version import __version__
from mixture.errors import MixtureError

if TYPE_CHECKING:
    from mixture.data.derived import ExportFormat, export_store, pack_store, split_store
    from mixture.data.ingest import ingest
    from mixture.data.layout import LongDocuments
    from mixture.data.linking import add_domain, build_catalog, refresh_catalog
    from mixture.data.storage import ObjectOptions
    from mixture.data.store import Store, open_store, verify_store
    from mixture.formats import Exported, Given, Imported, export, format_of, import_mixture, read_file
    from mixture.lock import Amendment, Lock, read_lock, write_lock
    from mixture.planning.amend import amend
    from mixture.planning.compare import Diff, diff
    from mixture.planning.explain import explain
    from mixture.planning.ladder import make_ladder
    from mixture.planning.plan import Plan, check_lock, make_lock, make_plan
    from mixture.planning.spec import Spec, load_spec
    from mixture.schedule import Schedule
    from mixture.stream import (
        Batch,
        Stream,
        choose_sample,
        open_stream,
        read_so_far,
        trace_documents,
        trace_step,
        trace_token,
        write_sample,
    )

_HOMES = {
    "mixture.data.derived": ("ExportFormat", "export_store", "pack_store", "split_store"),
    "mixture.data.ingest": ("ingest",),
    "mixture.data.layout": ("LongDocuments",),
    "mixture.data.linking": ("add_domain", "build_catalog", "refresh_catalog"),
    "mixture.data.storage": ("ObjectOptions",),
    "mixture.data.store": ("Store", "open_store", "verify_store"),
    "mixture.formats": ("Exported", "Given", "Imported", "export", "format_of", "import_mixture", "read_file"),
    "mixture.lock": ("Amendment", "Lock", "read_lock", "write_lock"),
    "mixture.planning.amend": ("amend",),
    "mixture.planning.compare": ("Diff", "diff"),
    "mixture.planning.explain": ("explain",),
    "mixture.planning.ladder": ("make_ladder",),
    "mixture.planning.plan": ("Plan", "check_lock", "make_lock", "make_plan"),
    "mixture.planning.spec": ("Spec", "load_spec"),
    "mixture.schedule": ("Schedule",),
    "mixture.stream": (
        "Batch",
        "Stream",
        "choose_sample",
        "open_stream",
        "read_so_far",
        "trace_documents",
        "trace_step",
        "trace_token",
        "write_sample",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Amendment", "Batch", "Diff", "ExportFormat", "Exported", "Given", "Imported", "Lock", "LongDocuments",
    "MixtureError", "ObjectOptions", "Plan", "Schedule", "Spec", "Store", "Stream", "__version__", "add_domain",
    "amend", "build_catalog", "check_lock", "choose_sample", "diff", "explain", "export", "export_store",
    "format_of", "import_mixture", "ingest", "load_spec", "make_ladder", "make_lock", "make_plan", "open_store",
    "open_stream", "pack_store", "read_file", "read_lock", "read_so_far", "refresh_catalog", "split_store",
    "trace_documents", "trace_step", "trace_token", "verify_store", "write_lock", "write_sample",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    """Names are imported from their packages when they are first used, so that `import mixture` takes no time."""
    if name not in _HOME:
        raise AttributeError(f"module 'mixture' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
