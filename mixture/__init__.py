"""Declarative data mixtures for language model training: plan, lock, sample exactly, stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixture._version import __version__

if TYPE_CHECKING:
    from mixture.data.derived import export_store, pack_store, split_store
    from mixture.data.ingest import ingest
    from mixture.data.linking import add_domain, build_catalog, refresh_catalog
    from mixture.data.store import Store, open_store, verify_store
    from mixture.errors import (
        AmendError,
        CatalogError,
        ClusterError,
        FormatError,
        IngestError,
        LockError,
        MixtureError,
        PlanError,
        ScheduleError,
        ServiceError,
        SpecError,
        StoreError,
        StreamError,
        UnitError,
    )
    from mixture.formats import export_mixture, import_mixture
    from mixture.lock import Lock, read_lock, write_lock
    from mixture.planning.amend import amend
    from mixture.planning.catalog import Catalog, read_catalog
    from mixture.planning.compare import diff
    from mixture.planning.explain import explain
    from mixture.planning.ladder import make_ladder
    from mixture.planning.plan import Plan, check_lock, make_lock, make_plan
    from mixture.planning.spec import Spec, read_spec
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

NAMES = {
    "mixture.planning.spec": ("Spec", "read_spec"),
    "mixture.planning.catalog": ("Catalog", "read_catalog"),
    "mixture.planning.plan": ("Plan", "check_lock", "make_lock", "make_plan"),
    "mixture.lock": ("Lock", "read_lock", "write_lock"),
    "mixture.planning.amend": ("amend",),
    "mixture.planning.compare": ("diff",),
    "mixture.planning.explain": ("explain",),
    "mixture.planning.ladder": ("make_ladder",),
    "mixture.schedule": ("Schedule",),
    "mixture.data.ingest": ("ingest",),
    "mixture.data.store": ("Store", "open_store", "verify_store"),
    "mixture.data.linking": ("add_domain", "build_catalog", "refresh_catalog"),
    "mixture.data.derived": ("export_store", "pack_store", "split_store"),
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
    "mixture.formats": ("export_mixture", "import_mixture"),
    "mixture.errors": (
        "MixtureError",
        "UnitError",
        "SpecError",
        "CatalogError",
        "PlanError",
        "AmendError",
        "LockError",
        "ScheduleError",
        "StoreError",
        "IngestError",
        "ClusterError",
        "FormatError",
        "StreamError",
        "ServiceError",
    ),
}
"""What a trainer and whoever plans its data need, by the package that has it: docs/python.md is made from this table.
What few need is imported from its own package."""
_HOME = {name: home for home, names in NAMES.items() for name in names}

__all__ = [
    "__version__", "AmendError", "Batch", "Catalog", "CatalogError", "ClusterError", "FormatError",
    "IngestError", "Lock", "LockError", "MixtureError", "Plan", "PlanError", "Schedule", "ScheduleError",
    "ServiceError", "Spec", "SpecError", "Store", "StoreError", "Stream", "StreamError", "UnitError",
    "add_domain", "amend", "build_catalog", "check_lock", "choose_sample", "diff", "explain", "export_mixture",
    "export_store", "import_mixture", "ingest", "make_ladder", "make_lock", "make_plan", "open_store",
    "open_stream", "pack_store", "read_catalog", "read_lock", "read_so_far", "read_spec", "refresh_catalog",
    "split_store", "trace_documents", "trace_step", "trace_token", "verify_store", "write_lock", "write_sample",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    """Names are imported from their packages when they are first used, so that `import mixture` takes no time."""
    if name not in _HOME:
        raise AttributeError(f"module 'mixture' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
