"""The codes of what a plan can find, as a spec's `accept` may name them. Plans make the findings."""

from __future__ import annotations

from enum import StrEnum


class FindingCode(StrEnum):
    """The stable code of a finding."""

    BUDGET_MISMATCH = "budget-mismatch"
    OVER_EPOCHS = "over-epochs"
    NEVER_READ = "never-read"
    DOMAIN_EMPTY = "domain-empty"
    DOMAIN_TOO_SMALL = "domain-too-small"
    PHASE_VANISHED = "phase-vanished"
    TOKENIZER_DIFFERS = "tokenizer-differs"
    CATALOG_CHANGED = "catalog-changed"
    BATCH_NOT_DIVISIBLE = "batch-not-divisible"
    PACKED_LENGTH_DIFFERS = "packed-length-differs"
    PHASE_SHORT = "phase-short"
    DRAWS_NOTHING = "draws-nothing"
    SHARE_DIFFERS = "share-differs"
    DOMAIN_UNUSED = "domain-unused"
    DOMAIN_MISSING_IN_PHASE = "domain-missing-in-phase"
    NAMES_ALIKE = "names-alike"
    BATCH_FILLS_WINDOW = "batch-fills-window"
    BOUNDARY_ROUNDED = "boundary-rounded"
    EPOCHS_ROUNDED = "epochs-rounded"
    WEIGHTS_SCALED = "weights-scaled"
    TEMPERATURE_SHARPENS = "temperature-sharpens"
    UNIMAX_DIVIDED = "unimax-divided"
    CURVE_FITTED = "curve-fitted"
    STEP_TOKENS_CHANGED = "step-tokens-changed"
    WEIGHTS_MOVED = "weights-moved"
    WEIGHTS_KEPT = "weights-kept"
    TOKENS_SKIPPED = "tokens-skipped"
    ZERO_WEIGHT = "zero-weight"
    LONGEST_CONTEXT = "longest-context"
