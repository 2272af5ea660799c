"""Declarative data mixtures for language model training: plan, lock, sample exactly, stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixture._version import __version__
from mixture.errors import MixtureError

if TYPE_CHECKING:
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
    from mixture.store import Store, ingest, open_store, verify_store
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
    "mixture.store": ("Store", "ingest", "open_store", "verify_store"),
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
    "Amendment", "Batch", "Diff", "Lock", "MixtureError", "Plan", "Schedule", "Spec", "Store", "Stream", "__version__",
    "amend", "check_lock", "choose_sample", "diff", "explain", "ingest", "load_spec", "make_ladder", "make_lock",
    "make_plan", "open_store", "open_stream", "read_lock", "read_so_far", "trace_documents", "trace_step",
    "trace_token", "verify_store", "write_lock", "write_sample",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    """Names are imported from their packages when they are first used, so that `import mixture` takes no time."""
    if name not in _HOME:
        raise AttributeError(f"module 'mixture' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
