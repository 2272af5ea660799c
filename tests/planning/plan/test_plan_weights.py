"""Weights: every rule gives exact shares, and says what it divided."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.errors import CatalogError, SpecError
from mixture.planning.plan import make_plan
from mixture.planning.plan.weights.weights import MOST_DIGITS
from mixture.planning.spec import FindingCode
from mixture.schedule import WHOLE

CELLS = """domain,cluster,quality,tokens,initial,amounts
a0,a,0,100000,0.1,1000
a1,a,1,300000,0.2,3000
b0,b,0,200000,0.3,0
b1,b,1,400000,0.4,4000
"""


def shares(plan, phase=0):
    return {d.name: s for d, s in zip(plan.domains, plan.phases[phase].shares, strict=True)}


def scaled(plan):
    return [finding for finding in plan.findings if finding.code is FindingCode.WEIGHTS_SCALED]


def refused(spec):
    with pytest.raises(SpecError) as caught:
        make_plan(spec)
    return caught.value


def test_a_map_gives_its_shares_in_the_catalogs_order(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {b1: 0.75, a0: 25%}}", catalog=CELLS))
    assert shares(plan) == {"a0": Fraction(1, 4), "a1": 0, "b0": 0, "b1": Fraction(3, 4)}
    assert plan.data.segments[0].weights == (WHOLE // 4, 0, 0, 3 * WHOLE // 4)
    assert not scaled(plan)


def test_thirds_become_integers_by_largest_remainder_ties_to_the_earlier(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog="domain,tokens\nx,99\ny,99\nz,99\n"))
    assert shares(plan) == {"x": Fraction(1, 3), "y": Fraction(1, 3), "z": Fraction(1, 3)}
    assert plan.data.segments[0].weights == (WHOLE // 3 + 1, WHOLE // 3, WHOLE // 3)


def test_shares_that_sum_to_nearly_one_are_divided_by_their_sum_and_that_is_said(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {a0: 0.5, a1: 0.4999999999}}", catalog=CELLS))
    total = Fraction("0.9999999999")
    assert shares(plan)["a0"] == Fraction(1, 2) / total
    (note,) = scaled(plan)
    assert note.facts["sum"] == total
    assert "0.9999999999" in note.message


def test_token_amounts_are_scaled_to_the_phase_and_the_scale_is_said(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {a0: 9.6K, b1: 0.4K tokens}}", catalog=CELLS))
    assert shares(plan) == {"a0": Fraction(24, 25), "a1": 0, "b0": 0, "b1": Fraction(1, 25)}
    (note,) = scaled(plan)
    assert note.facts == {"phase": "p", "sum": 10_000, "tokens": 12_800, "scale": Fraction(128, 100)}
    assert "1.28" in note.message


def test_token_amounts_that_are_the_phase_need_no_scale(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {a0: 9.6K, b1: 3200 tokens}}", catalog=CELLS))
    assert shares(plan) == {"a0": Fraction(3, 4), "a1": 0, "b0": 0, "b1": Fraction(1, 4)}
    assert not scaled(plan)


def test_proportional_weighs_by_tokens(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: proportional}", catalog=CELLS))
    assert shares(plan) == {"a0": Fraction(1, 10), "a1": Fraction(3, 10), "b0": Fraction(2, 10), "b1": Fraction(4, 10)}


def test_a_column_of_shares_is_read_exactly(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {table: catalog.csv, column: initial}}", catalog=CELLS))
    assert shares(plan) == {"a0": Fraction(1, 10), "a1": Fraction(2, 10), "b0": Fraction(3, 10), "b1": Fraction(4, 10)}
    assert not scaled(plan)


def test_a_column_of_whole_numbers_is_token_amounts(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {table: catalog.csv, column: amounts}}", catalog=CELLS))
    assert shares(plan) == {"a0": Fraction(1, 8), "a1": Fraction(3, 8), "b0": 0, "b1": Fraction(4, 8)}
    (note,) = scaled(plan)
    assert (note.facts["sum"], note.facts["tokens"], note.facts["scale"]) == (8_000, 12_800, Fraction(8, 5))


def test_a_column_that_sums_to_something_else_is_refused_with_the_sum(write_spec, tmp_path):
    (tmp_path / "mix.csv").write_text("domain,share\na0,0.5\nb0,0.49\n")
    error = refused(write_spec("{phase: p, weights: {table: mix.csv, column: share}}", catalog=CELLS))
    assert error.code == "weights-sum"
    assert error.facts["sum"] == Fraction("0.99")
    assert "0.99" in error.message
    assert error.place.path == "phases[0].weights.column"


def test_a_column_of_zeros_is_refused(write_spec, tmp_path):
    (tmp_path / "mix.csv").write_text("domain,share\na0,0\nb0,0\n")
    error = refused(write_spec("{phase: p, weights: {table: mix.csv, column: share}}", catalog=CELLS))
    assert error.code == "weights-all-zero"


def test_an_unknown_domain_is_named_with_its_place_and_the_nearest_name(write_spec):
    catalog = "domain,tokens\n" + "".join(f"cluster{i:04d},1000\n" for i in range(5_000))
    weights = ", ".join(f"cluster{i:04d}: 0.0002" for i in range(4_999))
    spec = write_spec(f"{{phase: p, weights: {{{weights}, clutser4999: 0.0002}}}}", catalog=catalog)
    error = refused(spec)
    assert error.code == "unknown-domain"
    assert error.facts["domain"] == "clutser4999"
    assert error.hint == "did you mean 'cluster4999'?"
    assert error.place.line == 7
    assert error.place.column > 90_000


def test_an_unknown_domain_in_a_column_is_refused(write_spec, tmp_path):
    (tmp_path / "mix.csv").write_text("domain,share\na0,0.5\nb2,0.5\n")
    error = refused(write_spec("{phase: p, weights: {table: mix.csv, column: share}}", catalog=CELLS))
    assert (error.code, error.facts["domain"]) == ("unknown-domain", "b2")


def test_groups_divide_their_share_by_their_own_rule(write_spec):
    plan = make_plan(
        write_spec(
            "{phase: p, weights: [{where: \"cluster = 'a'\", share: 60%, within: proportional},"
            " {where: \"cluster = 'b'\", share: 0.4, within: {b0: 0.75, b1: 0.25}}]}",
            catalog=CELLS,
        )
    )
    assert shares(plan) == {
        "a0": Fraction(15, 100),
        "a1": Fraction(45, 100),
        "b0": Fraction(3, 10),
        "b1": Fraction(1, 10),
    }


def test_groups_in_tokens_are_scaled_together(write_spec):
    plan = make_plan(
        write_spec(
            "{phase: p, weights: [{where: quality = 0, tokens: 3B, within: uniform},"
            " {where: quality = 1, tokens: 1B, within: uniform}]}",
            catalog=CELLS,
        )
    )
    assert shares(plan) == {"a0": Fraction(3, 8), "a1": Fraction(1, 8), "b0": Fraction(3, 8), "b1": Fraction(1, 8)}
    (note,) = scaled(plan)
    assert (note.facts["sum"], note.facts["scale"]) == (4 * 10**9, Fraction(12_800, 4 * 10**9))


def test_a_column_within_a_group_counts_among_its_members(write_spec):
    plan = make_plan(
        write_spec(
            "{phase: p, weights: [{where: \"cluster = 'a'\", share: 60%,"
            " within: {table: catalog.csv, column: initial}},"
            " {where: \"cluster = 'b'\", share: 40%, within: uniform}]}",
            catalog=CELLS,
        )
    )
    assert shares(plan) == {"a0": Fraction(2, 10), "a1": Fraction(4, 10), "b0": Fraction(2, 10), "b1": Fraction(2, 10)}
    (note,) = scaled(plan)
    assert note.facts["sum"] == Fraction(3, 10)


def test_groups_that_share_a_domain_are_refused_by_its_name(write_spec):
    error = refused(
        write_spec(
            "{phase: p, weights: [{where: \"cluster = 'a'\", share: 60%, within: uniform},"
            " {where: quality = 1, share: 40%, within: uniform}]}",
            catalog=CELLS,
        )
    )
    assert (error.code, error.facts["domain"]) == ("groups-overlap", "a1")
    assert error.place.path == "phases[0].weights[1].where"


def test_a_condition_that_selects_nothing_is_refused_with_the_condition(write_spec):
    error = refused(write_spec("{phase: p, weights: [{where: quality > 7, share: 1, within: uniform}]}", catalog=CELLS))
    assert error.code == "where-selects-nothing"
    assert "quality > 7" in error.message


def test_a_condition_on_a_column_that_is_not_there_is_an_error_at_its_place(write_spec):
    spec = write_spec("{phase: p, weights: [{where: qualty > 7, share: 1, within: uniform}]}", catalog=CELLS)
    with pytest.raises(CatalogError) as caught:
        make_plan(spec)
    assert caught.value.place.line == 7


def test_a_map_within_a_group_may_not_name_others(write_spec):
    error = refused(
        write_spec(
            "{phase: p, weights: [{where: \"cluster = 'a'\", share: 1, within: {a0: 0.5, b0: 0.5}}]}", catalog=CELLS
        )
    )
    assert (error.code, error.facts["domain"]) == ("domain-outside-group", "b0")


def test_a_replayed_phase_and_new_weights_add_up_where_a_domain_is_in_both(write_spec):
    plan = make_plan(
        write_spec(
            "{phase: pretraining, share: 80%, weights: {a0: 0.5, a1: 0.5}}",
            "{phase: midtraining, weights: [{replay: pretraining, share: 70%},"
            " {where: quality = 1, share: 30%, within: uniform}]}",
            catalog=CELLS,
        )
    )
    assert shares(plan, 1) == {"a0": Fraction(35, 100), "a1": Fraction(50, 100), "b0": 0, "b1": Fraction(15, 100)}
    a1 = [d.name for d in plan.domains].index("a1")
    first = plan.schedule.positions_before(80)
    rows = plan.schedule.rows(0, plan.sequences)
    draws = rows.draw[rows.domain == a1].tolist()
    assert sorted(draws) == list(range(len(draws)))
    assert rows.draw[first:][rows.domain[first:] == a1].min() == plan.phases[0].sequences[a1]


def test_replays_of_replays_stay_exact_up_to_a_bound_on_digits_which_the_refusal_says(write_spec):
    share, rest = "0.123456789012345678901234567891", "0.876543210987654321098765432109"

    def phases(count):
        yield "{phase: p0, steps: 1, weights: {web: 0.25, code: 0.75}}"
        for i in range(1, count):
            groups = (
                f"{{replay: p{i - 1}, share: {share}}}, {{where: \"domain = 'web'\", share: {rest}, within: uniform}}"
            )
            yield f"{{phase: p{i}, steps: 1, weights: [{groups}]}}"

    plan = make_plan(write_spec(*phases(16), budget="16 steps"))
    code = Fraction(3, 4)
    for phase in range(16):
        assert shares(plan, phase) == {"code": code, "web": 1 - code}
        code *= Fraction(share)
    error = refused(write_spec(*phases(400), budget="400 steps"))
    assert (error.code, error.place.path) == ("share-too-long", "phases[17].weights")
    assert f"has {error.facts['digits']} digits, of at most 500" in error.message
    assert error.facts["digits"] > error.facts["most"] == MOST_DIGITS


def test_held_out_domains_are_weighed_by_no_rule_and_are_not_in_the_plan(write_spec):
    catalog = CELLS + "a1@validation,a,1,50000,0,0\n"
    for weights in ("proportional", "uniform", "{table: catalog.csv, column: initial}"):
        plan = make_plan(write_spec(f"{{phase: p, weights: {weights}}}", catalog=catalog))
        assert [d.name for d in plan.domains] == ["a0", "a1", "b0", "b1"]
        assert [d.name for d in plan.data.domains] == ["a0", "a1", "b0", "b1"]


def test_a_column_that_weighs_a_held_out_domain_is_refused(write_spec):
    catalog = CELLS.replace("b1,b,1,400000,0.4", "b1,b,1,400000,0.3") + "a1@validation,a,1,50000,0.1,0\n"
    error = refused(write_spec("{phase: p, weights: {table: catalog.csv, column: initial}}", catalog=catalog))
    assert (error.code, error.facts["domain"]) == ("held-out-weighed", "a1@validation")


def test_proportional_weights_of_nothing_are_refused(write_spec):
    error = refused(write_spec("{phase: p, weights: proportional}", catalog="domain,tokens\na,0\nb,0\n"))
    assert error.code == "weights-all-zero"
