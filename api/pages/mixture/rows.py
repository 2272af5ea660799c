"""Rows of a mixture's page: domains, and groups of them, with weights by phase and epochs against the cap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

from pydantic import BaseModel, ConfigDict

from mixture.api.figures import PlannedDomains
from mixture.api.registry import LoadedMixture
from mixture.planning.catalog import Overview, cell_text
from mixture.planning.plan import Exact, PhaseShare, tokens_over_cap

NEAR = Fraction(9, 10)
"""Of the cap: a domain that is read so much is near it."""


class Reach(StrEnum):
    """How a domain's epochs stand against its cap."""

    BELOW = "below"
    NEAR = "near"
    ABOVE = "above"


def reach_of(drawn: int, tokens: int, cap: Fraction | None) -> Reach:
    """How the tokens drawn of a domain that holds so many stand against its cap; below where there is none."""
    if tokens_over_cap(drawn, tokens, cap):
        return Reach.ABOVE
    return Reach.NEAR if cap is not None and drawn and drawn >= NEAR * cap * tokens else Reach.BELOW


class DomainRow(BaseModel):
    """A domain over the run; weights: its planned share of each phase, in order of phases, as `weight` reads it.

    share:      of all tokens that the run draws
    epochs:     None for a domain without tokens
    max_epochs: None where there is no cap; reach: against it, exact
    """

    model_config = ConfigDict(frozen=True)

    domain: str
    group: str | None
    tokens: int
    weights: tuple[float, ...]
    tokens_drawn: int
    share: float
    epochs: float | None
    max_epochs: float | None
    reach: Reach


class GroupRow(BaseModel):
    """Domains with the same value in a column, together.

    key:       the value as text; None: domains without one
    near_cap:  how many of its domains are near or above their caps
    """

    model_config = ConfigDict(frozen=True)

    key: str | None
    title: str
    domains: int
    tokens: int
    weights: tuple[float, ...]
    tokens_drawn: int
    share: float
    epochs: float | None
    near_cap: int


def weight_over(share: PhaseShare) -> float:
    """A domain's weight over a phase of the plan: of a phase with a transition, the mean of its steps."""
    return float(share["weight"]["decimal"])


def weight_at_end(share: PhaseShare) -> float:
    """A domain's weight at a phase's last step, behind its transition: what a what-if's changes start from."""
    return float(share.get("weight_at_end", share["weight"])["decimal"])


def domain_rows(
    mixture: LoadedMixture, by: str, *, weight: Callable[[PhaseShare], float] = weight_over
) -> list[DomainRow]:
    """All domains in the order of the plan, each with its value in the column `by`."""
    plan = mixture.plan_json
    planned_domains = PlannedDomains(plan)
    shares = [[weight(one) for one in phase["domains"]] for phase in plan["phases"]]
    cells = [cell_text(cell) for cell in mixture.catalog.table[by].to_pylist()]
    return [
        DomainRow(
            domain=one["domain"],
            group=cells[mixture.catalog.index(one["domain"])],
            tokens=one["tokens"],
            weights=tuple(weights),
            tokens_drawn=one["tokens_drawn"],
            share=one["tokens_drawn"] / plan["tokens"],
            epochs=_number(one["epochs"]),
            max_epochs=_number(one["max_epochs"]),
            reach=reach_of(one["tokens_drawn"], one["tokens"], planned_domains.cap_of(one["domain"])),
        )
        for one, *weights in zip(plan["domains"], *shares, strict=True)
    ]


def group_rows(rows: Sequence[DomainRow], titles: Mapping[str, str]) -> list[GroupRow]:
    """The groups of these domains, the most drawn first."""
    held: dict[str | None, list[DomainRow]] = defaultdict(list)
    for row in rows:
        held[row.group].append(row)
    groups = [_group(key, members, titles) for key, members in held.items()]
    return sorted(groups, key=lambda group: (-group.tokens_drawn, group.key or ""))


def _group(key: str | None, rows: Sequence[DomainRow], titles: Mapping[str, str]) -> GroupRow:
    tokens, drawn = sum(row.tokens for row in rows), sum(row.tokens_drawn for row in rows)
    return GroupRow(
        key=key,
        title=titles.get(key or "", ""),
        domains=len(rows),
        tokens=tokens,
        # Shortest decimals of the plan add up as such, in whichever order.
        weights=tuple(
            float(sum(map(Fraction, map(repr, column)))) for column in zip(*(r.weights for r in rows), strict=True)
        ),
        tokens_drawn=drawn,
        share=sum(row.share for row in rows),
        epochs=drawn / tokens if tokens else None,
        near_cap=sum(row.reach is not Reach.BELOW for row in rows),
    )


def titles_of(overview: Overview | None, column: str) -> dict[str, str]:
    """The titles of a column's values, where they are the rows of the overview's map."""
    if overview is None or overview.rows != column:
        return {}
    return {cluster.id: cluster.title for cluster in overview.clusters}


def _number(figure: Exact | None) -> float | None:
    return None if figure is None else float(figure["decimal"])
