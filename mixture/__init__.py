"""Declarative data mixtures for language model training: plan, lock, sample exactly, stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixture._version import __version__
from mixture.errors import MixtureError

if TYPE_CHECKING:
    from mixture.formats import Exported, Given, Imported, export, format_of, import_mixture, read_file
    from mixture.plan import (
        Amendment,
        Diff,
        Lock,
        Plan,
        amend,
        check_lock,
        diff,
        explain,
        make_ladder,
        make_lock,
        make_plan,
        read_lock,
        write_lock,
    )  # fmt: skip
    from mixture.schedule import Schedule
    from mixture.spec import Spec, load_spec
    from mixture.store import (
        ExportFormat,
        LongDocuments,
        ObjectOptions,
        Store,
        add_domain,
        build_catalog,
        export_store,
        ingest,
        open_store,
        pack_store,
        refresh_catalog,
        split_store,
        verify_store,
    )  # fmt: skip
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
    )  # fmt: skip

_HOMES = {
    "mixture.formats": ("Exported", "Given", "Imported", "export", "format_of", "import_mixture", "read_file"),
    "mixture.plan": (
        "Amendment",
        "Diff",
        "Lock",
        "Plan",
        "amend",
        "check_lock",
        "diff",
        "explain",
        "make_ladder",
        "make_lock",
        "make_plan",
        "read_lock",
        "write_lock",
    ),
    "mixture.schedule": ("Schedule",),
    "mixture.spec": ("Spec", "load_spec"),
    "mixture.store": (
        "ExportFormat",
        "LongDocuments",
        "ObjectOptions",
        "Store",
        "add_domain",
        "build_catalog",
        "export_store",
        "ingest",
        "open_store",
        "pack_store",
        "refresh_catalog",
        "split_store",
        "verify_store",
    ),
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
