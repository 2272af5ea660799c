"""The schedule that a lock's fields define: positions to rows, tokens to positions, counts, handoffs, history."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from mixture.errors import ScheduleError
from mixture.schedule.arguments import Arguments
from mixture.schedule.coverage import Coverage
from mixture.schedule.draws import picked_sequences
from mixture.schedule.fields import ScheduleData, check_fields
from mixture.schedule.history import history
from mixture.schedule.layout import LaidSegment, SegmentHandoff, lay_segments
from mixture.schedule.order import DomainOrder, Permutations
from mixture.schedule.permute import I64
from mixture.schedule.reads import Draws, Read, ReadPlace, TokenRange
from mixture.schedule.rows import COLUMNS, Rows, bounds_by_domain, split_by_epoch
from mixture.schedule.step_slots import Stretch
from mixture.schedule.windows import Windows

CHUNK_ROWS = 1 << 19
"""Rows that are made at once: enough that a call's fixed cost is small, few enough to stay near the processor."""
CHUNK_COUNTS = 1 << 21
"""Counts by domain that are held at once, 8 bytes each: with tiny batches of many domains they outnumber the rows."""
SPARSE = 8
"""A selection below one in this many of a chunk's rows is looked up row by row, without laying the chunk out."""


class Schedule:
    """The order of a run. Raises ScheduleError where the fields do not make one, or a method is asked beyond it.

    Any number of threads may share it: what it keeps does not change once it is made, and its caches hold a lock only
    to look up. Two schedules of the same fields are the same everywhere.
    """

    def __init__(self, data: ScheduleData, *, like: Schedule | None = None) -> None:
        """Lay the run out.

        like: a schedule whose work is taken over as far as both are the same; it decides nothing
        """
        check_fields(data)
        self.data = data
        self.names = tuple(domain.name for domain in data.domains)
        self.steps = data.steps
        self._batch_steps = [batch.first_step for batch in data.batches]
        *self._batch_positions, self.num_sequences = data.batch_positions
        self._arguments = Arguments(data, self.num_sequences)
        if like is not None and _ordering(like.data) != _ordering(data):
            like = None
        self._permutations: Permutations = like._permutations if like else Permutations(data.seed)
        self._orders: dict[tuple[int, int], DomainOrder] = like._orders if like else {}
        self._windows: dict[int, Windows] = like._windows if like else {}
        self._laid: list[LaidSegment] = lay_segments(data, self._order, like._laid if like else ())
        self._stretches: list[Stretch] = [stretch for laid in self._laid for stretch in laid.stretches]
        self._drawn_before: list[I64] = [self._laid[0].drawn[0], *(n for laid in self._laid for n in laid.drawn[1:])]
        self._stretch_steps = [stretch.first_step for stretch in self._stretches]
        self._per_epoch: dict[int, I64] = {}
        for laid in self._laid:
            self._note_per_epoch(laid.segment.sequence_length, laid.tree.leaves)

    def __reduce__(self) -> tuple[type[Schedule], tuple[ScheduleData]]:
        """A schedule goes to another process as its fields: what it has worked out is worked out there again."""
        return Schedule, (self.data,)

    # ---- steps and positions --------------------------------------------------------------------------------

    def positions_before(self, step: int) -> int:
        """Sequences before a step (0 to `steps`): the position of its first slot."""
        step = self._arguments.step(step, end=True)
        b = bisect_right(self._batch_steps, step) - 1
        return self._batch_positions[b] + (step - self._batch_steps[b]) * self.data.batches[b].sequences

    def step_of(self, position: int) -> int:
        """The step that a position is in."""
        position = self._arguments.position(position)
        b = bisect_right(self._batch_positions, position) - 1
        return self._batch_steps[b] + (position - self._batch_positions[b]) // self.data.batches[b].sequences

    def steps_and_slots(self, positions: I64) -> tuple[I64, I64]:
        """The steps that positions of the run are in, and their slots there: int64, shaped as `positions`."""
        positions = self._arguments.positions(positions)
        b = np.searchsorted(self._batch_positions, positions, side="right") - 1
        sizes = np.array([batch.sequences for batch in self.data.batches])
        steps, slots = np.divmod(positions - np.array(self._batch_positions)[b], sizes[b])
        return steps + np.array(self._batch_steps)[b], slots

    def columns(self, rows: Rows) -> dict[str, npt.NDArray[np.integer]]:
        """Rows of the run by COLUMNS, as tables have them: int64 [n], and `domain` int32 [n], an index in `names`."""
        step, slot = self.steps_and_slots(rows.position)
        placed = {"step": step, "slot": slot}
        return {name: placed[name] if name in placed else getattr(rows, name) for name in COLUMNS}

    def batch_of(self, step: int) -> int:
        """Sequences of a step."""
        return self.data.batch_at(self._arguments.step(step)).sequences

    def length_of(self, step: int) -> int:
        """Tokens of a step's sequences."""
        return self._stretch_at(self._arguments.step(step)).length

    def domain_index(self, name: str) -> int:
        """A domain's index. Raises ScheduleError, `unknown-domain`, with the nearest name."""
        return self._arguments.name(name)

    # ---- what is read ---------------------------------------------------------------------------------------

    def rows(self, start: int, count: int) -> Rows:
        """Positions start to start + count - 1; of no position, start may be the end of the run, and not beyond it."""
        return Rows.join(list(self.iter_rows(start, count)))

    def iter_rows(self, start: int, count: int) -> Iterator[Rows]:
        """The same in chunks of about half a million rows, each made when asked for."""
        return self._iter_rows(*self._arguments.position_range(start, count))

    def _iter_rows(self, start: int, count: int) -> Iterator[Rows]:
        if count == 0:
            return
        end = start + count
        step, last = self.step_of(start), self.step_of(end - 1)
        while step <= last:
            stop, stretch = self._chunk_end(step, last + 1)
            first, after = self.positions_before(step), self.positions_before(stop)
            here = slice(max(start, first) - first, min(end, after) - first)
            yield self._rows_of(stretch, step, stop, np.arange(here.start, here.stop))
            step = stop

    def step_rows(self, first_step: int, steps: int, slots: range) -> Iterator[Rows]:
        """The given slots of steps first_step to first_step + steps - 1, in chunks of whole steps of one batch size.

        slots: consecutive slots that every one of the steps has.
        """
        first_step, steps = self._arguments.step(first_step, end=True), self._arguments.count(steps)
        first_step, end_step = self._arguments.step_range(first_step, first_step + steps)
        self._arguments.slots(slots, first_step, end_step)
        return self._step_rows(first_step, end_step, slots)

    def _step_rows(self, step: int, end: int, slots: range) -> Iterator[Rows]:
        while step < end:
            stop, stretch = self._chunk_end(step, end)
            places = np.arange(stop - step)[:, None] * stretch.batch + np.arange(slots.start, slots.stop)
            yield self._rows_of(stretch, step, stop, places.reshape(-1))
            step = stop

    def at(self, positions: Iterable[int]) -> Rows:
        """Any positions, in the order given."""
        parts = []
        for asked in positions:
            position = self._arguments.position(asked)
            step = self.step_of(position)
            slot = np.array([position - self.positions_before(step)])
            parts.append(self._rows_of(self._stretch_at(step), step, step + 1, slot))
        return Rows.join(parts)

    def nth(self, domain: I64, number: I64) -> Rows:
        """The number-th sequence, from 0, that the run reads of each domain, of any length: rows in the order given.

        domain, number: int64 [n]. Any number of them costs microseconds each, wherever they lie.
        """
        domain, number = self._arguments.draws(domain, number, self._drawn_before[-1])
        position, draw, epoch, sequence, tokens = (np.empty_like(number) for _ in range(5))
        for s, stretch in enumerate(self._stretches):
            before, after = self._drawn_before[s][domain], self._drawn_before[s + 1][domain]
            here = np.flatnonzero((number >= before) & (number < after))
            if not here.size:
                continue
            d, k = domain[here], number[here] - before[here] + stretch.base[domain[here]]
            step, slot = stretch.where_each(d, k)
            orders = {one: self._order(one, stretch.length) for one in np.unique(d).tolist()}
            position[here] = self.positions_before(stretch.first_step) + step * stretch.batch + slot
            draw[here], epoch[here] = k, k // self._per_epoch[stretch.length][d]
            sequence[here] = picked_sequences(self._windows_of(stretch.length), orders, d, k)
            tokens[here] = stretch.length
        return Rows(position, domain.astype(np.int32), draw, epoch, sequence, tokens)

    def counts(self, step: int) -> I64:
        """Sequences drawn from each domain by all steps before this one, of any length: int64 [domains]."""
        step = self._arguments.step(step, end=True)
        s = max(0, bisect_right(self._stretch_steps, step) - 1)
        stretch = self._stretches[s]
        return self._drawn_before[s] + stretch.drawn(step - stretch.first_step)

    def tokens(self, step: int) -> I64:
        """Tokens drawn from each domain by all steps before this one: int64 [domains]."""
        step = self._arguments.step(step, end=True)
        total = np.zeros(len(self.names), dtype=np.int64)
        for s, stretch in enumerate(self._stretches):
            if stretch.first_step >= step:
                break
            total += self._drawn_in(s, step) * stretch.length
        return total

    def _drawn_in(self, s: int, step: int) -> I64:
        """Sequences that each domain gives in those of a stretch's steps that lie before a step behind its first."""
        stretch = self._stretches[s]
        if stretch.first_step + stretch.steps <= step:
            return self._drawn_before[s + 1] - self._drawn_before[s]
        return stretch.drawn(step - stretch.first_step)

    def tokens_repeated(self, step: int) -> I64:
        """Of `tokens(step)`, those that were drawn in an epoch of their domain after its first: int64 [domains]."""
        step = self._arguments.step(step, end=True)
        total = np.zeros(len(self.names), dtype=np.int64)
        for s, stretch in enumerate(self._stretches):
            if stretch.first_step >= step:
                break
            end = stretch.base + self._drawn_in(s, step)
            total += np.maximum(0, end - np.maximum(stretch.base, self._per_epoch[stretch.length])) * stretch.length
        return total

    def find(self, name: str, token: int) -> list[int]:
        """Every position whose sequence holds a token (an offset in the domain's store), in order."""
        return list(self.iter_find(name, token))

    def iter_find(self, name: str, token: int) -> Iterator[int]:
        """The same, each worked out when asked for: a domain of few sequences may be read a billion times."""
        return (place.position for place in self.iter_places(name, token))

    def iter_places(self, name: str, token: int) -> Iterator[ReadPlace]:
        """The same with the step, slot and epoch of each."""
        return (
            ReadPlace(self.positions_before(read.step) + read.slot, read.step, read.slot, read.epoch)
            for read in self.reads(name, token, 1)
        )

    def reads(self, name: str, first_token: int, num_tokens: int, *, first_step: int = 0) -> Iterator[Read]:
        """Every sequence from a step on that holds any of these tokens, in order, each worked out when asked for."""
        d = self.domain_index(name)
        wanted = TokenRange(*self._arguments.tokens(d, first_token, num_tokens), self.data.domains[d].tokens)
        return (read for draws in self.draws(d, first_step) for read in wanted.reads(draws))

    def count_reads(self, name: str, first_token: int, num_tokens: int, *, first_step: int = 0) -> int:
        """How many sequences from a step on hold any of these tokens; whole epochs are counted at once."""
        d = self.domain_index(name)
        wanted = TokenRange(*self._arguments.tokens(d, first_token, num_tokens), self.data.domains[d].tokens)
        return sum(wanted.count(draws) for draws in self.draws(d, first_step))

    def draws(self, domain: int, first_step: int = 0, end_step: int | None = None) -> Iterator[Draws]:
        """What steps first_step to end_step - 1 (default: the last) draw of a domain, stretch by stretch."""
        first_step, end = self._arguments.step_range(first_step, self.steps if end_step is None else end_step)
        return self._draws(self._arguments.domain(domain), first_step, end)

    def coverage(self, domain: int, step: int) -> Coverage:
        """What all steps before this one have read of a domain's tokens, and how often."""
        return Coverage(self.draws(domain, 0, self._arguments.step(step, end=True)), self.data.block_tokens)

    def _draws(self, d: int, first_step: int, end: int) -> Iterator[Draws]:
        for s, stretch in enumerate(self._stretches):
            if first_step >= stretch.first_step + stretch.steps or end <= stretch.first_step:
                continue
            low = int(self._drawn_in(s, first_step)[d]) if first_step > stretch.first_step else 0
            high = int(self._drawn_in(s, end)[d])
            if low < high:
                order, windows = self._order(d, stretch.length), self._windows_of(stretch.length)
                yield Draws(d, stretch, order, windows, int(stretch.base[d]) + low, high - low)

    def handoffs(self) -> list[SegmentHandoff]:
        """What each segment leaves unread of each domain where it begins."""
        return [laid.handoff for laid in self._laid]

    def history(self, step: int) -> str:
        """The digest of all that decides what comes before a step."""
        return history(self.data, self._arguments.step(step, end=True))

    # ---- how ------------------------------------------------------------------------------------------------

    def _stretch_at(self, step: int) -> Stretch:
        return self._stretches[bisect_right(self._stretch_steps, step) - 1]

    def _chunk_end(self, step: int, end: int) -> tuple[int, Stretch]:
        """Where the chunk that begins at a step ends, at the latest at `end`, and the stretch it lies in."""
        stretch = self._stretch_at(step)
        steps = max(1, min(CHUNK_ROWS // stretch.batch, stretch.steps_at_once(CHUNK_COUNTS)))
        return min(step + steps, stretch.first_step + stretch.steps, end), stretch

    def _order(self, domain: int, length: int) -> DomainOrder:
        order = self._orders.get((domain, length))
        if order is None:
            order = DomainOrder(self.data, self.data.domains[domain], length, self._permutations)
            if order.per_epoch == 0:
                raise ScheduleError(
                    f"domain {order.name!r} has no whole sequence of {length:,} tokens",
                    code="domain-too-small",
                    name=order.name,
                    length=length,
                )
            self._orders[domain, length] = order
        return order

    def _windows_of(self, length: int) -> Windows:
        if length not in self._windows:
            self._windows[length] = Windows(length, self._permutations)
        return self._windows[length]

    def _note_per_epoch(self, length: int, domains: I64) -> None:
        """Note the sequences an epoch of domains."""
        per_epoch = self._per_epoch.setdefault(length, np.zeros(len(self.names), dtype=np.int64))
        for d in domains[per_epoch[domains] == 0].tolist():
            per_epoch[d] = self._order(d, length).per_epoch

    def _rows_of(self, stretch: Stretch, step: int, stop: int, picked: I64) -> Rows:
        """Rows of steps of one stretch; `picked`, increasing, counts slots from the first step's first one."""
        j0, j1, batch = step - stretch.first_step, stop - stretch.first_step, stretch.batch
        runs = stretch.runs(j0, j1)
        per_epoch = self._per_epoch[stretch.length]
        domain, first, count, epoch = split_by_epoch(runs, per_epoch)
        ends = np.cumsum(count)
        ahead = first - (ends - count)
        place = stretch.layout_places(j0, j1, picked)
        if picked.size * SPARSE < (j1 - j0) * batch:
            run = np.searchsorted(ends, place, side="right")
            draw = ahead[run] + place
            low, high = bounds_by_domain(domain[run], draw, len(self.names))
        else:
            # Of runs of one sequence each, places are the runs.
            run = place if count.size == ends[-1] else np.repeat(np.arange(count.size), count)[place]
            draw = ahead[run] + place
            low, high = runs.low, runs.high
        sequence = self._sequences(stretch.length, low, high, domain, ahead, run, place)
        position = picked + self.positions_before(step)
        tokens = np.broadcast_to(np.int64(stretch.length), position.shape)
        return Rows(position, domain.astype(np.int32)[run], draw, epoch[run], sequence, tokens)

    def _sequences(self, length: int, low: I64, high: I64, domain: I64, ahead: I64, run: I64, place: I64) -> I64:
        used = np.flatnonzero(high > low)
        ranges = [
            (self._order(d, length), a, b)
            for d, a, b in zip(used.tolist(), low[used].tolist(), high[used].tolist(), strict=True)
        ]
        flat, starts = self._windows_of(length).sequences(ranges)
        shift = np.zeros(low.size, dtype=np.int64)
        shift[used] = starts - low[used]
        sequences: I64 = flat[(ahead + shift[domain])[run] + place]
        return sequences


def _ordering(data: ScheduleData) -> tuple[object, ...]:
    """What fixes the order of every domain's own sequences."""
    return data.seed, data.block_tokens, data.window_blocks, data.domains
