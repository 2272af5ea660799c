"""The loaders of others, in environments of their own: what they pin is not what this library's tests run on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path("bench/peers-venv")
TORCH = "torch>=2.13,<2.14"
ENVIRONMENTS = {
    "mosaic": (("mosaicml-streaming==0.13.0", TORCH),),
    "loaders": (("datasets==5.2.0", "grain==0.2.18", "litdata==0.2.76", TORCH),),
    # Its helper is compiled, and needs nothing of what the rest of the package does.
    "megatron": (("numpy>=2,<3",), ("--no-deps", "megatron-core==0.16.1")),
}
"""What pip is given for each: MosaicML Streaming and Hugging Face datasets can not be installed together."""


def python_of(environment: str) -> Path:
    """Its Python, which is there once it was installed."""
    return FOLDER / environment / "bin" / "python"


def install() -> None:
    """Make the environments. What can not be had is said and left out."""
    for name, commands in ENVIRONMENTS.items():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / name)], check=True)
        for packages in commands:
            done = subprocess.run([python_of(name), "-m", "pip", "install", "--quiet", *packages], check=False)
            print(f"{name}: {' '.join(packages)}: {'installed' if done.returncode == 0 else 'not to be had here'}")
