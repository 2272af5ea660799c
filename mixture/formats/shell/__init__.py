"""Shell scripts, read without running them."""

from __future__ import annotations

from mixture.formats.shell.interpreter import StartedProgram, programs
from mixture.formats.shell.variables import is_known

__all__ = ["StartedProgram", "is_known", "programs"]
