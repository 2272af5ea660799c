"""The rule `curve` in a spec: buckets of a catalog, what the phase reads of them, findings and refusals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.errors import SpecError
from mixture.planning.ladder import make_ladder, parse_rung
from mixture.planning.plan import Plan, make_plan
from mixture.planning.spec import FindingCode

LEVELS = "\n".join(
    ["domain,tokens,quality,grade,mixed,odd"]
    + [f"d{i},100000,{i},level_{i:02},{'ab'[i % 2]}_{i},{i / 10}" for i in range(1, 11)]
)


def shares(plan: Plan, phase: int = 0) -> dict[str, Fraction]:
    return dict(zip((domain.name for domain in plan.domains), plan.phases[phase].shares, strict=True))


def factors(plan: Plan) -> dict[str, Fraction]:
    tokens = plan.phases[0].laid.tokens
    return {name: share * tokens / 100_000 for name, share in shares(plan).items()}


def curve_notes(plan: Plan):
    return [finding for finding in plan.findings if finding.code is FindingCode.CURVE_FITTED]


# 6,250 steps of 128 tokens: 800,000 of the million that the ten domains hold.
STEPS = {"budget": "6250 steps"}


def test_better_buckets_are_read_more_often_and_the_worst_two_fifths_not_at_all(write_spec):
    plan = make_plan(write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog=LEVELS, **STEPS))
    read = [factors(plan)[f"d{i}"] for i in range(1, 11)]
    assert read[:4] == [0, 0, 0, 0]
    assert 0 < read[4] < read[5] < read[6] < read[7] < read[8] < read[9] <= 7
    assert sum(shares(plan).values()) == 1


def test_a_curve_is_said_with_its_parameters_and_what_it_leaves_out(write_spec):
    plan = make_plan(write_spec("{phase: all, weights: {curve: {by: grade}}}", catalog=LEVELS, **STEPS))
    (note,) = curve_notes(plan)
    assert note.place.path == "phases[0].weights.curve"
    (said,) = note.facts["curves"]
    assert said["dropped"] == ["level_01", "level_02", "level_03", "level_04"]
    assert said["tokens_dropped"] == 400_000
    assert said["factor"] == factors(plan)["d10"]
    assert "the worst 4 of 10 buckets, up to 'level_04', are not read: 400,000 tokens" in note.message
    zero = next(finding for finding in plan.findings if finding.code is FindingCode.DOMAIN_UNUSED)
    assert zero.facts["domains"] == ["d1", "d2", "d3", "d4"]


@pytest.mark.parametrize("by", ["quality", "grade", "odd"])
def test_whole_numbers_decimals_and_texts_that_end_in_a_number_order_alike(write_spec, by):
    spec = write_spec(f"{{phase: all, weights: {{curve: {{by: {by}}}}}}}", catalog=LEVELS, **STEPS)
    other = write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog=LEVELS, **STEPS)
    assert shares(make_plan(spec)) == shares(make_plan(other))


def test_domains_of_one_value_are_one_bucket_in_proportion_to_their_tokens(write_spec):
    catalog = "domain,tokens,quality\nlow,200000,1\nhigh-a,100000,2\nhigh-b,300000,2\nempty,0,2\n"
    got = shares(make_plan(write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog=catalog)))
    assert got["high-b"] == 3 * got["high-a"]
    assert (got["low"], got["empty"]) == (0, 0)


def test_the_order_of_rows_does_not_matter(write_spec):
    head, *rows = LEVELS.splitlines()
    phase = "{phase: all, weights: {curve: {by: grade}}}"
    plan = make_plan(write_spec(phase, catalog=LEVELS, **STEPS))
    turned = make_plan(write_spec(phase, catalog="\n".join([head, *reversed(rows)]), **STEPS))
    assert shares(turned) == shares(plan)
    assert turned.data == plan.data


def test_a_group_s_curve_gives_its_share_and_keeps_to_the_bound_of_its_own_tokens(write_spec):
    weights = (
        "[{where: quality <= 5, share: 10%, within: {curve: {by: quality, max_factor: 0.3, from: 0}}},"
        " {where: quality > 5, share: 90%, within: {curve: {by: quality, max_factor: 2, from: 20%}}}]"
    )
    plan = make_plan(write_spec(f"{{phase: all, weights: {weights}}}", catalog=LEVELS, **STEPS))
    got = shares(plan)
    assert sum(got[f"d{i}"] for i in range(1, 6)) == Fraction(1, 10)
    read = [factors(plan)[f"d{i}"] for i in range(1, 11)]
    assert Fraction(29, 100) < read[4] <= Fraction(3, 10)
    assert (read[5], read[9] <= 2) == (0, True)
    assert read[9] > Fraction(199, 100)
    (note,) = curve_notes(plan)
    assert "2 curves over 'quality' in phase 'all' read their best buckets 0.3 to 2 times" in note.message
    assert [said["path"] for said in note.facts["curves"]] == [f"phases[0].weights[{j}].within.curve" for j in (0, 1)]


def test_given_parameters_are_used_as_they_are_and_without_a_bound(write_spec):
    weights = "{curve: {by: quality, p: 1, lambda: 0, from: 0}}"
    plan = make_plan(write_spec(f"{{phase: all, weights: {weights}}}", catalog=LEVELS, budget="62500 steps"))
    assert [shares(plan)[f"d{i}"] for i in range(1, 11)] == [Fraction(2 * i - 1, 100) for i in range(1, 11)]
    assert factors(plan)["d10"] == Fraction(152, 10)


def test_a_smaller_run_of_a_ladder_has_the_curve_of_the_full_run(write_spec):
    weights = "{curve: {by: quality, max_factor: 2}}"
    spec = write_spec(f"{{phase: all, weights: {weights}}}", catalog=LEVELS, **STEPS)
    (rung,) = make_ladder(spec, [parse_rung("80K")])
    full, small = shares(make_plan(spec)), shares(rung.plan)
    assert all(abs(small[name] - share) < Fraction(1, 10**14) for name, share in full.items())
    alone = write_spec(f"{{phase: all, weights: {weights}}}", catalog=LEVELS, budget="625 steps")
    assert shares(make_plan(alone))["d10"] > full["d10"] + Fraction(1, 100)


def test_two_phases_have_curves_of_their_own_tokens(write_spec):
    phase = "weights: {curve: {by: quality, max_factor: 2}}"
    plan = make_plan(
        write_spec(f"{{phase: short, share: 10%, {phase}}}", f"{{phase: long, {phase}}}", catalog=LEVELS, **STEPS)
    )
    assert shares(plan, 0)["d10"] > shares(plan, 1)["d10"]
    assert shares(plan, 1)["d10"] * plan.phases[1].laid.tokens <= 200_000


@pytest.mark.parametrize(
    ("curve", "code", "path", "message"),
    [
        ("{by: qualty}", "unknown-column", "by", "did you mean 'quality'"),
        ("{by: mixed}", "curve-unordered", "by", "where others are"),
        (
            "{by: quality, max_factor: 1}",
            "curve-over-max",
            "max_factor",
            "800,000 tokens are to be read of the 600,000",
        ),
        (
            "{by: quality, p: 9, lambda: 0, max_factor: 6}",
            "curve-over-max",
            "max_factor",
            r"p = 9, lambda = 0 reads bucket '10', 'd10', 6.7.* times, max_factor is 6",
        ),
    ],
)
def test_what_can_not_be_drawn_so_is_refused_with_its_figures(write_spec, curve, code, path, message):
    spec = write_spec(f"{{phase: all, weights: {{curve: {curve}}}}}", catalog=LEVELS, **STEPS)
    with pytest.raises(SpecError, match=message) as caught:
        make_plan(spec)
    assert (caught.value.code, caught.value.place.path) == (code, f"phases[0].weights.curve.{path}")
    assert caught.value.place.line is not None


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["v1.5", "v1.25"], "'v1.5'"),
        (["low", "high"], "'low'"),
        (["q1", ""], "no value"),
        (["1", "q2"], "'q2'"),
        (["1", "", "3"], "no value"),
        (["0.5", "0.25", "", "1"], "no value"),
        (["q1", "7"], "'7'"),
        (["true", "false"], "'true'"),
    ],
)
def test_values_without_a_known_order_are_refused_and_named(write_spec, values, found):
    catalog = "domain,tokens,quality\n" + "".join(f"d{i},100000,{value}\n" for i, value in enumerate(values))
    with pytest.raises(SpecError, match=f"has {found} for domain") as caught:
        make_plan(write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog=catalog))
    assert caught.value.code == "curve-unordered"


def test_a_blank_is_named_by_its_domain_whatever_the_other_values_are(write_spec):
    for values in (["1", "", "3"], ["level_1", "", "level_3"]):
        catalog = "domain,tokens,quality\n" + "".join(f"d{i},100000,{value}\n" for i, value in enumerate(values))
        with pytest.raises(SpecError, match="has no value for domain 'd1'"):
            make_plan(write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog=catalog))


@pytest.mark.parametrize(
    ("by", "values"),
    [
        ("cluster", [f"c{n:02}" for n in range(40)]),
        ("cluster", [str(n) for n in range(40)]),
        ("cluster_id", ["0.5", "1.5"]),
        ("part", ["c01", "c02"]),
        ("part", ["topic 1", "topic 2"]),
        ("Topic", ["0", "1"]),
        ("k2", ["0", "1"]),
        ("cluster", ["0", "", "2"]),
        ("edu_class", ["part_0", "part_1"]),
    ],
)
def test_labels_are_no_order(write_spec, by, values):
    rows = "".join(f"d{i},100000,{value}\n" for i, value in enumerate(values))
    with pytest.raises(SpecError, match=f"column '{by}' has labels") as caught:
        make_plan(
            write_spec(f"{{phase: all, weights: {{curve: {{by: {by}}}}}}}", catalog=f"domain,tokens,{by}\n{rows}")
        )
    assert caught.value.code == "curve-unordered"


@pytest.mark.parametrize("by", ["c4_quality", "edu_class", "source_score", "2024"])
def test_numbers_are_grades_unless_the_whole_name_is_of_labels(write_spec, by):
    catalog = f"domain,tokens,{by}\nlow,100000,0\nmiddle,100000,1\nhigh,100000,2\n"
    spec = write_spec(f"{{phase: all, weights: {{curve: {{by: '{by}'}}}}}}", catalog=catalog)
    got = shares(make_plan(spec))
    assert got["low"] < got["middle"] < got["high"]


def test_a_blank_in_a_column_of_numbers_is_named_whatever_words_the_column_s_name_has(write_spec):
    spec = write_spec(
        "{phase: all, weights: {curve: {by: edu_class}}}", catalog="domain,tokens,edu_class\na,100000,1\nb,100000,\n"
    )
    with pytest.raises(SpecError, match="column 'edu_class' has no value for domain 'b'"):
        make_plan(spec)


@pytest.mark.parametrize("by", ["tokens", "domain", "max_epochs"])
def test_the_catalog_s_own_columns_are_no_grades_and_not_called_labels(write_spec, by):
    catalog = "domain,tokens,max_epochs\n1,100000,1\n2,100000,2\n"
    with pytest.raises(SpecError, match=rf"column '{by}' is one of the catalog's own \(domain, tokens, ") as caught:
        make_plan(write_spec(f"{{phase: all, weights: {{curve: {{by: {by}}}}}}}", catalog=catalog))
    assert caught.value.code == "curve-unordered"
    assert "labels" not in str(caught.value)


def test_numbers_with_exponents_are_in_order_of_their_values(write_spec):
    for values in (["1e-06", "1e-05", "0.5"], ["1e-06", "1e-05", "1e-04"]):
        rows = "".join(f"d{i},100000,{value}\n" for i, value in enumerate(values))
        spec = write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog="domain,tokens,quality\n" + rows)
        got = shares(make_plan(spec))
        assert got["d0"] < got["d1"] < got["d2"]
    rows = "a,100000,1e-1005\nb,100000,1e-1006\n"
    with pytest.raises(SpecError, match="has '1e-1005' for domain 'a'"):
        make_plan(write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog="domain,tokens,quality\n" + rows))


@pytest.mark.parametrize("value", ["7" * 5000, "v" + "7" * 5000, "v_" + "7" * 81, "0." + "7" * 5000])
def test_a_quality_of_more_digits_than_a_number_may_have_has_no_order(write_spec, value):
    catalog = f"domain,tokens,quality\na,100000,{value}\nb,100000,2\n"
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog=catalog))
    assert caught.value.code == "curve-unordered"
    assert len(str(caught.value)) < 500


def test_a_pool_without_tokens_has_nothing_to_divide(write_spec):
    with pytest.raises(SpecError, match="its domains have no tokens") as caught:
        make_plan(
            write_spec("{phase: all, weights: {curve: {by: quality}}}", catalog="domain,tokens,quality\na,0,1\nb,0,2\n")
        )
    assert caught.value.code == "weights-all-zero"
