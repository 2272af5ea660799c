"""The mixture formats of trainers, one file each; a new one is added to `BUILT_IN`."""

from mixture.formats.trainers import (
    energon,
    hf,
    levanter,
    marin_json,
    maxtext,
    megatron,
    mosaic,
    nanotron,
    olmix,
    olmo,
    plan_csv,
)

BUILT_IN = tuple(
    module.FORMAT
    for module in (levanter, marin_json, megatron, olmo, olmix, nanotron, mosaic, energon, hf, maxtext, plan_csv)
)

__all__ = ["BUILT_IN"]
