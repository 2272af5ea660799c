"""A comparison of two mixtures as it is answered: the JSON of `mixture diff --json`, and its rows as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, Field

from mixture.api.refs import DIGEST
from mixture.names import DIGEST_MARK
from mixture.planning.compare import Diff, Figures, Move
from mixture.planning.plan import Exact


class LengthFrom(BaseModel):
    """A sequence length, from a step on."""

    first_step: int = Field(examples=[0])
    sequence_length: int = Field(examples=[4096])


class BatchFrom(BaseModel):
    """A batch, from a step on."""

    first_step: int = Field(examples=[0])
    sequences: int = Field(examples=[11264])


class DiffAmendment(BaseModel):
    """An amendment that a lock came of."""

    step: int = Field(examples=[15259])
    lock: str = Field(examples=[DIGEST], description="That was amended.")
    reason: str | None = Field(examples=["a loss spike"])


class DiffSide(BaseModel):
    """One of the two mixtures."""

    name: str = Field(examples=[f"demo{DIGEST_MARK}{DIGEST}"], description="As it was asked for.")
    mixture: str = Field(examples=["demo"], description="The name that its spec gives it.")
    digest: str | None = Field(examples=[DIGEST], description="Of the lock.")
    steps: int = Field(examples=[19073])
    sequences: int = Field(examples=[8788992])
    tokens: int = Field(examples=[19999490048])
    lengths: list[LengthFrom]
    batches: list[BatchFrom]
    amendments: list[DiffAmendment] = Field(examples=[[]], description="Of its lock, the oldest first.")
    refusals: list[str] = Field(examples=[[]], description="Codes of errors that refuse a lock; none of a lock.")


class DiffStretch(BaseModel):
    """Steps of a phase on one side."""

    phase: str = Field(examples=["pretraining"])
    first_step: int = Field(examples=[0])
    steps: int = Field(examples=[15259])
    tokens: int = Field(examples=[16000221184])


class DiffPhase(BaseModel):
    """The same steps on both sides, of a phase each; null, and no distance, where one has no such step."""

    phase: str = Field(examples=["pretraining"], description="Of both; `a → b` where their names differ.")
    first_step: int = Field(examples=[0])
    a: DiffStretch | None
    b: DiffStretch | None
    half_l1: Exact | None = Field(description="Half the sum of the differences of shares, by domain.")
    hellinger: Exact | None


class DiffFigures(BaseModel):
    """A domain, or a group, on one side, over the whole run."""

    weight: Exact = Field(description="Share of the tokens that the run reads.")
    tokens_drawn: int = Field(examples=[1217536000])
    tokens: int = Field(examples=[1904000000])
    epochs: Exact | None = Field(description="Tokens drawn ÷ tokens; null without any.")


class DiffWeights(BaseModel):
    """The weights of a domain, or a group, in steps of a phase; null where the side has no such step, or none of it."""

    phase: str = Field(examples=["pretraining"])
    first_step: int = Field(examples=[0])
    a: Exact | None
    b: Exact | None


class DiffMove(BaseModel):
    """A domain on both sides, or, where a column was asked for, a group. Changes are b's figure less a's."""

    domain: str | None = Field(None, examples=["books"])
    group: str | None = Field(None, examples=["c14"], description="The value of the column; null where it has none.")
    domains: int | None = Field(None, examples=[5], description="Of the group.")
    a: DiffFigures | None
    b: DiffFigures | None
    weight_change: Exact
    tokens_change: int = Field(examples=[-4096])
    epochs_change: Exact | None
    rounding: bool = Field(examples=[False], description="Whether no share changes by 0.0001 percentage points.")
    phases: list[DiffWeights]


class DiffResized(BaseModel):
    """A domain that has other tokens on each side."""

    domain: str = Field(examples=["books"])
    a: int = Field(examples=[1904000000])
    b: int = Field(examples=[1904100000])


class DiffRepooled(BaseModel):
    """A domain that is kept to another pool on each side; null: it is read whole."""

    domain: str = Field(examples=["books"])
    a: int | None = Field(examples=[None])
    b: int | None = Field(examples=[190400000])


class DiffTakenDown(BaseModel):
    """Text that one side alone has taken down."""

    first_step: int = Field(examples=[121], description="The first step at which one hides what the other does not.")
    a_tokens: int = Field(examples=[0])
    b_tokens: int = Field(examples=[2119189])


class DiffShown(BaseModel):
    """A comparison, as `mixture diff --json` prints it. Changes are b's figure less a's."""

    a: DiffSide
    b: DiffSide
    same: bool = Field(examples=[False])
    same_to_end: bool = Field(examples=[False], description="Whether what the shorter one reads is the same.")
    agreed_steps: int = Field(examples=[15259], description="The first step that they do not read alike.")
    resume_step: int = Field(
        examples=[15259], description="Checkpoints of either up to and at this step go on under the other."
    )
    taken_down: DiffTakenDown | None = Field(description="Null where both hide the same text.")
    parts_by: list[str] = Field(examples=[["weights"]], description="What differs at that step.")
    half_l1: Exact = Field(description="Of the runs, by the tokens drawn of each domain.")
    hellinger: Exact
    phases: list[DiffPhase]
    by: str | None = Field(examples=[None], description="The column that moves are grouped by.")
    moves: list[DiffMove] = Field(description="The largest change of weight first.")
    only_a: list[str] = Field(examples=[[]])
    only_b: list[str] = Field(examples=[["math"]])
    resized: list[DiffResized]
    repooled: list[DiffRepooled]
    retexted: list[str] = Field(examples=[[]], description="Domains whose text is another, as far as locks fix it.")
    regrouped: list[str] = Field(examples=[[]], description="Domains that count where b's catalog has them, not a's.")
    masks_differ: bool = Field(examples=[False], description="Whether they hide other text.")


def moves_table(diff: Diff) -> pa.Table:
    """The moves as rows: figures of both and their changes, as floats where they are fractions."""
    moves = diff.moves
    name = "domain" if diff.by is None else "group"
    columns: dict[str, pa.Array[Any]] = {name: pa.array([move.name for move in moves], pa.string())}
    if diff.by is not None:
        columns["domains"] = pa.array([len(move.domains) for move in moves], pa.int64())
    for figure, kind, read, change in _FIGURES:
        for letter in ("a", "b"):
            sides: list[Figures | None] = [getattr(move, letter) for move in moves]
            columns[f"{figure}_{letter}"] = pa.array(
                [None if one is None else _plain(read(one)) for one in sides], kind
            )
        if change is not None:
            columns[f"{figure}_change"] = pa.array([_plain(change(move)) for move in moves], kind)
    return pa.table(columns)


_Change = Callable[[Move], Any]
_FIGURES: tuple[tuple[str, pa.DataType, Callable[[Figures], Any], _Change | None], ...] = (
    ("weight", pa.float64(), lambda one: one.weight, lambda move: move.weight_change),
    ("tokens_drawn", pa.int64(), lambda one: one.tokens, lambda move: move.tokens_change),
    ("tokens", pa.int64(), lambda one: one.size, None),
    ("epochs", pa.float64(), lambda one: one.epochs, lambda move: move.epochs_change),
)


def _plain(value: Any) -> int | float | None:  # noqa: ANN401 a count, a fraction or nothing
    return value if value is None or isinstance(value, int) else float(value)
