"""The trainers that judge exports."""

from __future__ import annotations

from pathlib import Path

from benchmarks.environments import TORCH, Environments

_MARIN = ("levanter", "haliax", "rigging", "fray", "zephyr", "iris", "finestore")

TRAINERS = Environments(
    Path(".cache/judges"),
    {
        # Its datasets need nothing of what the rest of the package does.
        "megatron": (("numpy>=2,<3", "packaging", "einops", TORCH), ("--no-deps", "megatron-core==0.16.1")),
        "mosaic": (("mosaicml-streaming==0.13.0", TORCH),),
        "energon": (("megatron-energon==7.4.1", TORCH),),
        "olmo": (("ai2-olmo-core==3.0.0", TORCH),),
        # Its config class needs a later Python; its datasets do not.
        "levanter": (
            (
                "jax>=0.9.2,<0.12",
                "equinox",
                "jaxtyping",
                "draccus",
                "aqtp",
                "chex",
                "optax<0.2.7",
                "einops",
                "jmp",
                "tensorstore",
                "transformers",
                "datasets",
                "pyarrow",
                "braceexpand",
                "fsspec[http]",
                "deepdiff",
                "wandb",
                "tblib",
                "humanfriendly",
                "pytimeparse",
                "dataclasses-json",
                "async-lru",
                "tqdm-loggable",
                "lenses",
            ),
            ("--no-deps", "marin-finelog"),
            ("--no-deps", "--ignore-requires-python", *(f"marin-{name}==0.2.227.dev40316220070" for name in _MARIN)),
        ),
        "hf": (("datasets==5.0.1",),),
        "datatrove": (("datatrove==0.9.0", TORCH),),
    },
)
