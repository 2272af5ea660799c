"""The loaders of others. MosaicML Streaming and Hugging Face datasets cannot be installed together."""

from __future__ import annotations

from pathlib import Path

from benchmarks.environments import TORCH, Environments

PEERS = Environments(
    Path("bench/peers-venv"),
    {
        "mosaic": (("mosaicml-streaming==0.13.0", TORCH),),
        "loaders": (("datasets==5.2.0", "grain==0.2.18", "litdata==0.2.76", TORCH),),
        # Its helper is compiled, and needs nothing of what the rest of the package does.
        "megatron": (("numpy>=2,<3",), ("--no-deps", "megatron-core==0.16.1")),
    },
)
