"""Locks as they are answered: the JSON of a lock file."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.config import JsonDict

from mixture.api.refs import DIGEST
from mixture.lock import FORMAT

_LOCK: JsonDict = {
    "format": FORMAT,
    "features": [],
    "mixture": "small",
    "tokenizer": None,
    "seed": 0,
    "block_tokens": 65536,
    "window_blocks": 64,
    "phases": [{"name": "only", "first_step": 0, "steps": 100}],
    "batches": [{"first_step": 0, "sequences": 8}],
    "segments": [{"first_step": 0, "steps": 100, "sequence_length": 64, "weights": [500000000000000] * 2}],
    "domains": [{"name": "a", "tokens": 200000}, {"name": "b", "tokens": 90000}],
    "accepted": [],
    "spec": "5cc6e87f32d56f1a" * 4,
    "catalog": "ca06a7e0f3e7a79f" * 4,
    "check": [{"position": 0, "domain": "a", "draw": 0, "sequence": 1536}],
    "digest": DIGEST,
}


class LockShown(BaseModel):
    """A lock file: all that decides what is read, and its digest. Weights are parts of 10^15."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"example": _LOCK})

    format: int
    mixture: str
    tokenizer: str | None
    seed: int
    block_tokens: int
    window_blocks: int
    phases: list[dict[str, Any]]
    batches: list[dict[str, int]]
    segments: list[dict[str, Any]]
    domains: list[dict[str, Any]]
    accepted: list[dict[str, Any]]
    spec: str
    catalog: str
    check: list[dict[str, Any]]
    digest: str
