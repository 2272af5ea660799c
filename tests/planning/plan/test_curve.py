"""Quality curves: Olmo 3's own figures, numeric integration, and what must hold for every pool.

`olmo3_fitted.csv` is what allenai/dolma3 at f7def583, `datasets/dolma3_mix/mixes/mixing_utils.py`, gives for the
pools, targets and bounds of the notebook beside it, `mixing_dashboard.ipynb`. `olmo3_printed.csv` are factors that the
notebook has printed, `max_repetition` - 0.01, of topics that the bound leaves alone: they were made with lambda up to
0.2, where the code goes up to 2.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import accumulate, pairwise
from math import exp
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.planning.plan.weights.curve import LARGEST_LAMBDA, POWERS, Curve, fitted
from mixture.planning.spec import Groups, read_spec

HERE = Path(__file__).parent
OLMO = Path(__file__).parents[3] / "mixtures" / "olmo-3-topics"
TARGET_TOKENS = 127_939_584_000
START, BOUND = Fraction("0.4"), Fraction(7)
CLOSE = Fraction(1, 10**6)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pools() -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for row in sorted(rows(OLMO / "pools.csv"), key=lambda row: int(row["quality"])):
        out.setdefault(row["topic"], []).append(int(row["tokens"]))
    return out


def targets() -> dict[str, Fraction]:
    weights = read_spec(OLMO / "mixture.yaml").phases[0].weights
    assert isinstance(weights, Groups)
    return {group.where.split("'")[1]: group.share * TARGET_TOKENS for group in weights.groups}


POOLS, TARGETS = pools(), targets()


def olmo(topic: str, **given: Fraction) -> Curve:
    return fitted(POOLS[topic], TARGETS[topic], start=START, max_factor=BOUND, **given)


def near(found: Fraction, said: str, *, within: Fraction = CLOSE) -> bool:
    return abs(found - Fraction(said)) <= within * max(1, abs(Fraction(said)))


@pytest.mark.parametrize("said", rows(HERE / "olmo3_fitted.csv"), ids=lambda said: said["topic"])
def test_the_published_search_finds_the_same_curve_for_every_topic(said):
    curve = olmo(said["topic"])
    # The published bound has a tolerance of 1e-6, which moves lambda by as much where the bound is met.
    assert near(curve.p, said["p"])
    assert near(curve.lam, said["lambda"], within=2 * CLOSE)
    assert near(curve.scale, said["c"])
    assert near(max(curve.factors), said["largest_factor"])
    assert sum(share == 0 for share in curve.shares) == int(said["dropped"])
    assert max(curve.factors) <= BOUND


@pytest.mark.parametrize("said", rows(HERE / "olmo3_fitted.csv"), ids=lambda said: said["topic"])
def test_published_parameters_read_the_published_share_of_every_topic(said):
    curve = olmo(said["topic"], p=Fraction(said["p"]), lam=Fraction(said["lambda"]))
    factor = Fraction(said["c"]) / curve.scale  # what the published C makes of this topic, beside the share asked for
    read = sum(one * tokens for one, tokens in zip(curve.factors, POOLS[said["topic"]], strict=True)) * factor
    assert abs(read - TARGETS[said["topic"]]) / TARGET_TOKENS < CLOSE


@pytest.mark.parametrize("topic", sorted({row["topic"] for row in rows(HERE / "olmo3_printed.csv")}))
def test_the_notebook_s_printed_factors_are_those_of_a_lambda_of_a_fifth(topic):
    printed = [row["factor"] for row in rows(HERE / "olmo3_printed.csv") if row["topic"] == topic]
    curve = olmo(topic, lam=Fraction("0.2"))
    kept = [factor for factor in curve.factors if factor]
    assert len(kept) == len(printed)
    assert all(near(found, said) for found, said in zip(kept, printed, strict=True))


def simpson(p: float, lam: float, left: float, right: float) -> float:
    """The integral of t^p·e^(lambda·t). In s = sqrt(t) it is smooth enough at 0 for any p that is tried here."""
    low, high, parts = left**0.5, right**0.5, 400
    step = (high - low) / parts
    at = [low + step * i for i in range(parts + 1)]
    values = [2 * s ** (2 * p + 1) * exp(lam * s * s) for s in at]
    weights = [1, *[4, 2] * (parts // 2 - 1), 4, 1]
    return sum(w * v for w, v in zip(weights, values, strict=True)) * step / 3


@given(
    tokens=st.lists(st.integers(1, 1000), min_size=1, max_size=12),
    start=st.fractions(0, Fraction(9, 10), max_denominator=100),
    p=st.fractions(0, 5, max_denominator=50),
    lam=st.fractions(0, 12, max_denominator=50),
)
@settings(max_examples=examples(60), deadline=None)
def test_factors_are_the_means_that_numeric_integration_gives(tokens, start, p, lam):
    wanted = Fraction(sum(tokens), 3)
    curve = fitted(tokens, wanted, start=start, max_factor=None, p=p, lam=lam)
    edges = [Fraction(edge, sum(tokens)) for edge in accumulate(tokens, initial=0)]
    for factor, (left, right) in zip(curve.factors, pairwise(edges), strict=True):
        if right <= start:
            assert factor == 0
            continue
        area = simpson(float(p), float(lam), float(left - curve.begin), float(right - curve.begin))
        mean = float(curve.scale) * area / float(right - left)
        assert float(factor) == pytest.approx(mean, rel=1e-5, abs=1e-9)


pool = st.lists(st.one_of(st.integers(1, 50), st.integers(1, 10**13)), min_size=1, max_size=25)
parts = st.fractions(0, Fraction(99, 100), max_denominator=1000)
own = st.one_of(st.none(), st.fractions(0, 100, max_denominator=1000))


@given(
    tokens=pool, wanted=st.fractions(0, 10**13), start=parts, bound=st.fractions(Fraction(1, 100), 50), p=own, lam=own
)
@settings(max_examples=examples(150), deadline=None)
def test_every_curve_grows_reads_exactly_what_is_wanted_and_keeps_its_bound_where_it_can(
    tokens, wanted, start, bound, p, lam
):
    curve = fitted(tokens, wanted, start=start, max_factor=bound, p=p, lam=lam)
    assert sum(curve.shares) == 1
    assert sum(factor * held for factor, held in zip(curve.factors, tokens, strict=True)) == wanted
    assert all(before <= after for before, after in pairwise(curve.factors))
    dropped = sum(Fraction(edge, sum(tokens)) <= start for edge in accumulate(tokens))
    assert not any(curve.shares[:dropped])
    flattest = fitted(tokens, wanted, start=start, max_factor=None, p=p or Fraction(0), lam=lam or Fraction(0))
    if flattest.factors[-1] <= bound:
        assert curve.factors[-1] <= bound or (p, lam) == (curve.p, curve.lam)
    else:
        assert curve.factors[-1] > bound


@given(tokens=pool, wanted=st.fractions(1, 10**13), start=parts, bound=st.fractions(1, 50))
@settings(max_examples=examples(60), deadline=None)
def test_no_steeper_curve_of_the_search_keeps_to_the_bound(tokens, wanted, start, bound):
    curve = fitted(tokens, wanted, start=start, max_factor=bound)
    if curve.factors[-1] > bound:
        return
    steeper = [one for one in POWERS if one > curve.p][:1]
    for p in steeper:
        assert fitted(tokens, wanted, start=start, max_factor=None, p=p, lam=Fraction(0)).factors[-1] > bound
    if curve.lam < LARGEST_LAMBDA and len(tokens) > 1 and curve.shares[-1] != 1:
        lam = curve.lam + Fraction(1, 10**11)
        assert fitted(tokens, wanted, start=start, max_factor=None, p=curve.p, lam=lam).factors[-1] > bound


def test_a_constant_factor_is_the_last_resort_and_exact():
    curve = fitted([30, 20, 25, 25], Fraction(350), start=Fraction("0.4"), max_factor=Fraction(5))
    assert (curve.p, curve.lam, curve.begin) == (0, 0, Fraction(3, 10))
    assert curve.factors == (0, 5, 5, 5)
    assert curve.scale == 5


def test_a_bucket_that_ends_at_the_start_is_dropped_and_one_that_goes_over_it_is_kept_whole():
    at = fitted([40, 30, 30], Fraction(10), start=Fraction("0.4"), max_factor=BOUND)
    over = fitted([41, 29, 30], Fraction(10), start=Fraction("0.4"), max_factor=BOUND)
    assert (at.begin, at.shares[0]) == (Fraction("0.4"), 0)
    assert over.begin == 0 < over.shares[0]


def test_whole_powers_without_lambda_are_exact():
    curve = fitted([1, 1], Fraction(1), start=Fraction(0), max_factor=None, p=Fraction(2), lam=Fraction(0))
    assert curve.shares == (Fraction(1, 8), Fraction(7, 8))


def test_fifty_digits_are_the_same_on_every_machine():
    curve = fitted([3, 4, 5], Fraction(6), start=Fraction(0), max_factor=None, p=Fraction("1.79"), lam=Fraction("0.5"))
    assert curve.shares[0] == Fraction("0.015789139015683414793671068225414881301359363969347")
    # The quotient of the two integrals as mpmath 1.3 has it with 60 digits.
    assert near(
        curve.shares[0], "0.0157891390156834147936710682254148813013593639693453434971", within=Fraction(1, 10**49)
    )
