"""Distances of mixtures: exact, the same whichever comes first, and bounded as they should be."""

from fractions import Fraction
from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixture.planning.compare import half_l1, hellinger

AMOUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 10**15), min_size=1).filter(
    lambda amounts: any(amounts.values())
)


def test_half_l1_is_the_part_that_would_have_to_be_exchanged():
    assert half_l1({"a": 80, "b": 20}, {"a": 3, "b": 1, "c": 1}) == Fraction(1, 5)
    assert half_l1({"a": Fraction(1, 3), "b": Fraction(2, 3)}, {"a": Fraction(1)}) == Fraction(2, 3)


def test_mixtures_of_other_sizes_and_the_same_shares_are_not_apart():
    assert half_l1({"a": 10, "b": 30}, {"a": 700, "b": 2100}) == 0
    assert hellinger({"a": 10, "b": 30}, {"a": 700, "b": 2100}) == 0


def test_mixtures_without_a_common_domain_are_one_apart():
    assert half_l1({"a": 7}, {"b": 9, "a": 0}) == 1
    assert hellinger({"a": 7}, {"b": 9, "a": 0}) == 1


def test_hellinger_is_what_its_formula_says():
    p, q = {"a": 0.8, "b": 0.2}, {"a": 0.6, "b": 0.3, "c": 0.1}
    by_formula = sqrt(sum((sqrt(p.get(name, 0)) - sqrt(q.get(name, 0))) ** 2 for name in q) / 2)
    assert isclose(hellinger({"a": 8, "b": 2}, {"a": 6, "b": 3, "c": 1}), by_formula, rel_tol=1e-12)


@given(AMOUNTS, AMOUNTS)
def test_distances_are_symmetric_and_keep_their_order(one, other):
    apart, by_roots = half_l1(one, other), hellinger(one, other)
    assert apart == half_l1(other, one)
    assert by_roots == hellinger(other, one)
    assert 0 <= apart <= 1
    assert 0 <= by_roots <= 1
    # H² ≤ half-L1 ≤ √2·H, whatever the shares.
    assert float(by_roots) ** 2 <= float(apart) + 1e-12
    assert float(apart) <= sqrt(2) * float(by_roots) + 1e-12


@given(AMOUNTS)
def test_a_mixture_is_not_apart_from_itself(amounts):
    assert half_l1(amounts, amounts) == 0
    assert hellinger(amounts, amounts) == 0


def test_nothing_at_all_has_no_shares():
    with pytest.raises(ValueError, match="no shares"):
        half_l1({"a": 0}, {"a": 1})
