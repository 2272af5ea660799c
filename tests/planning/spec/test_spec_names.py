from __future__ import annotations

from pathlib import Path

import pytest

from mixture.errors import Place
from mixture.planning.spec import TableColumn
from mixture.planning.yamlfile import SpecFileError, key_path

NAMES = ["no", "08", "1e3", "2026-11-29", "null", "~", "true", "0x1F", "1_000", ".inf", "web text", "Ünï", "=", "table"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quotes", ["", "'", '"'])
def test_a_name_is_the_string_as_written(read_text, name, quotes):
    written = f"{quotes}{name}{quotes}"
    spec = read_text(
        f"mixture: {written}\ncatalog: cells.csv\nsequence_length: 4096\nbatch: 8 sequences\nbudget: 100 steps\n"
        f"tokenizer: {written}\nphases:\n  - phase: {written}\n    weights: {{{written}: 1}}\n"
    )
    assert (spec.mixture, spec.tokenizer) == (name, name)
    assert spec.phases[0].phase == name
    assert list(spec.phases[0].weights.shares) == [name]


def test_names_that_yaml_reads_as_one_value_stay_apart(read_phase):
    weights = read_phase("weights: {8: 0.25, 08: 0.25, 8.0: 0.25, no: 0.125, false: 0.125}").weights
    assert list(weights.shares) == ["8", "08", "8.0", "no", "false"]


@pytest.mark.parametrize(
    "name", [r"a\nb", r"a\0", r"\x1f", r"\e[31m", r"\u2028", r"\ud800", r"\x85", r"a\u202e", r"\u2066a"]
)
def test_a_name_with_a_control_character_is_refused(read_phase, name):
    with pytest.raises(SpecFileError) as caught:
        read_phase(f'weights: {{"{name}": 1}}')
    assert caught.value.code == "control-character"
    assert str(caught.value).isprintable()


def test_a_name_that_nobody_sees_is_missing(read_text):
    rest = "catalog: cells.csv\nsequence_length: 4096\nbatch: 8 sequences\nbudget: 100 steps\n"
    rest += "phases: [{phase: all, weights: uniform}]\n"
    for name in ("' '", '"\\u200b"', '"\\u00a0\\u3000"', '"\\ufeff\\u2800"'):
        with pytest.raises(SpecFileError) as caught:
            read_text(f"mixture: {name}\n{rest}")
        assert caught.value.code == "missing-value", name
    assert read_text(f'mixture: "a\\u200bb"\n{rest}').mixture == "a\u200bb"


def test_the_name_of_a_mixture_is_no_longer_than_a_page_can_show(read_text):
    rest = "catalog: cells.csv\nsequence_length: 4096\nbatch: 8 sequences\nbudget: 100 steps\n"
    rest += "phases: [{phase: all, weights: uniform}]\n"
    assert read_text(f"mixture: {'a' * 200}\n{rest}").mixture == "a" * 200
    with pytest.raises(SpecFileError) as caught:
        read_text(f"mixture: {'a' * 201}\n{rest}")
    assert caught.value.code == "name-too-long"
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["web@validation", "web@sha256:0123", "@validation", "a@sha256:b@validation"])
def test_a_reserved_name_may_not_be_weighed(read_phase, name):
    with pytest.raises(SpecFileError) as caught:
        read_phase(f"weights: {{web: 1, '{name}': 0}}")
    assert caught.value.code == "reserved-name"


def test_paths_are_relative_to_the_folder_of_the_spec(read_keys, read_phase):
    assert read_keys("catalog: ../cells.csv").catalog.path == Path("mixes/../cells.csv")
    assert read_keys("catalog: /data/cells.csv").catalog.path == Path("/data/cells.csv")
    assert read_phase("weights: {table: w.csv, column: main}").weights.path == Path("mixes/w.csv")


def test_a_catalog_may_name_its_column_of_domains(read_keys):
    catalog = read_keys("catalog: {table: cells.csv, domain: cell}").catalog
    assert (catalog.path, catalog.domain) == (Path("mixes/cells.csv"), "cell")
    assert read_keys("catalog: store").catalog.domain == "domain"


def test_a_column_of_weights_names_its_table(read_phase):
    weights = read_phase("weights: {table: cells.csv, column: '2024', domain: cell}").weights
    assert weights == TableColumn(path=Path("mixes/cells.csv"), column="2024", domain="cell")


def test_domains_may_be_called_like_the_keys_of_a_table(read_phase):
    assert list(read_phase("weights: {table: 0.5, column: 50%}").weights.shares) == ["table", "column"]


def test_places_of_keys_are_known_by_their_path(read_text):
    spec = read_text(
        "mixture: test\ncatalog: cells.csv\nsequence_length: 4096\nbatch: 8 sequences\n"
        "budget: {steps: 100}\nphases:\n  - phase: main\n    weights:\n      web: 0.5\n      a.b[0]: 0.25\n"
        '      "quo\\"te": 0.25\n'
    )

    def at(path: str) -> tuple[int | None, int | None]:
        place = spec.place(path)
        assert place == Place("mixes/test.yaml", place.line, place.column, path)
        return place.line, place.column

    assert at("budget") == (5, 1)
    assert at("budget.steps") == (5, 10)
    assert at("phases[0]") == (7, 5)
    assert at("phases[0].weights.web") == (9, 7)
    assert at(key_path("phases[0].weights", "a.b[0]")) == (10, 7)
    assert at(key_path("phases[0].weights", 'quo"te')) == (11, 7)


def test_what_is_not_written_stands_where_its_holder_stands(read_text):
    spec = read_text(
        "mixture: test\ncatalog: cells.csv\nsequence_length: 4096\nbatch: 8 sequences\n"
        "budget: {steps: 100}\nphases:\n  - phase: main\n    weights: uniform\n"
    )
    assert str(spec.place("phases[0].weights.code")) == "mixes/test.yaml:8:5"
    assert str(spec.place(key_path("phases[0].weights", "a.b"))) == "mixes/test.yaml:8:5"
    assert str(spec.place("budget.tokens")) == "mixes/test.yaml:5:1"
    assert str(spec.place("tokenizer")) == "mixes/test.yaml"
