"""Shell scripts, read without running them."""

from __future__ import annotations

from mixture.formats.shell.interpreter import programs

__all__ = ["programs"]
