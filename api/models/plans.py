"""Plans and locks as they are answered: the JSON of `mixture plan --json`, and of a lock file."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from mixture.api.refs import DIGEST
from mixture.lock import FORMAT
from mixture.planning.plan import Level

_SPEC = "5cc6e87f32d56f1a" * 4
_CATALOG = "ca06a7e0f3e7a79f" * 4
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
    "spec": _SPEC,
    "catalog": _CATALOG,
    "check": [{"position": 0, "domain": "a", "draw": 0, "sequence": 1536}],
    "digest": DIGEST,
}


class Exact(BaseModel):
    """A fraction: a decimal to read, and the exact ratio; null where that is too long for anyone."""

    decimal: str = Field(examples=["9.99"])
    ratio: str | None = Field(examples=["999/100"])


class SpecPlace(BaseModel):
    """Where in the spec something stands."""

    file: str | None = Field(examples=["mixture.yaml"])
    line: int | None = Field(examples=[14])
    column: int | None = Field(examples=[7])
    path: str | None = Field(examples=["phases[1].weights.web"])


class FindingShown(BaseModel):
    """What a plan found: an error that is not accepted stops a lock."""

    code: str = Field(examples=["longest-context"])
    level: Level = Field(examples=[Level.NOTE])
    accepted: bool = Field(examples=[False], description="Whether the spec lets it through by name.")
    message: str = Field(examples=["a sequence has 4,096 tokens at most"])
    hint: str | None = Field(examples=[None], description="What to do about it.")
    place: SpecPlace | None
    facts: dict[str, Any] = Field(examples=[{"tokens": 4096}], description="What the message is made of.")


class PhaseShare(BaseModel):
    """A domain in a phase."""

    domain: str = Field(examples=["books"])
    weight: Exact
    weight_at_end: Exact | None = Field(
        default=None, description="Of the phase's last step, where its weights change inside of it."
    )
    weight_read: Exact = Field(description="The share of the phase's tokens that is read of it, in whole sequences.")
    sequences: int = Field(examples=[443180])
    tokens: int = Field(examples=[907632640])
    tokens_left_over: int = Field(examples=[1408], description="Of the domain, that no whole sequence holds.")


class PlannedPhase(BaseModel):
    """A phase of a plan."""

    phase: str = Field(examples=["pretraining"])
    first_step: int = Field(examples=[0])
    steps: int = Field(examples=[15259])
    asked_end: Exact = Field(description="The step that it was to end at, before rounding.")
    sequences: int = Field(examples=[7812608])
    tokens: int = Field(examples=[16000221184])
    batch_sequences: int = Field(examples=[512])
    batch_tokens: int = Field(examples=[1048576])
    sequence_length: int = Field(examples=[2048])
    weights_change: list[int] | None = Field(
        default=None,
        examples=[[15359, 15459]],
        description="The steps behind its first from which it has other weights, as in a transition: `weight` is then"
        " the mean over its steps.",
    )
    domains: list[PhaseShare]


class PlannedDomain(BaseModel):
    """A domain over the whole run."""

    domain: str = Field(examples=["books"])
    tokens: int = Field(examples=[1904000000])
    tokens_drawn: int = Field(examples=[1217536000])
    epochs: Exact
    max_epochs: Exact | None = Field(description="Null where there is no such limit.")


class PlanShown(BaseModel):
    """A plan, as `mixture plan --json` prints it."""

    mixture: str = Field(examples=["demo"], description="The name that its spec gives it.")
    tokenizer: str | None = Field(examples=[None])
    steps: int = Field(examples=[19073])
    sequences: int = Field(examples=[8788992])
    tokens: int = Field(examples=[19999490048])
    seed: int = Field(examples=[0])
    block_tokens: int = Field(examples=[65536])
    window_blocks: int = Field(examples=[64])
    spec: str = Field(examples=[_SPEC], description="Digest of what the spec says.")
    catalog: str = Field(examples=[_CATALOG], description="Digest of what the catalog says.")
    phases: list[PlannedPhase]
    domains: list[PlannedDomain]
    findings: list[FindingShown]
    lockable: bool = Field(examples=[True])


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
