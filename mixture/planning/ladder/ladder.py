"""A ladder: smaller runs of a mixture, with the same relative boundaries and, if asked for, the same epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import PlanError
from mixture.lock import Lock
from mixture.planning.ladder.pools import simulated_pools
from mixture.planning.ladder.spec import RungSize, batch_sequences, rung_spec, with_full_shares
from mixture.planning.plan import Inputs, Plan, make_lock, make_plan
from mixture.planning.spec import FindingCode, Spec
from mixture.units import format_count, format_written


@dataclass(frozen=True, slots=True)
class RungDomain:
    """A domain on a rung. Epochs are exact: tokens drawn ÷ tokens that may be read, of the pool or of all.

    pool_tokens:  what the rung is kept to; None where that is the whole domain
    epochs_asked: those of the full run
    epochs:       those of the rung; both are None for a domain without tokens
    """

    name: str
    tokens: int
    pool_tokens: int | None
    tokens_drawn: int
    epochs_asked: Fraction | None
    epochs: Fraction | None

    @property
    def deviation(self) -> Fraction:
        """How far the epochs are from those asked for, as a part of these; where these are 0, the epochs themselves."""
        asked, got = self.epochs_asked or Fraction(0), self.epochs or Fraction(0)
        return abs(got - asked) / (asked or 1)


@dataclass(frozen=True, slots=True)
class Rung:
    """One run of a ladder.

    size:    what was asked for; `plan.tokens` is what it came to in whole steps
    plan:    its plan, whose findings are its own; `plan.spec` is its spec
    full:    the full run's plan
    pools:   tokens by domain that it is kept to
    domains: in the plan's order
    """

    size: RungSize
    plan: Plan
    full: Plan
    pools: Mapping[str, int]
    domains: tuple[RungDomain, ...]

    @property
    def is_full_run(self) -> bool:
        """Whether it is the full run itself: its lock is the spec's own."""
        return self.plan is self.full

    def lock(self, *, content: Mapping[str, str] | None = None) -> Lock:
        """Its lock, as `make_lock` makes it. Raises PlanError where an error of the plan is not accepted."""
        return make_lock(self.plan, content=content)


def make_ladder(
    spec: Spec,
    rungs: Sequence[RungSize],
    *,
    inputs: Inputs | None = None,
    simulate_epochs: bool = False,
    cut_full: bool = False,
) -> tuple[Rung, ...]:
    """Runs of smaller sizes than the spec's, in the order asked for. `rung_spec` says how each is made.

    inputs:          as `make_plan` takes them
    simulate_epochs: keep each domain to a pool, so that it has the epochs of the full run; `simulated_pools` says how
    cut_full:        make pools for rungs of the full size as well: without it, none has a pool that is less than a step
                     shorter than the full run

    A rung accepts `never-read` of domains that the full run reads: it is too short for them, and its spec says so.

    A rung that differs from the full run by less than a step, or is asked for by the tokens of the spec's budget, with
    the spec's batch, is the full run: its plan is the spec's own.

    Without pools, and while the sequence length stays the same, a rung reads of each domain the first part of what
    larger ones read. With pools, a rung's pools are parts of those of larger rungs, and each is read in an order of its
    own: of a domain that is read for less than an epoch, other text than that which a larger rung reads.

    Raises PlanError `rung-twice`, `rung-too-large` for one that is a step or more longer than the full run, and what
    `rung_spec` and `make_plan` do.
    """
    _check_different(rungs)
    full = make_plan(spec, inputs)
    step = max(phase.laid.batch_tokens for phase in full.phases)
    _check_small(full, rungs, step)
    plans = [full if _is_full_run(full, size, step) else _plan(full, size) for size in rungs]
    pools: list[dict[str, int]] = [{} for _ in rungs]
    if simulate_epochs:
        cut = [i for i, size in enumerate(rungs) if cut_full or not _is_full_size(full, size, step)]
        cut.sort(key=lambda i: plans[i].tokens)
        for i, own in zip(cut, simulated_pools(full, [plans[i] for i in cut]), strict=True):
            pools[i] = own
    return tuple(_rung(full, *parts) for parts in zip(rungs, plans, pools, strict=True))


def _check_different(rungs: Sequence[RungSize]) -> None:
    for i, size in enumerate(rungs):
        if size in rungs[:i]:
            raise PlanError(f"rung {size} is asked for twice", code="rung-twice", rung=str(size))


def _check_small(full: Plan, rungs: Sequence[RungSize], step: int) -> None:
    for size in rungs:
        if _is_full_size(full, size, step) and not _is_near(full, size, step):
            raise PlanError(
                f"rung {size} has {format_count(size.tokens)} tokens, more than the full run, which reads"
                f" {format_count(full.tokens)}",
                code="rung-too-large",
                place=full.spec.place("budget"),
                hint=f"at most {format_written(full.tokens)} tokens; a longer run takes a larger `budget` in the spec",
                rung=str(size),
                tokens=size.tokens,
                most=full.tokens,
            )


def _plan(full: Plan, size: RungSize) -> Plan:
    spec = rung_spec(full.spec, [phase.laid for phase in full.phases], size)
    spec = with_full_shares(spec, full.phases, [domain.name for domain in full.domains])
    plan = make_plan(spec, full.inputs)
    unread = FindingCode.NEVER_READ
    if unread not in {refusal.code for refusal in plan.refusals} or unread in {
        refusal.code for refusal in full.refusals
    }:
        return plan
    return make_plan(spec.model_copy(update={"accept": (*spec.accept, unread)}), full.inputs)


def _is_full_size(full: Plan, size: RungSize, step: int) -> bool:
    return size.tokens == full.spec.budget.tokens or size.tokens > full.tokens - step


def _is_near(full: Plan, size: RungSize, step: int) -> bool:
    """Whether a rung of the full size is no longer than the full run, or by less than a step."""
    return size.tokens == full.spec.budget.tokens or size.tokens < full.tokens + step


def _is_full_run(full: Plan, size: RungSize, step: int) -> bool:
    return _is_full_size(full, size, step) and size.batch in (None, batch_sequences(full.spec))


def _rung(full: Plan, size: RungSize, plan: Plan, pools: Mapping[str, int]) -> Rung:
    if pools:
        plan = make_plan(plan.spec, plan.inputs, pools=pools)
    domains = tuple(
        RungDomain(own.name, own.tokens, own.pool_tokens, own.tokens_drawn, large.epochs, own.epochs)
        for own, large in zip(plan.domains, full.domains, strict=True)
    )
    return Rung(size, plan, full, pools, domains)
