"""Services from a training program: streams with the batches and states of a store's, and runs that report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mixture.client.runs import find_run, register_run, report_progress, watch_run
    from mixture.client.stream import RemoteStream, open_remote_stream

_HOMES = {
    "mixture.client.runs": ("find_run", "register_run", "report_progress", "watch_run"),
    "mixture.client.stream": ("RemoteStream", "open_remote_stream"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["RemoteStream", "find_run", "open_remote_stream", "register_run", "report_progress", "watch_run"]


def __getattr__(name: str) -> object:
    """Names are imported when they are first used: who reports a step needs no arrays."""
    if name not in _HOME:
        raise AttributeError(f"module 'mixture.client' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
