"""What a spec says, read and checked by itself: exact numbers, resolved paths. No catalog has been looked at yet."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mixture.errors import Place
from mixture.planning.spec.finding_codes import FindingCode
from mixture.units import Unit


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CatalogSource(_Model):
    """The table of all domains, or a store's folder, and the column that names the domains."""

    path: Path
    domain: str = "domain"


class BatchSize(_Model):
    """The size of one step."""

    amount: int
    unit: Literal[Unit.SEQUENCES, Unit.TOKENS]


class Budget(_Model):
    """The length of the run. At least one is set; where both are, steps decide."""

    steps: int | None = None
    tokens: int | None = None


class Shuffle(_Model):
    """The size of a block in tokens and of a window in blocks; None takes the plan's default."""

    block_tokens: int | None = None
    window_blocks: int | None = None


class Form(StrEnum):
    """How a phase's extent is given: the first three are its length, the last is where it ends."""

    SHARE = "share"
    TOKENS = "tokens"
    STEPS = "steps"
    UNTIL = "until"


class Extent(_Model):
    """A phase's length, or its end counted from the start of the run.

    amount is a Fraction of the budget (80% is 4/5) where the unit is PERCENT, else a whole number of tokens or steps.
    """

    form: Form
    amount: Fraction | int
    unit: Literal[Unit.PERCENT, Unit.TOKENS, Unit.STEPS]


class ShareMap(_Model):
    """Token shares by domain, in the order written. They sum to exactly 1: written_sum has been divided out."""

    shares: dict[str, Fraction]
    written_sum: Fraction = Fraction(1)


class TokenMap(_Model):
    """Token amounts by domain, in the order written; at least one is above 0."""

    tokens: dict[str, int]


class TableColumn(_Model):
    """A column of a table as weights, and the column that names the domains."""

    path: Path
    column: str
    domain: str = "domain"


class Rule(StrEnum):
    """Weights made from the catalog's tokens, or none of it."""

    PROPORTIONAL = "proportional"
    UNIFORM = "uniform"


class Temperature(_Model):
    """Shares in proportion to tokens^(1/temperature): 1 is proportional, larger is more even, below 1 less even."""

    temperature: Fraction


class Unimax(_Model):
    """As even as can be, with no domain above so many epochs in its phase."""

    max_epochs: Fraction


class QualityCurve(_Model):
    """A factor that grows with the buckets that a column orders, C·(x - a)^p·e^(lambda·(x - a)).

    max_factor: the most that a bucket is read in the phase; None: without a bound
    start:      the worst part of the tokens, whose buckets are not read
    p, lam:     None where the steepest curve within the bound is to be found
    """

    by: str
    max_factor: Fraction | None
    start: Fraction
    p: Fraction | None = None
    lam: Fraction | None = None


GroupRule = ShareMap | TokenMap | TableColumn | Rule | Temperature | Unimax | QualityCurve


class WhereGroup(_Model):
    """The domains that a condition on the catalog selects; exactly one of share and tokens is set."""

    where: str
    share: Fraction | None = None
    tokens: int | None = None
    within: GroupRule


class ReplayGroup(_Model):
    """An earlier phase's weights again; exactly one of share and tokens is set."""

    replay: str
    share: Fraction | None = None
    tokens: int | None = None


class Groups(_Model):
    """Weights as a sum of groups: all have shares, which sum to exactly 1 (written_sum divided out), or all tokens."""

    groups: tuple[WhereGroup | ReplayGroup, ...]
    written_sum: Fraction = Fraction(1)


Weights = GroupRule | Groups


class Transition(_Model):
    """A phase's first steps are so many stairs, from the weights of the phase before to its own."""

    steps: int
    parts: int


class Phase(_Model):
    """A stretch of the run. What is None comes from the spec, or, for the last phase's extent, is the rest."""

    phase: str
    extent: Extent | None = None
    weights: Weights
    sequence_length: int | None = None
    batch: BatchSize | None = None
    transition: Transition | None = None

    @property
    def weight_sets(self) -> int:
        """How many sets of weights it has, one after the other: those of its transition's stairs, and its own."""
        return 1 + (self.transition.parts if self.transition else 0)


class Spec(_Model):
    """A mixture spec. Its paths are resolved against the folder that it lies in.

    max_epochs holds for a domain that neither domain_max_epochs nor the catalog has a limit for.
    place(path) says where a key stands in the file.
    """

    path: Path
    mixture: str
    catalog: CatalogSource
    tokenizer: str | None = None
    seed: int = 0
    sequence_length: int
    batch: BatchSize
    budget: Budget
    max_epochs: Fraction | None = None
    domain_max_epochs: dict[str, Fraction] = Field(default_factory=dict)
    shuffle: Shuffle = Shuffle()
    accept: tuple[FindingCode, ...] = ()
    phases: tuple[Phase, ...]
    places: dict[str, Place] = Field(default_factory=dict, exclude=True, repr=False)

    def place(self, path: str) -> Place:
        """The place of a key, such as ``phases[1].weights.web``; where it is not written, of what would hold it.

        Paths are made by `key_path`: a name that is not a plain word stands quoted, ``weights["a.b"]``.
        """
        holder = path
        while holder and holder not in self.places:
            holder = holder[: max(holder.rfind("."), holder.rfind("["), 0)]
        known = self.places.get(holder)
        if known is None:
            return Place(file=str(self.path), path=path)
        return Place(file=known.file, line=known.line, column=known.column, path=path)
