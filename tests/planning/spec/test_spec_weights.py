from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from mixture.planning.spec import (
    Groups,
    ReplayGroup,
    Rule,
    ShareMap,
    TableColumn,
    Temperature,
    TokenMap,
    Unimax,
    WhereGroup,
)
from mixture.planning.yamlfile import SpecFileError

TWO_PHASES = """\
mixture: test
catalog: cells.csv
sequence_length: 4096
batch: 8 sequences
budget: 100 steps
phases:
  - phase: pretraining
    share: 80%
    weights: proportional
  - phase: midtraining
    weights:
"""


def test_shares_that_sum_to_one_are_kept_exactly(read_phase):
    shares = read_phase("weights: {web: 0.5, code: 0.4999999904, rare: 9.6e-9}").weights.shares
    assert shares == {"web": Fraction(1, 2), "code": Fraction(4999999904, 10**10), "rare": Fraction(96, 10**10)}


def test_ten_times_a_tenth_is_one(read_phase):
    names = ", ".join(f"d{i}: 0.1" for i in range(10))
    weights = read_phase(f"weights: {{{names}}}").weights
    assert set(weights.shares.values()) == {Fraction(1, 10)}
    assert weights.written_sum == 1


def test_shares_may_be_percentages_or_fractions(read_phase):
    assert read_phase("weights: {a: 30%, b: 0.3, c: 40%}").weights == ShareMap(
        shares={"a": Fraction(3, 10), "b": Fraction(3, 10), "c": Fraction(2, 5)}
    )


def test_shares_within_a_billionth_are_divided_by_their_exact_sum_which_stays_known(read_phase):
    weights = read_phase("weights: {a: 0.333333333, b: 0.333333333, c: 0.333333333}").weights
    assert weights.shares == dict.fromkeys("abc", Fraction(1, 3))
    assert weights.written_sum == Fraction(999_999_999, 10**9)


@pytest.mark.parametrize(
    ("shares", "total"),
    [
        ("{a: 0.5, b: 0.49}", "0.99 (99%)"),
        ("{a: 50%, b: 51%}", "1.01 (101%)"),
        ("{a: 80, b: 20}", "100 (10000%)"),
        ("{a: 0.5, b: 0.499999998999}", "0.999999998999 (99.9999998999%)"),
        ("{a: 0.5, b: 0.500000001001}", "1.000000001001 (100.0000001001%)"),
    ],
)
def test_shares_that_sum_to_something_else_are_refused_with_their_exact_sum(read_phase, shares, total):
    with pytest.raises(SpecFileError) as caught:
        read_phase(f"weights: {shares}")
    assert caught.value.code == "weights-sum"
    assert f"sum to {total}" in str(caught.value)
    assert caught.value.facts["sum"] == Fraction(total.split()[0])


def test_parts_in_whole_numbers_are_refused_with_the_shares_that_they_are(read_phase):
    with pytest.raises(SpecFileError) as caught:
        read_phase("weights: {a: 3, b: 1}")
    assert caught.value.hint.startswith("divide by 4: a: 0.75, b: 0.25;")
    with pytest.raises(SpecFileError) as caught:
        read_phase(f"weights: {{{', '.join(f'd{i}: 1' for i in range(7))}}}")
    shown = "d0: 0.142857142857, d1: 0.142857142857"
    assert caught.value.hint.startswith(f"divide by 7: {shown}")
    assert "and 2 more; an amount of tokens has a unit" in caught.value.hint
    read_phase(f"weights: {{{', '.join(f'd{i}: 0.142857142857' for i in range(7))}}}")


def test_one_explicit_zero_is_legal_and_listed(read_phase):
    assert read_phase("weights: {a: 1, b: 0}").weights.shares == {"a": Fraction(1), "b": Fraction(0)}
    assert read_phase("weights: {a: 4.51T, b: 0}").weights.tokens == {"a": 4_510_000_000_000, "b": 0}


def test_token_amounts_are_kept_as_written(read_phase):
    weights = read_phase("weights: {a: 4.51T, b: 7 tokens, c: 1.5K tokens}").weights
    assert weights == TokenMap(tokens={"a": 4_510_000_000_000, "b": 7, "c": 1500})


@pytest.mark.parametrize(
    ("weights", "code", "path", "found"),
    [
        ("{web: -0.1, code: 1.1}", "negative", "phases[0].weights.web", "'-0.1'"),
        ("{web: .nan, code: 1}", "not-finite", "phases[0].weights.web", "'.nan'"),
        ("{web: .inf}", "not-finite", "phases[0].weights.web", "'.inf'"),
        ('{web: "0.5", code: 0.5}', "quoted-number", "phases[0].weights.web", "'0.5' in quotes"),
        ("{web: true}", "not-a-number", "phases[0].weights.web", "'true'"),
        ("{web: ~}", "not-a-number", "phases[0].weights.web", "'~'"),
        ("{web: , code: 1}", "missing-value", "phases[0].weights.web", "empty"),
        ("{web: [1]}", "not-a-value", "phases[0].weights.web", "a list"),
        ("{web: {code: 1}}", "not-a-value", "phases[0].weights.web", "a mapping"),
        ("{web: 1.5 tokens}", "not-whole", "phases[0].weights.web", "'1.5 tokens'"),
        ("{web: 4 docs}", "unknown-unit", "phases[0].weights.web", "'4 docs'"),
        ("{web: 0, code: 0.0}", "weights-all-zero", "phases[0].weights", "0"),
        ("{web: 0 tokens}", "weights-all-zero", "phases[0].weights", "0"),
        ("{}", "weights-empty", "phases[0].weights", "no domain"),
        ("{web: 0.5, code: 4.51T}", "weights-mixed", "phases[0].weights.code", "'web' is a share, 'code' an amount"),
        ("{web: 4.51T, code: 0.5}", "weights-mixed", "phases[0].weights.code", "'code' is a share, 'web' an amount"),
        ("{web: 0.5, code: 0.3, web: 0.2}", "duplicate-key", "phases[0].weights.web", "'web' stands twice"),
        ("{'': 1}", "missing-value", 'phases[0].weights[""]', "empty"),
        ("unifrom", "unknown-rule", "phases[0].weights", "did you mean 'uniform'?"),
        ("unimax", "unknown-rule", "phases[0].weights", "as in {unimax: {max_epochs: 4}}"),
        ("temperature", "unknown-rule", "phases[0].weights", "as in {temperature: 2}"),
        ("{curve: {by: q}, web: 1}", "rule-not-alone", "phases[0].weights.curve", "as in {curve: {by: quality}}"),
        ("{web: 1, unimax: {max_epochs: 1}}", "rule-not-alone", "phases[0].weights.unimax", "it stands alone"),
        ("{table: cells.csv}", "missing-key", "phases[0].weights", "'column'"),
        ("{table: cells.csv, colum: x}", "unknown-key", "phases[0].weights.colum", "did you mean 'column'?"),
        ("[]", "empty-list", "phases[0].weights", "empty"),
        ("", "missing-value", "phases[0].weights", "empty"),
    ],
)
def test_wrong_weights_are_refused_with_path_and_value(read_phase, weights, code, path, found):
    with pytest.raises(SpecFileError) as caught:
        read_phase(f"weights: {weights}")
    first = caught.value.errors[0]
    assert (first.code, first.place.path) == (code, path)
    assert f"{path}: " in str(first)
    assert found in str(first)


@pytest.mark.parametrize(
    "weights", ["{temperature: -1}", "{unimax: {max_epochs: -4}}", "{curve: {by: q, max_factor: -1}}"]
)
def test_where_zero_is_wrong_too_a_negative_number_is_not_answered_with_it(read_phase, weights):
    with pytest.raises(SpecFileError, match="a number without a minus is right here") as caught:
        read_phase(f"weights: {weights}")
    assert caught.value.errors[0].code == "negative"


def test_a_rule_with_a_parameter_is_a_mapping_of_one_key(read_phase):
    assert read_phase("weights: {temperature: 0.7}").weights == Temperature(temperature=Fraction(7, 10))
    assert read_phase("weights: {temperature: 2}").weights.temperature == 2
    assert read_phase("weights: {unimax: {max_epochs: 4}}").weights == Unimax(max_epochs=Fraction(4))
    assert read_phase("weights: {unimax: {max_epochs: 1.5 epochs}}").weights.max_epochs == Fraction(3, 2)
    group = read_phase("weights: [{where: x, share: 1, within: {temperature: 3}}]").weights.groups[0]
    assert group.within == Temperature(temperature=Fraction(3))


@pytest.mark.parametrize(
    ("weights", "code", "path"),
    [
        ("{temperature: 0}", "out-of-range", "temperature"),
        ("{temperature: -1}", "negative", "temperature"),
        ("{temperature: 70%}", "wrong-unit", "temperature"),
        ("{temperature: warm}", "not-a-number", "temperature"),
        ("{temperature: nan}", "not-finite", "temperature"),
        ("{temperature: [1]}", "not-a-value", "temperature"),
        ("{temperature: {value: 2}}", "not-a-value", "temperature"),
        ("{unimax: 4}", "not-a-mapping", "unimax"),
        ("{unimax: {epochs: 4}}", "unknown-key", "unimax.epochs"),
        ("{unimax: {}}", "missing-key", "unimax"),
        ("{unimax: {max_epochs: 0}}", "out-of-range", "unimax.max_epochs"),
        ("{unimax: {max_epochs: 4 tokens}}", "wrong-unit", "unimax.max_epochs"),
    ],
)
def test_a_wrong_parameter_of_a_rule_is_refused_at_its_place(read_phase, weights, code, path):
    with pytest.raises(SpecFileError) as caught:
        read_phase(f"weights: {weights}")
    assert [(e.code, e.place.path) for e in caught.value.errors] == [(code, f"phases[0].weights.{path}")]


@pytest.mark.parametrize("weight", ["1", "100%", "0.9999999999", "4T"])
def test_a_domain_may_be_called_as_a_rule_elsewhere(read_phase, weight):
    weights = read_phase(f"weights: {{temperature: {weight}}}").weights
    assert list(weights.tokens if isinstance(weights, TokenMap) else weights.shares) == ["temperature"]
    assert read_phase("weights: {temperature: 0.7, unimax: 0.3}").weights.shares["temperature"] == Fraction(7, 10)


def test_a_domain_listed_twice_is_refused_with_both_lines(read_phase):
    with pytest.raises(SpecFileError, match="on line 9 and on line 11") as caught:
        read_phase("weights:\n  web: 0.5\n  code: 0.3\n  'web': 0.2")
    assert [(e.code, e.place.line, e.facts["lines"]) for e in caught.value.errors] == [("duplicate-key", 11, (9, 11))]


def test_the_rules_are_words(read_phase):
    assert read_phase("weights: proportional").weights is Rule.PROPORTIONAL
    assert read_phase("weights: uniform").weights is Rule.UNIFORM


def test_groups_select_and_replay_with_shares(read_text):
    weights = read_text(
        TWO_PHASES
        + """\
      - {where: "cluster = 'c14' and quality >= 3", share: 30%, within: uniform}
      - {replay: pretraining, share: 0.7}
"""
    )
    assert weights.phases[1].weights == Groups(
        groups=(
            WhereGroup(where="cluster = 'c14' and quality >= 3", share=Fraction(3, 10), within=Rule.UNIFORM),
            ReplayGroup(replay="pretraining", share=Fraction(7, 10)),
        )
    )


def test_groups_may_all_be_token_amounts_and_divide_themselves_by_any_rule(read_text):
    groups = (
        read_text(
            TWO_PHASES
            + """\
      - where: >-
          quality >= 3
          and cluster = 'c14'
        tokens: 10B
        within: {a: 25%, b: 75%}
      - {where: quality < 3, tokens: 0, within: {table: w.csv, column: mid}}
      - {where: "true", tokens: 5B tokens, within: {a: 1T, b: 2T}}
      - {replay: pretraining, tokens: 85B}
"""
        )
        .phases[1]
        .weights
    )
    assert [group.tokens for group in groups.groups] == [10 * 10**9, 0, 5 * 10**9, 85 * 10**9]
    assert groups.groups[0].where == "quality >= 3 and cluster = 'c14'"
    assert [group.within for group in groups.groups[:3]] == [
        ShareMap(shares={"a": Fraction(1, 4), "b": Fraction(3, 4)}),
        TableColumn(path=Path("mixes/w.csv"), column="mid"),
        TokenMap(tokens={"a": 10**12, "b": 2 * 10**12}),
    ]
    assert groups.written_sum == 1


def test_shares_of_groups_within_a_billionth_are_divided_by_their_exact_sum(read_text):
    line = "      - {where: x, share: 0.3333333333, within: uniform}\n"
    groups = read_text(TWO_PHASES + 3 * line).phases[1].weights
    assert [group.share for group in groups.groups] == [Fraction(1, 3)] * 3
    assert groups.written_sum == Fraction(9_999_999_999, 10**10)


@pytest.mark.parametrize(
    ("groups", "code", "path"),
    [
        ("[{where: x, share: 1}]", "missing-key", "[0]"),
        ("[{where: x, within: uniform}]", "missing-key", "[0]"),
        ("[{share: 1, within: uniform}]", "missing-key", "[0]"),
        ("[{where: x, share: 1, tokens: 1T, within: uniform}]", "key-conflict", "[0].tokens"),
        ("[{where: x, replay: pretraining, share: 1}]", "unknown-key", "[0].where"),
        ("[{replay: pretraining, share: 1, within: uniform}]", "unknown-key", "[0].within"),
        ("[{where: x, share: 1, within: [{where: y, share: 1, within: uniform}]}]", "nested-groups", "[0].within"),
        ("[{where: x, share: 1, within: {}}]", "weights-empty", "[0].within"),
        ("[{where: x, share: 1, within: {a: 0.9}}]", "weights-sum", "[0].within"),
        ("[{where: '', share: 1, within: uniform}]", "missing-value", "[0].where"),
        ('[{where: "a\\0b", share: 1, within: uniform}]', "control-character", "[0].where"),
        ("[{where: x, share: 0.5, within: uniform}, {replay: pretraining, share: 0.4}]", "weights-sum", ""),
        ("[{where: x, share: 0.5, within: uniform}, {replay: pretraining, tokens: 4B}]", "weights-mixed", "[1]"),
        ("[{where: x, share: 0, within: uniform}]", "weights-all-zero", ""),
        ("[{where: x, share: -1, within: uniform}]", "negative", "[0].share"),
        ("[{where: x, share: 1 docs, within: uniform}]", "unknown-unit", "[0].share"),
        ("[{replay: pretrainin, share: 1}]", "unknown-phase", "[0].replay"),
        ("[{replay: midtraining, share: 1}]", "unknown-phase", "[0].replay"),
        ("[uniform]", "not-a-mapping", "[0]"),
    ],
)
def test_wrong_groups_are_refused_with_their_path(read_text, groups, code, path):
    with pytest.raises(SpecFileError) as caught:
        read_text(TWO_PHASES.rstrip() + f" {groups}\n")
    assert [(error.code, error.place.path) for error in caught.value.errors] == [(code, f"phases[1].weights{path}")]


def test_a_replay_of_an_unknown_phase_names_the_nearest_one(read_text):
    with pytest.raises(SpecFileError, match=r"'pretrainin' is not an earlier phase \(did you mean 'pretraining'\?\)"):
        read_text(TWO_PHASES + "      - {replay: pretrainin, share: 1}\n")


def test_five_thousand_domains_are_read_and_an_error_names_the_one(read_phase):
    lines = [f"  d{i}: 0.0002" for i in range(5000)]
    assert len(read_phase("\n".join(["weights:", *lines])).weights.shares) == 5000
    lines[3210] = "  d3210: 0.000Z"
    with pytest.raises(SpecFileError) as caught:
        read_phase("\n".join(["weights:", *lines]))
    assert [(e.place.line, e.place.path) for e in caught.value.errors] == [(9 + 3210, "phases[0].weights.d3210")]
