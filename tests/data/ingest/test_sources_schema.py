"""The JSON Schema of sources files: made of the keys that read them, and refusing nothing that is read."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from spec_schema import value_of

import mixture.data.ingest
from mixture.data.ingest import sources_schema
from mixture.data.ingest.sources import read_sources
from mixture.errors import MixtureError
from mixture.planning.spec import schema_text
from mixture.planning.yamlfile.document import parse_document

SCHEMA_FILE = Path(mixture.data.ingest.__file__).parent / "sources.schema.json"
DOMAINS = "domains:\n  web: {files: [a.jsonl]"
BY_COLUMN = "files: [a.jsonl]\ndomain_column: label\n"


def refusals(folder: Path, text: str) -> tuple[bool, bool]:
    """Whether the reader refuses it, and whether the schema does."""
    (folder / "a.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    (folder / "overview.json").write_text('{"format": 1, "clusters": [], "made": {"method": "x"}}', encoding="utf-8")
    (folder / "SOURCES.yaml").write_text(text, encoding="utf-8")
    value = value_of(parse_document(text, file="SOURCES.yaml"))
    by_schema = not jsonschema.Draft7Validator(sources_schema()).is_valid(value)
    try:
        read_sources(folder / "SOURCES.yaml")
    except MixtureError:
        return True, by_schema
    return False, by_schema


def test_the_committed_schema_is_the_one_that_the_keys_give():
    committed = SCHEMA_FILE.read_text(encoding="utf-8")
    assert committed == schema_text(sources_schema()), f"`mixture schema sources > {SCHEMA_FILE}` writes it anew"
    jsonschema.Draft7Validator.check_schema(json.loads(committed))


RIGHT = [
    f"{DOMAINS}}}\n",
    BY_COLUMN,
    f"{DOMAINS}, text: t, id: 5, attributes: [url], format: jsonl, labels: {{quality: 3, kind: true}},"
    " holdout: {share: 0.1%, max: 10M tokens}}\nend_of_document: <eod>\ntokenizer_name: a/b\ndtype: uint32\n",
    f"{BY_COLUMN}text: t\nholdout: {{share: 1}}\nattributes: [a, 8]\n",
]
WRONG = {
    "nothing": "dtype: uint16\n",
    "an unknown key": f"{DOMAINS}}}\nfile: a\n",
    "an unknown key of a domain": f"{DOMAINS}, txt: a}}\n",
    "no domain": "domains: {}\n",
    "no files": "domains: {web: {text: a}}\n",
    "no pattern": "domains: {web: {files: []}}\n",
    "files without a column of domains": "files: [a.jsonl]\n",
    "text beside domains": f"{DOMAINS}}}\ntext: a\n",
    "a format that there is not": f"{DOMAINS}, format: xml}}\n",
    "a type that there is not": f"{DOMAINS}}}\ndtype: int8\n",
    "a label that is a list": f"{DOMAINS}, labels: {{quality: [1]}}}}\n",
    "a label that a catalog has": f"{DOMAINS}, labels: {{tokens: 1}}}}\n",
    "an attribute that a store has": f"{DOMAINS}, attributes: [tokens]}}\n",
    "a holdout without a share": f"{DOMAINS}, holdout: {{max: 1M tokens}}}}\n",
    "a holdout of more than all": f"{DOMAINS}, holdout: {{share: 1.5}}}}\n",
    "a reserved name": "domains: {a@validation: {files: [a.jsonl]}}\n",
}


@pytest.mark.parametrize("text", RIGHT)
def test_both_take(text, tmp_path):
    assert refusals(tmp_path, text) == (False, False)


@pytest.mark.parametrize("name", WRONG)
def test_both_refuse(name, tmp_path):
    assert refusals(tmp_path, WRONG[name]) == (True, True)


def test_each_key_has_a_description_and_an_example_that_is_right(tmp_path):
    schema = sources_schema()
    for key, said in schema["properties"].items():
        assert said["description"].endswith(".")
        for example in said["examples"]:
            text = json.dumps({"files": ["a.jsonl"], "domain_column": "label"} | {key: example})
            assert jsonschema.Draft7Validator(schema).is_valid(json.loads(text)), text
