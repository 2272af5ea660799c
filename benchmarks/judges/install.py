"""The trainers that judge exports."""

from __future__ import annotations

from pathlib import Path

from benchmarks.environments import TORCH, Environments

TRAINERS = Environments(
    Path(".cache/judges"),
    {
        # Its datasets need nothing of what the rest of the package does.
        "megatron": (("numpy>=2,<3", "packaging", "einops", TORCH), ("--no-deps", "megatron-core==0.16.1")),
        "mosaic": (("mosaicml-streaming==0.13.0", TORCH),),
        "energon": (("megatron-energon==7.4.1", TORCH),),
        "olmo": (("ai2-olmo-core==3.0.0", TORCH),),
        "datatrove": (("datatrove==0.9.0", TORCH),),
    },
)
