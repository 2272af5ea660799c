"""Quantities as people write them, and back: "18.75T tokens" is exactly 18,750,000,000,000."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """What a quantity counts. The value is the word that a spec uses."""

    TOKENS = "tokens"
    SEQUENCES = "sequences"
    STEPS = "steps"
    BLOCKS = "blocks"
    EPOCHS = "epochs"
    PERCENT = "%"
