"""What is said of runs over HTTP: the bodies that come in, and the models that are answered."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.config import JsonDict

from mixture.api.answers import LARGEST_NUMBER, RequestBody, VisibleText
from mixture.api.refs import DIGEST, DIGEST_PATTERN
from mixture.names import DIGEST_MARK

RUN = "3f9c0a6be2d14c58"
READ: JsonDict = {
    "kind": "web",
    "domains": 3,
    "tokens": 6230000000,
    "planned_tokens": 7800000000,
    "weight": 0.388,
    "planned_weight": 0.39,
    "epochs": 0.99,
    "planned_epochs": 1.25,
    "planned_tokens_so_far": 6230000000,
    "planned_weight_so_far": 0.388,
}


NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""Losses that JSON has no numbers for; `float(…)` and `Number(…)` read them."""


LARGEST = sys.float_info.max


def _loss(value: object) -> float | str | None:
    if value is None or (isinstance(value, str) and value in NOT_FINITE):
        return value
    if not isinstance(value, float | int) or isinstance(value, bool) or not -LARGEST <= value <= LARGEST:
        raise ValueError('expected a finite number, null, "NaN", "Infinity" or "-Infinity"')
    return float(value)


Loss = Annotated[
    float | str | None,
    PlainValidator(_loss),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": list(NOT_FINITE), "type": "string"}, {"type": "null"}]}),
]
"""A loss by one rule and not by a union, whose errors would point to each of its parts."""

RunIds = Annotated[
    list[VisibleText],
    Field(
        max_length=1000,
        examples=[[]],
        description="Ids of runs that may be left behind: they have read what the new lock no longer says, and stay "
        "with their own. Without them such a change is refused, `run-consumed`.",
    ),
]


class NewRun(RequestBody):
    """A run to register."""

    mixture: str = Field(
        max_length=300,
        examples=["demo", f"demo{DIGEST_MARK}{DIGEST}"],
        description="What the run trains on: a name, name@sha256:…, or the lock's digest alone, sha256:…",
    )
    name: VisibleText | None = Field(
        None, min_length=1, max_length=200, examples=["ablation 7"], description="For people."
    )
    key: VisibleText | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=["job-4711"],
        description="Makes sending again safe: with one key a token's holder registers one run.",
    )


class NewProgress(RequestBody):
    """A report of a run."""

    step: int = Field(strict=True, ge=0, le=LARGEST_NUMBER, examples=[15300], description="Steps that are done.")
    loss: dict[str, Loss] | None = Field(
        None,
        examples=[{"web-high": 2.31, "code-python": "NaN"}],
        description='Loss by domain: a number; "NaN", "Infinity" or "-Infinity" of one that diverged; null: not known.',
    )
    key: VisibleText | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=["attempt-1"],
        description="Makes sending again safe: a report with this key and step is added once.",
    )
    lock: str | None = Field(
        None,
        pattern=f"^(sha256:)?{DIGEST_PATTERN}$",
        examples=[None],
        description="The digest of the lock that the run reads now; null: the one that it read before. Another one, as "
        "after an amendment, is taken where both read the same up to the run's last report; else 409 "
        "`history-differs`. A run that went back to a checkpoint reports that one's step first.",
    )


class Progress(BaseModel):
    """A line of a run's log."""

    seq: int = Field(examples=[1530], description="Counts the reports of the run, from 1, without gaps.")
    step: int = Field(examples=[15300], description="Steps that are done.")
    loss: dict[str, Loss] | None = Field(
        examples=[{"web-high": 2.31, "code-python": "NaN"}],
        description='By domain, as it was reported: a number, "NaN", "Infinity", "-Infinity", or null.',
    )
    key: str | None = Field(examples=["attempt-1"])
    at: datetime = Field(examples=["2026-03-01T12:00:00Z"], description="When the report came in, in UTC.")
    by: str = Field(examples=["trainer"], description="Whose token it was.")
    lock: str | None = Field(
        None, examples=[None], description="The digest of the lock that it reads from here on, where that changed."
    )
    lock_before: str | None = Field(None, examples=[None], description="The one that it read before, where it changed.")


class RunHead(BaseModel):
    """A run in the list, with its last report."""

    id: str = Field(examples=[RUN])
    name: str | None = Field(examples=["ablation 7"])
    mixture: str = Field(examples=[f"demo{DIGEST_MARK}{DIGEST}"], description="The mixture's address for good.")
    digest: str = Field(examples=[DIGEST], description="Of the lock that it reads now: SHA-256, lower-case hex.")
    step: int = Field(examples=[15300], description="Steps that are done, by the last report; 0 before the first.")
    steps: int | None = Field(
        examples=[19073], description="Of the whole run; null where the service has its mixture no longer."
    )
    last: Progress | None = Field(description="The last report; it holds, also where it goes back to an earlier step.")
    registered: datetime = Field(examples=["2026-03-01T12:00:00Z"])
    by: str = Field(examples=["trainer"])
    url: str = Field(examples=[f"/v1/runs/{RUN}"])


class NextBoundary(BaseModel):
    """Where something changes next: the phase, its weights, the length of sequences, or the batch."""

    step: int = Field(examples=[15259])
    steps_left: int = Field(examples=[259])
    phase: str | None = Field(examples=["midtraining"], description="The phase that begins there, if one does.")
    sequence_length: int = Field(examples=[4096])
    batch_sequences: int = Field(examples=[256])


class Standing(BaseModel):
    """Where in its mixture a run is."""

    steps: int = Field(examples=[19073], description="Of the whole run.")
    tokens: int = Field(examples=[16043212800], description="Read so far.")
    planned_tokens: int = Field(examples=[19999490048])
    phase: str | None = Field(examples=["midtraining"], description="Of the next step; null at the end.")
    next_boundary: NextBoundary | None = Field(description="Null where the run goes on to its end as it is.")


class Run(RunHead):
    """A run, and where it is; `standing` is null where the service has its mixture no longer."""

    standing: Standing | None
    locks: list[Progress] = Field(description="The last 100 reports with which it went on under another lock.")
    links: dict[str, str] = Field(examples=[{"composition": f"/v1/runs/{RUN}/composition"}])


class ReadRow(BaseModel):
    """A group of domains: the columns asked for, and what a run has read of it, against its plan."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"example": READ})

    domains: int = Field(examples=[1])
    tokens: int = Field(examples=[6230000000])
    planned_tokens: int = Field(examples=[7800000000], description="By the whole run.")
    weight: float | None = Field(
        examples=[0.388], description="Share of all tokens read so far, whatever `where` says."
    )
    planned_weight: float | None = Field(examples=[0.39], description="Of the whole run.")
    epochs: float | None = Field(examples=[0.99], description="Tokens read ÷ tokens of the group.")
    planned_epochs: float | None = Field(examples=[1.25])
    planned_tokens_so_far: int = Field(
        examples=[6230000000], description="Up to the steps that are done: a run that is on plan has read these."
    )
    planned_weight_so_far: float | None = Field(examples=[0.388])
