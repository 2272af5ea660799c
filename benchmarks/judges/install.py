"""The trainers, in environments of their own: what they pin is not what this library's tests run on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(".cache/judges")
TORCH = "torch>=2.13,<2.14"
ENVIRONMENTS = {
    # Its datasets need nothing of what the rest of the package does.
    "megatron": (("numpy>=2,<3", "packaging", "einops", TORCH), ("--no-deps", "megatron-core==0.16.1")),
    "mosaic": (("mosaicml-streaming==0.13.0", TORCH),),
    "energon": (("megatron-energon==7.4.1", TORCH),),
    "olmo": (("ai2-olmo-core==3.0.0", TORCH),),
    "datatrove": (("datatrove==0.9.0", TORCH),),
}
"""What pip is given for each."""


def python_of(trainer: str) -> Path:
    """Its Python, which is there once it was installed."""
    return FOLDER / trainer / "bin" / "python"


def install() -> None:
    """Make the environments. What can not be had is said and left out."""
    for name, commands in ENVIRONMENTS.items():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / name)], check=True)
        for packages in commands:
            done = subprocess.run([python_of(name), "-m", "pip", "install", "--quiet", *packages], check=False)
            print(f"{name}: {' '.join(packages)}: {'installed' if done.returncode == 0 else 'not to be had here'}")
