"""Changes to a spec's text: what is not changed stays as it is written, and what comes out reads as asked."""

from fractions import Fraction
from pathlib import Path

import pytest

from mixture.errors import MixtureError, SpecError
from mixture.planning.spec import Form, PhaseEdit, ShareMap, edit_spec, parse_spec
from mixture.planning.spec.tables import named_tables

MIXTURES = Path(__file__).parents[3] / "mixtures"
TEXT = """\
# Why this mixture.
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences          # small
budget: {steps: 100, tokens: 51_200 tokens}
phases:
  - phase: 08               # a name, not a number
    share: 75%
    weights: {a: 40%, "no": 60%}
  - phase: last
    weights: uniform
"""


def read(text: str):
    return parse_spec(text.encode(), path=Path("mixture.yaml"))


@pytest.mark.parametrize("name", sorted(path.parent.name for path in MIXTURES.glob("*/mixture.yaml")))
def test_without_a_change_every_spec_of_the_repository_stays_as_it_is(name):
    text = (MIXTURES / name / "mixture.yaml").read_text(encoding="utf-8")
    assert edit_spec(text, {}) == text


@pytest.mark.parametrize("name", ["other", "a: b", "#x", "08", "no"])
def test_a_spec_gets_another_name_whatever_yaml_takes_it_for(name):
    assert read(edit_spec(TEXT, {}, name=name)).mixture == name


def test_what_is_changed_reads_as_asked_and_the_rest_stays():
    weights = {"no": Fraction(1, 8), "1e3": Fraction(3, 8), "a: b": Fraction(1, 2)}
    text = edit_spec(TEXT, {0: PhaseEdit((Form.UNTIL, "step 60"), weights)}, budget="200 steps")
    spec = read(text)
    assert spec.phases[0].phase == "08"
    assert spec.phases[0].weights == ShareMap(shares=weights)
    assert (spec.phases[0].extent.form, spec.phases[0].extent.amount) == (Form.UNTIL, 60)
    assert (spec.budget.steps, spec.budget.tokens) == (200, None)
    assert spec.phases[1] == read(TEXT).phases[1]
    assert "# Why this mixture.\n" in text
    assert "# a name, not a number\n" in text
    assert "batch: 8 sequences          # small\n" in text


def test_an_extent_is_given_to_a_phase_that_had_none_and_a_bare_number_stays_a_number():
    spec = read(edit_spec(TEXT, {1: PhaseEdit((Form.STEPS, "25"))}))
    assert (spec.phases[1].extent.form, spec.phases[1].extent.amount) == (Form.STEPS, 25)


@pytest.mark.parametrize(
    "value", ["{a: 1}", "[", "much", "&x 5", "5 # steps", "10\nseed: 3", "2026-01-01", "*a", "!!int 5"]
)
def test_what_is_no_value_is_refused_where_it_stands_and_changes_nothing_else(value):
    with pytest.raises(MixtureError) as refused:
        read(edit_spec(TEXT, {}, budget=value))
    errors = getattr(refused.value, "errors", None) or [refused.value]
    assert [error.place.line for error in errors] == [6]


def test_batches_are_changed_and_tables_found_from_elsewhere():
    text = """\
mixture: tables
catalog: {table: cells.csv, domain: cell}
sequence_length: 64
batch: 8 sequences          # small
budget: 100 steps
phases:
  - phase: map
    share: 20%
    weights: {table: 50%, column: 50%}    # domains that are called so
  - phase: table
    share: 20%
    batch: 16 sequences
    weights: {table: w.csv, column: x}
  - phase: groups
    weights:
      - {where: q = 1, share: 40%, within: uniform}
      - {where: q = 2, share: 60%, within: {table: w.csv, column: y}}
"""
    paths = {"catalog": "../cells.csv", "phases[1].weights": "../w.csv", "phases[2].weights[1].within": "../w.csv"}
    spec, before = (
        read(edit_spec(text, {1: PhaseEdit(batch="6 sequences")}, batch="3 sequences", tables=paths)),
        read(text),
    )
    assert dict(named_tables(spec)) == {key: Path("..") / path for key, path in named_tables(before)}
    assert (spec.batch.amount, spec.phases[1].batch.amount) == (3, 6)
    assert spec.phases[0] == before.phases[0]


def test_names_that_are_one_number_to_yaml_are_refused_with_what_to_do():
    text = TEXT.replace("weights: {", "weights: {0.10: 1, 0.1: 2, ", 1)
    assert text != TEXT
    with pytest.raises(SpecError) as refused:
        edit_spec(text, {})
    assert refused.value.code == "names-same-number"
    assert "quotes" in refused.value.hint
