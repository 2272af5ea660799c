"""Shares become integers: weights by largest remainder, sequences by the tree, never far from what is due."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedule.making import make_run, weights

from mixture.schedule import WHOLE, Schedule, apportion
from mixture.schedule.permute import key64
from mixture.schedule.tree import Tree

BOUND = Fraction(336, 100)
"""No domain is ever so many sequences from its share: the sum of the reciprocal Fibonacci numbers."""

shares = st.lists(
    st.one_of(st.integers(0, 10**6), st.just(1), st.just(10**12)), min_size=1, max_size=300
).filter(any)  # fmt: skip


@given(parts=shares, total=st.integers(0, 10**16))
def test_apportioned_integers_sum_to_the_total_and_stay_within_one_of_their_share(parts, total):
    exact = [Fraction(part, sum(parts)) for part in parts]
    out = apportion(exact, total)
    assert sum(out) == total
    assert all(abs(count - share * total) < 1 for count, share in zip(out, exact, strict=True))


def test_equal_remainders_go_to_the_earlier_domain():
    assert apportion([Fraction(1, 3)] * 3, 100) == [34, 33, 33]
    assert apportion([Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)], 1) == [0, 1, 0]
    assert apportion([Fraction(1, 4)] * 4, 2) == [1, 1, 0, 0]


@pytest.mark.parametrize("parts", [[Fraction(1, 2)], [Fraction(2, 3)] * 2, [Fraction(3, 2), Fraction(-1, 2)]])
def test_shares_that_are_no_parts_of_a_whole_are_refused(parts):
    with pytest.raises(ValueError, match="sum to exactly 1"):
        apportion(parts, 10)


def tree_of(parts) -> Tree:
    return Tree(weights(parts), key64(7, "split", 0))


@given(parts=shares, start=st.one_of(st.integers(0, 10**4), st.integers(0, 2**49 - 500)))
def test_the_tree_never_takes_back_a_sequence_and_is_within_the_bound_of_every_share(parts, start):
    tree = tree_of(parts)
    x = np.arange(start, start + 400)
    counts = tree.leaf_counts(x)
    assert (counts.sum(axis=1) == x).all()
    steps = np.diff(counts, axis=0)
    assert steps.min() >= 0
    assert (steps.sum(axis=1) == 1).all()
    weight = np.array(weights(parts), dtype=object)[tree.leaves]
    for i in (0, 7, 399):
        away = [abs(Fraction(int(w) * int(x[i]), WHOLE) - int(n)) for w, n in zip(weight, counts[i], strict=True)]
        assert max(away) < BOUND


@given(parts=shares, start=st.one_of(st.integers(0, 10**4), st.integers(0, 2**49 - 500)), count=st.integers(0, 300))
def test_items_that_are_placed_together_stand_where_each_is_by_itself(parts, start, count):
    tree = tree_of(parts)
    items, counts = tree.place(start, start + count)
    assert counts.tolist() == tree.leaf_counts(np.array([start, start + count])).tolist()
    low, high = counts.tolist()
    own = [(d, k) for d, a, b in zip(tree.leaves.tolist(), low, high, strict=True) for k in range(a, b)]
    assert (start + items).tolist() == [tree.item(d, k) for d, k in own]


@given(parts=shares, k=st.integers(0, 2**40), data=st.data())
def test_an_item_stands_where_its_domain_first_has_one_more(parts, k, data):
    tree = tree_of(parts)
    domain = data.draw(st.sampled_from(tree.leaves.tolist()))
    k = k * weights(parts)[domain] // WHOLE  # so that its place stays below 2^41
    x = tree.item(domain, k)
    assert tree.counts(x)[domain] == k
    assert tree.counts(x + 1)[domain] == k + 1


def test_the_tree_is_the_oracles_at_both_ends_of_its_range(oracle):
    one_of_a_quadrillion = [10**15 - 1, 1]
    for parts in ([1, 1], one_of_a_quadrillion, [3, 10**12, 7, 0, 1], list(range(1, 60)), [1] * 200, [1, 10**9] * 40):
        ours, theirs = tree_of(parts), oracle.Tree(list(weights(parts)), key64(7, "split", 0))
        for x in (0, 1, 2, 999, 2**31 - 1, 2**32 + 1, 10**12 + 1, 2**48 + 12345, 2**49 - 1, 2**49):
            assert ours.counts(x).tolist() == theirs.counts(x)
        for domain in ours.leaves.tolist():
            for k in (0, 1, 17, 10**6):
                assert ours.item(domain, k) == theirs.item(domain, k)


def test_a_share_of_a_hundred_millionth_is_drawn_35_times_and_spread_over_the_run():
    sequences = 3_662_109_375  # 15T tokens in sequences of 4,096
    run = make_run(
        dict.fromkeys(("a", "b", "c"), 10**14), [(sequences // 375, 4_096, ["0.5", "0.4999999904", "0.0000000096"])],
        [(0, 375)], block=65_536,
    )  # fmt: skip
    schedule = Schedule(run)
    assert schedule.num_sequences == sequences
    assert abs(int(schedule.counts(schedule.steps)[2]) - 35) <= 1
    for step in range(0, schedule.steps, schedule.steps // 100):
        due = schedule.positions_before(step) * 9.6e-9
        assert abs(int(schedule.counts(step)[2]) - due) < 2


def test_seven_equal_weights_over_100_sequences_are_each_drawn_13_to_16_times():
    for seed in range(20):
        schedule = Schedule(make_run({f"d{i}": 10**6 for i in range(7)}, [(100, 64, [1] * 7)], [(0, 1)], seed=seed))
        counts = np.array([schedule.counts(step) for step in range(101)])
        assert set(counts[-1].tolist()) <= {13, 14, 15, 16}
        assert np.abs(counts - np.arange(101)[:, None] / 7).max() < 2


@pytest.mark.parametrize("seed", range(5))
def test_200_equal_weights_over_1199_sequences_are_each_drawn_five_or_six_times(seed):
    domains = {f"d{i:03}": 10**6 for i in range(200)}
    schedule = Schedule(make_run(domains, [(11, 64, [1] * 200)], [(0, 109)], seed=seed))
    assert set(schedule.counts(11).tolist()) == {5, 6}


def test_200_small_changes_of_200_weights_keep_each_stretch_within_the_bound():
    """Each change begins its splits again, and of the first few sequences the larger child has a little more: what a
    domain strays in one stretch adds up. So weights that change every thousand sequences stray by 1.4% in the end."""
    num, rounds, sequences = 200, 200, 1_024
    part = [10**9 * ((i * 7919) % 997 + 1) for i in range(num)]
    part[3] = 10**15
    segments = []
    for i in range(rounds):
        part = [w + (w if (d * 31 + i * 17) % 2 else -w) // 1_000 for d, w in enumerate(part)]
        segments.append((1, 4_096, part))
    run = make_run({f"d{i:03}": 10**12 for i in range(num)}, segments, [(0, sequences)], block=65_536)
    schedule = Schedule(run)
    counts = np.array([schedule.counts(step) for step in range(rounds + 1)])
    due = np.array([segment.weights for segment in run.segments]) / WHOLE * sequences
    assert np.abs(np.diff(counts, axis=0) - due).max() < 2
    drawn, in_all = counts[-1], due.sum(axis=0)
    assert drawn[in_all >= 6].min() > 0
    assert np.abs(drawn - in_all).sum() / 2 < 0.015 * rounds * sequences


def test_200_equal_domains_in_small_batches_meet_in_nearly_every_pair_and_without_a_period():
    num, batch, steps = 200, 8, 6_000
    run = make_run({f"d{i:03}": 10**9 for i in range(num)}, [(steps, 64, [1] * num)], [(0, batch)])
    rows = Schedule(run).rows(0, steps * batch)
    by_step = rows.domain.reshape(steps, batch)
    met = np.zeros((num, num), dtype=bool)
    for a in range(batch):
        for b in range(batch):
            met[by_step[:, a], by_step[:, b]] = True
    assert met[np.triu_indices(num, 1)].sum() >= 0.98 * 19_900
    labels = rows.domain.astype(np.int16)
    same = [float((labels[lag:] == labels[:-lag]).mean()) for lag in range(1, 12_000)]
    assert max(same) < 0.02  # by chance: 0.005
