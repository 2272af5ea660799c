"""What a step reads: by group, by domain, and sequence by sequence with the documents."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.figures import asked_slots, schedule_with, sequences_by_domain, weights_at
from mixture.api.pages.mixture.columns import asked_column, group_columns, known_order
from mixture.api.pages.mixture.rows import titles_of
from mixture.api.pages.step.sequences import SequenceLine, StoreState, sequence_lines
from mixture.api.registry import LoadedMixture
from mixture.data.store import Store
from mixture.planning.catalog import Overview, cell_text
from mixture.planning.plan import composition, group
from mixture.schedule import WHOLE
from mixture.stream import masks_for, rank_slots

SHOWN_SLOTS = 50
FIRST_DOMAINS, ALL_AT_ONCE = 50, 60
"""Domains that are listed whole; of more, the first ones are, unless all are asked for."""
MOST_DOMAINS, MOST_GROUPS = 1000, 100
"""Of a page, whatever is asked for: more are in its data."""
MOST_RANKS = 64
"""Ranks whose slots are linked to; of more, they stand in the table."""
MOST_READ = "-sequences"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class ReadLine(_Frozen):
    """What the step reads of a domain, or of a group of them.

    key, title:      the domain or the group's value (None: domains without one), and what it is about
    weight:          asked for: the share of tokens that the lock gives it at this step
    share:           got: of the step's sequences, which all have the same length
    tokens_so_far, epochs_so_far: from the run's start to the end of this step
    rank_sequences, rank_tokens: what the requested rank reads of them, None without one
    """

    key: str | None
    group: str | None = None
    title: str = ""
    domains: int
    weight: float
    sequences: int
    share: float
    tokens: int
    tokens_so_far: int
    epochs_so_far: float | None
    rank_sequences: int | None = None
    rank_tokens: int | None = None


class RankLine(_Frozen):
    """The slots of a rank; none where `first_slot` is `slots` behind the last."""

    rank: int
    first_slot: int
    slots: int


class StepView(_Frozen):
    """A step.

    groups:    those that are weighted or read here, the largest weight first
    domains:   those that are weighted or read here, in the order `sort`
    shown:     how many of the domains that are read the page lists
    begin_slot, end_slot: what is asked for: slots of `rank`, or all; up to the end, which is not among them
    slots:     those of them that are shown, from slot `first_slot`; store: whether their documents could be looked up
    is_even:   whether `world_size` ranks, where one is given, read equally many sequences
    """

    name: str
    ref: str
    digest: str
    step: int
    steps: int
    phase: str | None
    phase_first_step: int
    next_phase: int | None
    first_position: int
    sequences: int
    run_sequences: int
    sequence_length: int
    tokens: int
    tokens_so_far: int
    run_tokens: int
    history: str
    by: str
    columns: tuple[str, ...]
    domain_column: str
    sort: str
    shown: int
    groups: tuple[ReadLine, ...]
    domains: tuple[ReadLine, ...]
    world_size: int | None
    rank: int | None
    is_even: bool
    ranks: tuple[RankLine, ...]
    begin_slot: int
    end_slot: int
    first_slot: int
    slots: tuple[SequenceLine, ...]
    next_slot: int | None
    store: StoreState

    def table(self) -> pa.Table:
        """One row a domain that is weighted or read, in the order of the page; of a rank, with what it reads."""
        made: dict[str, pa.Array[Any]] = {"domain": pa.array([domain.key for domain in self.domains], pa.string())}
        if self.by != self.domain_column:
            made[f"group_{self.by}"] = pa.array([domain.group for domain in self.domains], pa.string())
        own = {} if self.rank is None else dict.fromkeys(("rank_sequences", "rank_tokens"), pa.int64())
        for name, kind in (_TABLE | own).items():
            made[name] = pa.array([getattr(domain, name) for domain in self.domains], kind)
        return pa.table(made)

    @property
    def read(self) -> tuple[ReadLine, ...]:
        """The domains that the step reads."""
        return tuple(domain for domain in self.domains if domain.sequences)

    @property
    def listed(self) -> tuple[ReadLine, ...]:
        """The domains that the page lists."""
        return self.read[: self.shown]

    @property
    def at_most(self) -> int:
        """How many domains the page lists where all are asked for."""
        return min(len(self.read), MOST_DOMAINS)

    @property
    def read_groups(self) -> tuple[ReadLine, ...]:
        """The groups that the step reads."""
        return tuple(one for one in self.groups if one.sequences)

    @property
    def listed_groups(self) -> tuple[ReadLine, ...]:
        """The groups that the page lists."""
        return self.read_groups[:MOST_GROUPS]

    def is_sorted(self, column: str) -> str | None:
        """`ascending` or `descending` where domains are in order of this column."""
        if self.sort.removeprefix("-") != column:
            return None
        return "descending" if self.sort.startswith("-") else "ascending"

    def sort_next(self, column: str) -> str:
        """The order that a click on a column's head asks for: figures begin with the largest, names with the first."""
        if self.sort == f"-{column}":
            return column
        return column if self.sort != column and column in _TEXTS else f"-{column}"


_TABLE = {
    "weight": pa.float64(),
    "sequences": pa.int64(),
    "share": pa.float64(),
    "tokens": pa.int64(),
    "tokens_so_far": pa.int64(),
    "epochs_so_far": pa.float64(),
}
_TEXTS = ("key", "group")


def step_view(
    mixture: LoadedMixture,
    step: int,
    *,
    ref: str | None = None,
    by: str | None = None,
    sort: str | None = None,
    whole: bool = False,
    first_slot: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    store: Store | None = None,
    overview: Overview | None = None,
) -> StepView:
    """The view of a step. A slot behind the last counts as the last, so that one can go from step to step.

    ref:        how the page names the mixture; None: by its name
    by:         a column of the catalog to group by
    first_slot: where the sequences that are shown begin, None: with the first
    rank:       whose sequences are shown, None: all
    world_size: the number of ranks, to say which of them reads what
    store:      where documents are looked up

    Raises Problem 422: `step-out-of-range`, `unknown-column`, `unknown-sort`; those of `asked_slots`.
    """
    lock, catalog = mixture.lock, mixture.catalog
    schedule, own = schedule_with(lock, step), mixture.domain_column
    size, length = schedule.batch_of(step), schedule.length_of(step)
    slots = asked_slots(size, rank, world_size) if rank is not None else range(size)
    chosen = asked_column(catalog, own, by, overview)
    cells = [cell_text(cell) for cell in catalog.table[chosen].to_pylist()]
    titles = titles_of(overview, chosen)
    lines = _lines(mixture, step, own)
    ranks = {} if rank is None else sequences_by_domain(schedule, step, slots)
    domains = [
        line.model_copy(
            update={"group": cells[catalog.index(line.key or "")], **_of_rank(ranks.get(line.key or ""), length)}
        )
        for line in lines
        if line.weight or line.sequences
    ]
    order = sort or MOST_READ
    column = known_order(order, (*_TEXTS, *_TABLE))
    domains.sort(key=lambda one: one.key or "")
    domains.sort(key=lambda one: _sort_key(getattr(one, column), column), reverse=order.startswith("-"))
    groups = [] if chosen == own else [one for one in _lines(mixture, step, chosen) if one.weight or one.sequences]
    first = max(slots.start, min(first_slot or 0, slots.stop - 1))
    shown, state = sequence_lines(
        schedule, step, range(first, min(first + SHOWN_SLOTS, slots.stop)), store, masks_for(lock), world_size
    )
    end = first + len(shown)
    phase = lock.phase_of(step)
    assert phase is not None, "the step is in the run"
    next_phase = phase.first_step + phase.steps
    return StepView(
        name=mixture.name,
        ref=ref or mixture.name,
        digest=mixture.digest,
        step=step,
        steps=schedule.steps,
        phase=phase.name,
        phase_first_step=phase.first_step,
        next_phase=next_phase if next_phase < schedule.steps else None,
        first_position=schedule.positions_before(step),
        sequences=size,
        run_sequences=schedule.num_sequences,
        sequence_length=length,
        tokens=size * length,
        tokens_so_far=int(schedule.tokens(step + 1).sum()),
        run_tokens=int(schedule.tokens(schedule.steps).sum()),
        history=schedule.history(step),
        by=chosen,
        columns=group_columns(catalog, own),
        domain_column=own,
        sort=order,
        shown=_shown(sum(domain.sequences > 0 for domain in domains), whole=whole),
        groups=tuple(
            one.model_copy(update={"title": titles.get(one.key or "", "")})
            for one in sorted(groups, key=lambda one: (-one.weight, one.key or ""))
        ),
        domains=tuple(domains),
        world_size=world_size,
        rank=rank,
        is_even=world_size is None or size % world_size == 0,
        ranks=_ranks(size, world_size),
        begin_slot=slots.start,
        end_slot=slots.stop,
        first_slot=first,
        slots=tuple(shown),
        next_slot=end if end < slots.stop else None,
        store=state,
    )


def _lines(mixture: LoadedMixture, step: int, column: str) -> list[ReadLine]:
    """What the step reads by the values of a column."""
    groups = group(mixture.lock, mixture.catalog, (column,))
    weights = groups.sums(weights_at(mixture.lock, step))
    read = composition(mixture.lock, groups, [range(step, step + 1)]).rows()
    return [
        ReadLine(
            key=cell_text(row[column]),
            weight=weight / WHOLE,
            share=row["weight"],
            **{name: row[name] for name in ("domains", "sequences", "tokens", "tokens_so_far", "epochs_so_far")},
        )
        for row, weight in zip(read, weights, strict=True)
    ]


def _of_rank(sequences: int | None, length: int) -> dict[str, int]:
    return {} if sequences is None else {"rank_sequences": sequences, "rank_tokens": sequences * length}


def _shown(there: int, *, whole: bool) -> int:
    """How many of so many domains a page lists."""
    return min(there, MOST_DOMAINS) if whole or there <= ALL_AT_ONCE else FIRST_DOMAINS


def _sort_key(value: object, column: str) -> Any:  # noqa: ANN401 whatever compares
    return (value or "") if column in _TEXTS else (-1 if value is None else value)


def _ranks(size: int, world_size: int | None) -> tuple[RankLine, ...]:
    if world_size is None or world_size > MOST_RANKS:
        return ()
    held = ((rank, rank_slots(size, rank, world_size)) for rank in range(world_size))
    return tuple(RankLine(rank=rank, first_slot=slots.start, slots=len(slots)) for rank, slots in held)
