"""The rule `curve` as a spec has it: its defaults, its numbers, and what is wrong there."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.planning.spec import QualityCurve, ShareMap
from mixture.planning.yamlfile import SpecFileError

SPEC = """\
mixture: test
catalog: cells.csv
sequence_length: 16
batch: 8 sequences
budget: 100 steps
phases:
  - phase: all
    weights: """


def weights(read_text, text: str):
    return read_text(f"{SPEC}{text}\n").phases[0].weights


def test_a_column_is_enough_and_olmo_3_s_bounds_are_the_defaults(read_text):
    assert weights(read_text, "{curve: {by: quality}}") == QualityCurve(
        by="quality", max_factor=Fraction(7), start=Fraction(2, 5)
    )


def test_numbers_are_exact_and_from_is_a_share(read_text):
    rule = weights(read_text, "{curve: {by: vigintile, max_factor: 3.5, from: 12.5%, p: 0.1, lambda: 0}}")
    assert rule == QualityCurve(
        by="vigintile", max_factor=Fraction(7, 2), start=Fraction(1, 8), p=Fraction(1, 10), lam=Fraction(0)
    )


def test_only_a_curve_that_is_given_whole_is_without_a_bound(read_text):
    assert weights(read_text, "{curve: {by: q, p: 2, lambda: 1}}").max_factor is None
    assert weights(read_text, "{curve: {by: q, p: 2}}").max_factor == 7
    assert weights(read_text, "{curve: {by: q, lambda: 2}}").max_factor == 7


def test_a_curve_stands_within_a_group(read_text):
    text = "[{where: a = 1, share: 100%, within: {curve: {by: q}}}]"
    assert isinstance(weights(read_text, text).groups[0].within, QualityCurve)


def test_a_domain_may_still_be_called_curve(read_text):
    assert weights(read_text, "{curve: 100%}") == ShareMap(shares={"curve": Fraction(1)})
    assert isinstance(weights(read_text, "{curve: 50%, web: 50%}"), ShareMap)


@pytest.mark.parametrize(
    ("curve", "code", "path"),
    [
        ("{}", "missing-key", ""),
        ("quality", "not-a-mapping", ""),
        ("{by: q, max: 7}", "unknown-key", ".max"),
        ("{by: q, max_factor: 0}", "out-of-range", ".max_factor"),
        ("{by: q, max_factor: 7 epochs}", "wrong-unit", ".max_factor"),
        ("{by: q, from: 100%}", "out-of-range", ".from"),
        ("{by: q, from: 40B}", "wrong-unit", ".from"),
        ("{by: q, p: -1}", "negative", ".p"),
        ("{by: q, p: 101}", "out-of-range", ".p"),
        ("{by: q, lambda: 1000}", "out-of-range", ".lambda"),
        ("{by: ''}", "missing-value", ".by"),
    ],
)
def test_wrong_curves_are_refused_with_their_path(read_text, curve, code, path):
    with pytest.raises(SpecFileError) as caught:
        weights(read_text, f"{{curve: {curve}}}")
    assert [(error.code, error.place.path) for error in caught.value.errors] == [
        (code, f"phases[0].weights.curve{path}")
    ]
