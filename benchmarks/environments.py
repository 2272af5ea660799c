"""Packages of others in environments of their own: what they pin is not what this library's tests run on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TORCH = "torch>=2.13,<2.14"


@dataclass(frozen=True, slots=True)
class Environments:
    """Environments in a folder: for each, what pip is given, one command after the other."""

    folder: Path
    packages: Mapping[str, tuple[tuple[str, ...], ...]]

    def python_of(self, name: str) -> Path:
        """The Python of one, which is there once it was installed."""
        return self.folder / name / "bin" / "python"

    def install(self) -> None:
        """Make all of them. What cannot be installed is reported and left out."""
        for name, commands in self.packages.items():
            subprocess.run([sys.executable, "-m", "venv", str(self.folder / name)], check=True)
            for packages in commands:
                done = subprocess.run([self.python_of(name), "-m", "pip", "install", "--quiet", *packages], check=False)
                print(f"{name}: {' '.join(packages)}: {'installed' if done.returncode == 0 else 'not available here'}")
