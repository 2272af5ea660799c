"""The JSON Schema and the loader agree: the schema is made of the loader's keys, and refuses nothing that it takes."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from spec_schema import says_null, schema_errors

import mixture.planning.spec
from mixture.planning.spec import parse_spec
from mixture.planning.spec.schema import SCHEMA_FILE, schema_text, spec_schema
from mixture.planning.yamlfile import SpecFileError

ROOT = Path(__file__).parents[3]
SPECS = Path(mixture.planning.spec.__file__).parent

BASE: dict[str, Any] = {
    "mixture": "test",
    "catalog": "cells.csv",
    "sequence_length": 4096,
    "batch": "8 sequences",
    "budget": "100 steps",
    "phases": [{"phase": "first", "share": "50%", "weights": "uniform"}],
}
LAST = {"phase": "last", "weights": "uniform"}


def spec_with(holder: str, value: dict[str, Any]) -> str:
    """The text of a small spec in which the mapping of this kind is, or has, these keys."""
    spec = json.loads(json.dumps(BASE))
    phase = spec["phases"][0]
    match holder:
        case "spec":
            spec |= value
        case "phase" if "transition" in value:
            spec["phases"].append(LAST | value)
        case "phase":
            if value.keys() & {"share", "tokens", "steps", "until"}:
                del phase["share"]
            phase |= value
            spec["phases"].append(LAST)
        case "where":
            rest = [] if "tokens" in value else [{"where": "b = 1", "share": "70%", "within": "uniform"}]
            amount = {} if value.keys() & {"tokens", "share"} else {"share": "30%"}
            phase["weights"] = [{"where": "a = 1", "within": "uniform"} | amount | value, *rest]
        case "replay":
            rest = [] if "tokens" in value else [{"where": "b = 1", "share": "70%", "within": "uniform"}]
            amount = {} if value.keys() & {"tokens", "share"} else {"share": "30%"}
            phase["phase"] = "pretraining"
            spec["phases"].append({"phase": "last", "weights": [{"replay": "pretraining"} | amount | value, *rest]})
        case "column":
            phase["weights"] = {"table": "cells.csv", "column": "first"} | value
        case "catalog":
            spec["catalog"] = {"table": "cells.csv"} | value
        case "unimax":
            phase["weights"] = {"unimax": value}
        case "max_epochs":
            spec["max_epochs"] = value
        case "transition":
            spec["phases"].append(LAST | {"transition": {"steps": 9, "parts": 4} | value})
        case "curve":
            phase["weights"] = {"curve": {"by": "quality"} | value}
        case "rule":
            phase["weights"] = value
        case _:
            spec[holder] = value
    return yaml_text(spec)


def yaml_text(value: Any) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False
    written = io.StringIO()
    yaml.dump(value, written)
    return written.getvalue()


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every mapping with keys of its own that a schema knows."""
    found = []
    if isinstance(schema, dict):
        found += [schema["properties"]] if "properties" in schema else []
        schema = list(schema.values())
    if isinstance(schema, list):
        found += [one for part in schema for one in objects(part)]
    return found


def keys_of(holder: str) -> dict[str, Any]:
    """What the schema says of the keys of this kind of mapping: found by a key that only it has."""
    mark = {
        "spec": "mixture", "phase": "phase", "where": "where", "replay": "replay", "column": "column",
        "catalog": "domain", "budget": "steps tokens", "shuffle": "window", "unimax": "max_epochs", "curve": "by",
        "max_epochs": "domains",
        "transition": "parts",
    }[holder]  # fmt: skip
    few = [one for one in objects(spec_schema()) if set(mark.split()) <= one.keys()]
    return min(few, key=len) if holder != "spec" else few[0]


HOLDERS = [
    "spec",
    "phase",
    "where",
    "replay",
    "column",
    "catalog",
    "budget",
    "shuffle",
    "unimax",
    "curve",
    "max_epochs",
    "transition",
]


def errors_of(text: str) -> list[str]:
    try:
        parse_spec(text.encode(), path=Path("test.yaml"))
    except SpecFileError as refused:
        return [str(error) for error in refused.errors]
    return []


def test_the_committed_schema_is_the_one_that_the_keys_give():
    committed = (SPECS / SCHEMA_FILE).read_text(encoding="utf-8")
    assert committed == schema_text(spec_schema()), (
        f"`mixture schema > mixture/planning/spec/{SCHEMA_FILE}` writes it anew"
    )
    jsonschema.Draft7Validator.check_schema(json.loads(committed))


def test_mappings_of_a_spec_are_read_by_tables_that_the_schema_is_made_of_and_no_others():
    reads = {
        file.name
        for room in (SPECS, SPECS.with_name("yamlfile"))
        for file in room.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and node.id == "read_fields"
    }
    assert reads == {"keys.py"}


@pytest.mark.parametrize("holder", HOLDERS)
def test_the_loader_and_the_schema_know_the_same_keys(holder):
    (error,) = [error for error in errors_of(spec_with(holder, {"zzzzzzzz": 1})) if "zzzzzzzz" in error]
    listed = re.search(r"right here: (.*)\)$", error)
    assert listed
    assert listed[1].split(", ") == list(keys_of(holder))
    assert schema_errors(spec_with(holder, {"zzzzzzzz": 1}))


def test_no_mapping_of_the_schema_is_left_out_here():
    known = [list(keys_of(holder)) for holder in HOLDERS]
    rules = [[name] for name in ("temperature", "unimax", "curve")]
    assert sorted(map(list, objects(spec_schema()))) == sorted(known + rules)


@pytest.mark.parametrize("holder", HOLDERS)
def test_each_key_is_described_and_each_of_its_examples_is_right(holder):
    for key, said in keys_of(holder).items():
        assert said["description"].endswith(".")
        assert key == "phases" or said["examples"]
        for value in said.get("examples", []):
            text = spec_with(holder, {key: value})
            assert not errors_of(text), text
            assert not schema_errors(text), text


@pytest.mark.parametrize("name", ["temperature", "unimax", "curve"])
def test_examples_of_rules_with_a_parameter_are_right(name):
    (said,) = (one[name] for one in objects(spec_schema()) if list(one) == [name])
    for value in said["examples"]:
        assert not errors_of(spec_with("rule", {name: value}))
        assert not schema_errors(spec_with("rule", {name: value}))


def written_specs() -> dict[str, str]:
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("mixtures/*/*.yaml")}
    for document in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        blocks = re.findall("^```yaml\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        found |= {f"{document.name}: {i}": block for i, block in enumerate(blocks)}
    return {
        name: text
        for name, text in found.items()
        if {"mixture", "phases"} <= set(re.findall("^[a-z]+", text, re.MULTILINE))
    }


@pytest.mark.parametrize("name", sorted(written_specs()))
def test_the_schema_takes_every_spec_of_this_repository(name):
    text = written_specs()[name]
    assert not errors_of(text)
    assert not schema_errors(text)


BROKEN = {
    "an unknown key": ("spec", {"tokeniser": "x"}),
    "an unknown key of a phase": ("phase", {"lenght": 4096}),
    "an unknown key of a group": ("where", {"with": "uniform"}),
    "two extents": ("phase", {"share": "50%", "steps": 5}),
    "two amounts of a group": ("where", {"share": "50%", "tokens": 5}),
    "a phase without weights": ("spec", {"phases": [{"phase": "a"}]}),
    "a phase without a name": ("spec", {"phases": [{"weights": "uniform"}]}),
    "a group without a share": ("phase", {"weights": [{"where": "a", "within": "uniform"}]}),
    "a group without a rule": ("phase", {"weights": [{"where": "a", "share": 1}]}),
    "no phases": ("spec", {"phases": []}),
    "phases that are no list": ("spec", {"phases": {"phase": "a", "weights": "uniform"}}),
    "an empty budget": ("spec", {"budget": {}}),
    "a budget of sequences": ("spec", {"budget": "5 sequences"}),
    "a budget below 1": ("spec", {"budget": 0}),
    "a budget in parts of a step": ("spec", {"budget": "5.5"}),
    "a batch without a unit": ("spec", {"batch": 8}),
    "a batch of a wrong unit": ("spec", {"batch": "8 steps"}),
    "a unit in lower case": ("spec", {"budget": "5t tokens"}),
    "a unit of bytes": ("spec", {"budget": "18.75TB"}),
    "a suffix and an exponent": ("spec", {"budget": "2e12T"}),
    "a length with a suffix": ("spec", {"sequence_length": "8K"}),
    "a length that is too long": ("spec", {"sequence_length": 2**31}),
    "a length that is a list": ("spec", {"sequence_length": [4096]}),
    "a negative seed": ("spec", {"seed": -1}),
    "a seed that is a word": ("spec", {"seed": "zero"}),
    "no epochs": ("spec", {"max_epochs": 0}),
    "a name that is a list": ("spec", {"mixture": ["a"]}),
    "a name that is too long": ("spec", {"mixture": "a" * 201}),
    "an empty name": ("spec", {"mixture": ""}),
    "a catalog without a table": ("spec", {"catalog": {"domain": "cell"}}),
    "a finding that there is not": ("spec", {"accept": ["over-epoch"]}),
    "findings that are no list": ("spec", {"accept": "over-epochs"}),
    "a rule that there is not": ("phase", {"weights": "uniformly"}),
    "an empty map": ("phase", {"weights": {}}),
    "an empty list of groups": ("phase", {"weights": []}),
    "a weight that is a word": ("phase", {"weights": {"web": "most"}}),
    "a negative weight": ("phase", {"weights": {"web": -1, "code": 2}}),
    "a held-out domain": ("phase", {"weights": {"web@validation": 1}}),
    "a table without a column": ("phase", {"weights": {"table": "cells.csv"}}),
    "groups within groups": ("where", {"within": [{"where": "a", "share": 1, "within": "uniform"}]}),
    "more than all of a run": ("phase", {"share": 1.5}),
    "none of a run": ("phase", {"share": 0}),
    "an end without a unit": ("phase", {"until": 5}),
    "a window in tokens": ("spec", {"shuffle": {"window": "64 tokens"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_both_refuse(name):
    text = spec_with(*BROKEN[name])
    assert errors_of(text)
    assert schema_errors(text), text


@pytest.mark.parametrize("key", ["mixture", "catalog", "sequence_length", "batch", "budget", "phases"])
def test_both_refuse_a_spec_without(key):
    text = yaml_text({name: value for name, value in BASE.items() if name != key})
    assert errors_of(text)
    assert schema_errors(text)


def test_an_empty_value_is_refused_by_both_and_the_word_null_by_the_schema_alone():
    empty, word = (yaml_text(BASE).replace("mixture: test", f"mixture: {value}") for value in ("", "null"))
    assert errors_of(empty)
    assert schema_errors(empty)
    assert not errors_of(word)
    assert schema_errors(word)


NUMBERS = st.lists(
    st.sampled_from([
        *"0127", "0", "1", ".", "_", "e", "e-2", "E+3", "+", "-", *"KMBT", "%", " ", " ", "  ", "/", "step ", "null",
        *(" tokens", " token", " sequences", " steps", " step", " blocks", " epochs", " epoch", "\u00a0", "\t"),
    ]),
    min_size=1, max_size=6,
).map("".join)  # fmt: skip
PLACES = [
    ("spec", "batch"), ("spec", "budget"), ("spec", "seed"), ("spec", "max_epochs"), ("spec", "sequence_length"),
    ("spec", "mixture"), ("budget", "steps"), ("budget", "tokens"), ("shuffle", "block"), ("shuffle", "window"),
    ("phase", "share"), ("phase", "tokens"), ("phase", "steps"), ("phase", "until"), ("phase", "batch"),
    ("where", "tokens"), ("rule", "web"), ("rule", "temperature"), ("unimax", "max_epochs"),
    ("curve", "max_factor"), ("curve", "from"), ("curve", "p"),
]  # fmt: skip


@given(st.sampled_from(PLACES), NUMBERS, st.sampled_from(["{}", "'{}'", '"{}"']))
@example(("spec", "budget"), "9223372036854775807", "{}")
@example(("spec", "budget"), "9.223372036854775807e18", "{}")
@example(("spec", "budget"), " 1_000 ", "{}")
@example(("spec", "seed"), "1K", "{}")
@example(("phase", "share"), "1/3", "{}")
@example(("phase", "until"), "step  5e1", "{}")
@example(("rule", "web"), "4.51T tokens", "{}")
@example(("rule", "web"), "100 %", "'{}'")
def test_the_schema_takes_every_number_that_the_loader_takes(place, number, quotes):
    text = spec_with(place[0], {place[1]: "HERE"}).replace("HERE", quotes.format(number))
    if not errors_of(text) and not says_null(text):
        assert not schema_errors(text)
