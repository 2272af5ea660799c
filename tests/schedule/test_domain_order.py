"""The order of one domain: epochs complete and different, nothing twice in one, sorted text spread, pools nested."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from schedule.making import make_run
from schedule.random_runs import runs
from search_lengths import examples

from mixture.errors import ScheduleError
from mixture.schedule import Domain, Rows, Schedule


def all_rows(schedule: Schedule) -> Rows:
    return schedule.rows(0, schedule.num_sequences)


def by_draw(rows: Rows, domain: int = 0) -> Rows:
    """A domain's rows in the order of its draws, of a run with one length."""
    mine = np.flatnonzero(rows.domain == domain)
    mine = mine[np.argsort(rows.draw[mine])]
    return Rows(*(getattr(rows, name)[mine] for name in ("position", "domain", "draw", "epoch", "sequence", "tokens")))


def overlaps(rows: Rows) -> int:
    """How many sequences begin inside the one before, among those of one domain and epoch."""
    order = np.lexsort((rows.first_token, rows.epoch, rows.domain))
    domain, epoch = rows.domain[order], rows.epoch[order]
    first, end = rows.first_token[order], (rows.first_token + rows.tokens)[order]
    same = (domain[1:] == domain[:-1]) & (epoch[1:] == epoch[:-1])
    return int((same & (first[1:] < end[:-1])).sum())


@settings(max_examples=examples(150))
@given(data=runs())
def test_nothing_is_read_twice_within_an_epoch_across_lengths_batches_and_skips(data):
    schedule = Schedule(data)
    rows = all_rows(schedule)
    assert overlaps(rows) == 0
    tokens = np.array([domain.tokens for domain in data.domains])
    assert (rows.first_token >= 0).all()
    assert (rows.first_token + rows.tokens <= tokens[rows.domain]).all()
    for d, domain in enumerate(data.domains):
        if domain.pool_tokens is not None:
            blocks = np.unique(rows.first_token[rows.domain == d] // data.block_tokens)
            assert blocks.size <= -(-domain.pool_tokens // data.block_tokens)


def test_every_token_of_small_domains_counted_one_by_one_is_read_at_most_once_an_epoch():
    halves = [1, 1]
    run = make_run(
        {"a": 64 * 130 + 37, "b": 5 * 64},
        [
            (90, 4, halves), (40, 4, halves, 333), (60, 16, halves),
            (20, 64, [2, 1]), (15, 64, [2, 1], 9), (80, 8, [1, 3]),
        ],
        [(0, 8), (50, 11), (199, 3)], window=2,
    )  # fmt: skip
    rows = all_rows(Schedule(run))
    reads: dict[tuple[int, int, int], int] = {}
    for domain, epoch, first, length in zip(
        rows.domain.tolist(), rows.epoch.tolist(), rows.first_token.tolist(), rows.tokens.tolist(), strict=True
    ):
        for token in range(first, first + length):
            reads[domain, epoch, token] = reads.get((domain, epoch, token), 0) + 1
    assert max(reads.values()) == 1
    assert len({epoch for domain, epoch, _ in reads if domain == 1}) > 10  # many epochs of the small one


@pytest.mark.parametrize(
    ("domain", "length"),
    [
        (Domain("a", 64 * 100 + 37), 4),  # a last block cut short
        (Domain("a", 64 * 100 + 3), 16),  # a last block without a sequence
        (Domain("a", 64 * 64), 64),  # one sequence a block
        (Domain("a", 50), 4),  # no full block
        (Domain("a", 4), 4),  # one sequence
        (Domain("a", 64 * 500, 64 * 77 + 9), 4),  # a pool
        (Domain("a", 60, 21), 4),  # a pool of a domain without a full block
    ],
)
def test_epochs_are_complete_and_each_in_another_order(domain, length):
    blocks = domain.pool_tokens is not None and domain.tokens // 64
    tokens = domain.pool_tokens or domain.tokens
    per_epoch = tokens // 64 * (64 // length) + tokens % 64 // length
    schedule = Schedule(make_run([domain], [(3 * per_epoch, length, [1])], [(0, 1)], seed=4))
    rows = by_draw(all_rows(schedule))
    assert np.array_equal(rows.draw, np.arange(3 * per_epoch))
    assert np.array_equal(rows.epoch, np.repeat([0, 1, 2], per_epoch))
    epochs = rows.sequence.reshape(3, per_epoch)
    assert all(np.unique(epoch).size == per_epoch for epoch in epochs)
    assert np.array_equal(np.sort(epochs[0]), np.sort(epochs[1]))
    assert np.array_equal(np.sort(epochs[0]), np.sort(epochs[2]))
    if not blocks:
        assert np.array_equal(np.sort(epochs[0]), np.arange(per_epoch))
    if per_epoch > 8:
        for a, b in ((0, 1), (1, 2), (0, 2)):
            assert (epochs[a] == epochs[b]).mean() < 0.5
        assert (np.diff(epochs[0]) == 1).mean() < 0.5


def test_an_epoch_in_windows_too_large_to_sort_is_complete():
    per_epoch = 16_384 * 64 + 5  # of blocks of 16,384 sequences, two a window, and one of 5
    schedule = Schedule(make_run({"a": per_epoch}, [(3 * 3, 1, [1])], [(0, per_epoch // 3)], block=16_384))
    sequence = all_rows(schedule).sequence.reshape(3, per_epoch)
    for epoch in sequence:
        assert np.array_equal(np.sort(epoch), np.arange(per_epoch))
    assert (sequence[0] == sequence[1]).sum() < 20


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize(("tokens", "pool"), [(64 * 97 + 37, None), (64 * 99, 64 * 96 + 20), (64 * 96 + 3, None)])
def test_every_sequence_is_found_once_in_each_epoch(tokens, pool, window):
    per_epoch = (pool or tokens) // 16
    run = make_run([Domain("a", tokens, pool)], [(5 * per_epoch, 16, [1])], [(0, 1)], window=window)
    schedule = Schedule(run)
    rows = all_rows(schedule)
    places: dict[int, list[int]] = {}
    for position, sequence in zip(rows.position.tolist(), rows.sequence.tolist(), strict=True):
        places.setdefault(sequence, []).append(position)
    assert len(places) == per_epoch
    for sequence, positions in places.items():
        assert schedule.find("a", sequence * 16 + 5) == positions
        assert [position // per_epoch for position in positions] == [0, 1, 2, 3, 4]


def test_an_epoch_is_the_same_streamed_in_ranges_sought_one_by_one_and_begun_anywhere():
    run = make_run({"a": 64 * 40 + 11, "b": 64 * 9}, [(400, 16, [3, 1])], [(0, 5)], window=3)
    streamed = all_rows(Schedule(run))
    assert streamed.epoch.max() >= 3
    sought = Schedule(run).at(range(1999, -1, -1))
    assert np.array_equal(sought.sequence[::-1], streamed.sequence)
    assert np.array_equal(sought.epoch[::-1], streamed.epoch)
    for start in (1, 640, 1_333):
        resumed = Schedule(run).rows(start, 2_000 - start)
        assert np.array_equal(resumed.sequence, streamed.sequence[start:])


def test_a_million_sequences_sorted_by_label_are_spread_evenly_when_a_block_is_one_sequence():
    labels = _labels_of_each_ten_thousand_draws(block=64, length=64)
    sigma = (10_000 * 0.05 * 0.95) ** 0.5
    assert np.abs(labels - 500).max() < 5 * sigma


def test_a_million_sequences_sorted_by_label_are_spread_as_well_as_blocks_of_16_can_be():
    labels = _labels_of_each_ten_thousand_draws(block=64, length=4)
    sigma = 16 * (10_000 / 16 * 0.05 * 0.95) ** 0.5
    assert np.abs(labels - 500).max() < 5 * sigma


def _labels_of_each_ten_thousand_draws(*, block: int, length: int) -> np.ndarray:
    """How often each of 20 labels comes in each 10,000 draws of a sorted domain: [100, 20]."""
    num = 1_000_000
    schedule = Schedule(make_run({"sorted": num * length}, [(num // 500, length, [1])], [(0, 500)], block=block))
    label = by_draw(all_rows(schedule)).sequence // (num // 20)
    return np.stack([np.bincount(part, minlength=20) for part in label.reshape(100, 10_000)])


def test_short_and_long_sequences_in_turn_read_nearly_all_of_a_domain_and_nothing_twice():
    tokens, turns = 10_000_000, 10
    a_turn = tokens * 13 // 10 // turns  # tokens
    segments = [(round(a_turn / (8 * length)), length, [1]) for length in (4_096, 16_384) * (turns // 2)]
    schedule = Schedule(make_run({"a": tokens}, segments, [(0, 8)], block=65_536, window=1))
    rows = all_rows(schedule)
    assert overlaps(rows) == 0
    first_epoch = rows.epoch == 0
    assert rows.tokens[first_epoch].sum() > 0.95 * tokens
    assert rows.epoch.max() == 1
    drawn = schedule.tokens(schedule.steps)[0]
    assert drawn == rows.tokens.sum()
    assert drawn / tokens == pytest.approx(1.3, abs=0.02)
    skipped = sum(handoff.tokens_skipped[0] for handoff in schedule.handoffs())
    read_or_skipped = rows.tokens[first_epoch].sum() + skipped
    assert read_or_skipped >= tokens - 65_536 - 16_384  # what is skipped is counted
    assert all(handoff.tokens_skipped[0] < 65_536 for handoff in schedule.handoffs())


def test_a_larger_pool_contains_the_smaller_ones():
    def blocks_read(pool: int | None) -> set[int]:
        per_epoch = (pool or 64 * 300) // 16
        schedule = Schedule(make_run([Domain("a", 64 * 300, pool)], [(per_epoch, 16, [1])], [(0, 1)]))
        return set((all_rows(schedule).first_token // 64).tolist())

    pools = [blocks_read(64 * blocks) for blocks in (1, 5, 80, 299)] + [blocks_read(None)]
    assert [len(pool) for pool in pools] == [1, 5, 80, 299, 300]
    assert all(small < large for small, large in pairwise(pools))
    assert pools[1] != set(range(5))  # not just the beginning


def test_a_pool_is_read_as_often_as_the_whole_would_be_by_a_run_that_much_longer():
    small = Schedule(make_run([Domain("a", 64_000, 6_400)], [(150, 16, [1])], [(0, 8)]))
    large = Schedule(make_run([Domain("a", 64_000)], [(1_500, 16, [1])], [(0, 8)]))
    assert all_rows(small).epoch.max() == all_rows(large).epoch.max() == 2


def test_the_order_of_a_domain_depends_on_its_name_and_not_on_its_neighbours():
    def order_of_a(domains: dict[str, int], shares: list[int], seed: int = 0) -> np.ndarray:
        schedule = Schedule(make_run(domains, [(300, 16, shares)], seed=seed))
        return by_draw(all_rows(schedule), schedule.domain_index("a")).sequence[:600]

    alone = order_of_a({"a": 9_999}, [1])
    assert np.array_equal(alone, order_of_a({"a": 9_999, "b": 777}, [2, 1]))
    assert np.array_equal(alone, order_of_a({"b": 777, "c": 10**9, "a": 9_999}, [1, 1, 5]))
    assert not np.array_equal(alone, order_of_a({"a": 9_999}, [1], seed=1))
    named_b = Schedule(make_run({"b": 9_999}, [(300, 16, [1])]))
    assert not np.array_equal(alone, by_draw(all_rows(named_b)).sequence[:600])


@pytest.mark.parametrize(
    "domain",
    [Domain("small", 15), Domain("small", 0), Domain("small", 100, 15), Domain("small", 40, 15)],
    ids=["no whole sequence", "no token", "a pool too small", "a pool too small of a domain without a full block"],
)
def test_a_domain_or_pool_without_a_whole_sequence_is_named_before_anything_is_read(domain):
    with pytest.raises(ScheduleError, match="'small' has no whole sequence of 16 tokens") as refused:
        Schedule(make_run([Domain("large", 10_000), domain], [(10, 16, [10**12, 1])]))
    assert refused.value.code == "domain-too-small"
    assert refused.value.facts == {"name": "small", "length": 16}


def test_a_domain_too_small_for_a_later_length_is_refused_and_one_of_weight_zero_is_not():
    with pytest.raises(ScheduleError, match="no whole sequence of 64 tokens"):
        Schedule(make_run({"a": 1_000, "b": 63}, [(10, 16, [1, 1]), (10, 64, [1, 1])]))
    legal = Schedule(make_run({"a": 1_000, "b": 63, "c": 0}, [(10, 16, [1, 1, 0]), (10, 64, [1, 0, 0])]))
    assert legal.counts(20).tolist() == [120, 40, 0]
