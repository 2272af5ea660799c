"""Declarative data mixtures for language model training: plan, lock, sample exactly, stream."""

from mixture._version import __version__

__all__ = ["__version__"]
