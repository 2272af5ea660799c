"""Temperature: shares in proportion to tokens^(1/T)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixture.errors import SpecError
from mixture.planning.plan import check_lock, make_lock, make_plan
from mixture.planning.plan.weights.temperature import softened
from mixture.planning.spec import FindingCode

CELLS = "domain,cluster,tokens\nbooks,b,100000\ncode,a,400000\nnone,b,0\nweb,a,900000\n"


def shares(plan, phase=0):
    return {d.name: s for d, s in zip(plan.domains, plan.phases[phase].shares, strict=True)}


def notes(plan):
    return [finding for finding in plan.findings if finding.code is FindingCode.TEMPERATURE_SHARPENS]


def test_temperature_two_is_the_square_root(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {temperature: 2}}", catalog=CELLS))
    exact = {"books": Fraction(1, 6), "code": Fraction(2, 6), "none": Fraction(0), "web": Fraction(3, 6)}
    for name, share in shares(plan).items():
        assert abs(share - exact[name]) < Fraction(1, 10**45)
    assert sum(shares(plan).values()) == 1
    assert not notes(plan)


def test_temperature_one_is_proportional_to_the_last_digit(write_spec):
    assert softened([100, 300, 0], Fraction(1)) == [Fraction(1, 3), 1, 0]
    near = make_plan(write_spec("{phase: p, weights: {temperature: 1.00000001}}", catalog=CELLS))
    by_tokens = make_plan(write_spec("{phase: p, weights: proportional}", catalog=CELLS))
    assert near.data.segments != by_tokens.data.segments
    pairs = zip(shares(near).values(), shares(by_tokens).values(), strict=True)
    assert all(abs(a - b) < Fraction(1, 10**7) for a, b in pairs)


def test_below_one_it_sharpens_and_a_note_says_which_exponent_it_is(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {temperature: 0.7}}", catalog=CELLS))
    assert shares(plan)["web"] > Fraction(9, 14)
    (note,) = notes(plan)
    assert (note.level.value, note.place.path) == ("note", "phases[0].weights.temperature")
    assert "temperature 0.7 in phase 'p' is tokens to the power of 1.42857" in note.message
    assert "where the exponent 0.7 is meant, the temperature is 1.42857" in note.hint
    assert note.facts["exponent"] == Fraction(10, 7)


def test_the_note_names_the_group_that_has_the_rule(write_spec):
    groups = (
        "[{where: \"cluster = 'a'\", share: 60%, within: {temperature: 0.5}},"
        " {where: \"cluster = 'b'\", share: 40%, within: uniform}]"
    )
    plan = make_plan(write_spec(f"{{phase: p, weights: {groups}}}", catalog=CELLS, accept="[domain-empty]"))
    assert [note.place.path for note in notes(plan)] == ["phases[0].weights[0].within.temperature"]
    # 4^2 to 9^2
    assert abs(shares(plan)["code"] - Fraction(6, 10) * Fraction(16, 97)) < Fraction(1, 10**40)


def test_figures_that_others_publish_come_out(write_spec):
    # mT5 (Xue et al. 2021) samples by n^0.3: T = 1/0.3. 10^6 and 10^3 are then 10^1.8 to 10^0.9.
    got = softened([10**6, 10**3], Fraction(10, 3))
    assert abs(got[1] - Fraction("0.12589254117941672104239541063958006060936174094669")) < Fraction(1, 10**48)


@given(
    st.lists(st.integers(0, 10**14), min_size=1, max_size=8),
    st.fractions(Fraction(1, 10**6), 10**6).filter(lambda t: t > 0),
)
def test_more_tokens_have_no_less_and_a_domain_of_none_has_none(tokens, temperature):
    got = softened(tokens, temperature)
    for a, x in zip(tokens, got, strict=True):
        assert 0 <= x <= 1
        assert x == 0 if a == 0 else True
        assert all(x <= y for b, y in zip(tokens, got, strict=True) if a <= b)
    if any(tokens):
        assert got[tokens.index(max(tokens))] == 1


@given(st.lists(st.integers(1, 10**14), min_size=2, max_size=6), st.integers(2, 9))
def test_a_whole_exponent_is_that_power(tokens, power):
    whole = max(tokens)
    got = softened(tokens, Fraction(1, power))
    for n, x in zip(tokens, got, strict=True):
        exact = Fraction(n, whole) ** power
        assert abs(x - exact) <= exact / 10**46


def test_the_order_of_rows_does_not_matter(write_spec):
    rows = CELLS.strip().splitlines()
    turned = "\n".join([rows[0], *reversed(rows[1:])]) + "\n"
    plans = [make_plan(write_spec("{phase: p, weights: {temperature: 3}}", catalog=one)) for one in (CELLS, turned)]
    assert plans[0].data == plans[1].data
    assert plans[0].phases == plans[1].phases


def test_an_extreme_temperature_is_uniform_or_the_largest_alone(write_spec):
    hot = make_plan(write_spec("{phase: p, weights: {temperature: 1e30}}", catalog=CELLS))
    assert hot.data.segments[0].weights == (333333333333333, 333333333333333, 0, 333333333333334)
    cold = make_plan(write_spec("{phase: p, weights: {temperature: 1e-30}}", catalog=CELLS))
    assert cold.data.segments[0].weights == (0, 0, 0, 10**15)


def test_a_catalog_without_tokens_is_refused(write_spec):
    with pytest.raises(SpecError, match="all weights are 0"):
        make_plan(write_spec("{phase: p, weights: {temperature: 2}}", catalog="domain,tokens\na,0\nb,0\n"))


def test_one_is_a_domain_of_that_name_and_the_error_says_what_the_rule_is(write_spec):
    with pytest.raises(SpecError, match="unknown domain 'temperature'") as caught:
        make_plan(write_spec("{phase: p, weights: {temperature: 1}}", catalog=CELLS))
    assert "`proportional`" in caught.value.hint
    named = make_plan(
        write_spec("{phase: p, weights: {temperature: 1}}", catalog="domain,tokens\na,9999\ntemperature,9999\n")
    )
    assert shares(named) == {"a": 0, "temperature": 1}


def test_another_temperature_is_another_lock(write_spec):
    spec = write_spec("{phase: p, weights: {temperature: 2}}", catalog=CELLS)
    lock = make_lock(make_plan(spec))
    check_lock(lock, spec)
    with pytest.raises(Exception, match="the weight of 'books' in phase 'p'") as caught:
        check_lock(lock, write_spec("{phase: p, weights: {temperature: 2.1}}", catalog=CELLS))
    assert caught.value.code == "spec-changed"
    same = write_spec("{phase: p, weights: {temperature: 2.1}}", catalog="domain,tokens\na,9999\n")
    alone = make_lock(make_plan(same))
    with pytest.raises(Exception, match="says something else") as caught:
        check_lock(alone, write_spec("{phase: p, weights: {temperature: 2.2}}", catalog="domain,tokens\na,9999\n"))
    assert caught.value.code == "spec-changed"
