"""What a plan says of its phases and domains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mixture.planning.plan.phases import PhaseSteps

VISIBLE = Fraction(1, 1000)
"""Of a phase's tokens: a share that is read and differs so much from its weight is shown beside it."""


@dataclass(frozen=True, slots=True)
class PlannedPhase:
    """A phase as it will run. Shares and `sequences` have one element a domain, in the plan's order of domains.

    laid:      first step, steps, batch, length, and the sums of sequences and tokens
    shares:    exact, summing to 1; where they change inside of the phase, their mean over its steps
    sequences: what the phase draws of each domain
    final:     the shares that a transition leads to; without one, `shares`
    changes:   the steps behind its first from which it has other shares: where the stairs of a transition end
    """

    laid: PhaseSteps
    shares: tuple[Fraction, ...]
    sequences: tuple[int, ...]
    final: tuple[Fraction, ...]
    changes: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The phase's name."""
        return self.laid.name

    def share_read(self, domain: int) -> Fraction:
        """The share of the phase's tokens that is read of a domain; of a phase without a step, its weight."""
        return Fraction(self.sequences[domain], self.laid.sequences) if self.laid.steps else self.shares[domain]

    def differs(self, domain: int) -> bool:
        """Whether the share that is read differs visibly from the weight."""
        return abs(self.share_read(domain) - self.shares[domain]) >= VISIBLE

    def tokens(self, domain: int) -> int:
        """The tokens that the phase draws of a domain."""
        return self.sequences[domain] * self.laid.sequence_length


@dataclass(frozen=True, slots=True)
class PlannedDomain:
    """A domain over the whole run. `pool_tokens` are those that the run is kept to; None where that is all of them."""

    name: str
    tokens: int
    tokens_drawn: int
    max_epochs: Fraction | None
    pool_tokens: int | None = None

    @property
    def held(self) -> int:
        """The tokens that the run may read: of the pool, or all."""
        return self.tokens if self.pool_tokens is None else self.pool_tokens

    @property
    def epochs(self) -> Fraction | None:
        """How often it is read, exact: tokens drawn ÷ tokens held; None for a domain without tokens."""
        return Fraction(self.tokens_drawn, self.held) if self.held else None

    def left_over(self, sequence_length: int) -> int:
        """Tokens behind the last whole sequence of this length: no epoch reads them."""
        return self.held % sequence_length
