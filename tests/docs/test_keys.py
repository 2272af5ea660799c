"""Every key of a spec and of a sources file, and every command, is described, and each key stands in an example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from docs.pages import DOCS, blocks, page
from docs.source_keys import catalog_source_keys
from docs.toys import commands, said_by
from ruamel.yaml import YAML

from mixture.cli.app import app
from mixture.data.ingest import sources_schema
from mixture.lock.fields import LockFields
from mixture.planning.spec.schema import spec_schema


def schema_keys(schema: object) -> Iterator[str]:
    """The names of properties anywhere in a JSON Schema."""
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        yield from properties
        for name, value in schema.items():
            if name not in ("examples", "default"):
                yield from schema_keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from schema_keys(value)


def written_keys(value: object) -> Iterator[str]:
    """The keys of mappings in a YAML value."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield str(key)
            yield from written_keys(held)
    elif isinstance(value, list):
        for held in value:
            yield from written_keys(held)


def example_keys(name: str) -> set[str]:
    """The keys that a page's YAML has."""
    yaml = YAML(typ="safe", pure=True)
    texts = [block.text for block in blocks(name) if block.language == "yaml"]
    return {key for text in texts for key in written_keys(yaml.load(text))}


def described(name: str) -> set[str]:
    """The words that stand as code in a page's prose; of `key: {a, b}` each."""
    prose = re.sub(r"^```.*?^```$", "", page(name), flags=re.DOTALL | re.MULTILINE)
    return {word for code in re.findall("`([^`]+)`", prose) for word in re.findall(r"\w+", code)}


def test_every_key_of_a_spec_is_described_and_stands_in_an_example() -> None:
    keys = set(schema_keys(spec_schema()))
    assert {"mixture", "phases", "where", "replay", "window", "max_epochs"} <= keys
    assert keys - described("spec.md") == set()
    assert keys - example_keys("spec.md") == set()


def test_every_key_of_a_sources_file_is_described_and_stands_in_an_example() -> None:
    keys = set(schema_keys(sources_schema())) | catalog_source_keys()
    assert {"domains", "files", "holdout", "vocabulary_size", "path"} <= keys
    assert keys - described("sources.md") == set()
    assert keys - example_keys("sources.md") <= {"overview", "tokenizer_file"}


def test_every_field_of_a_lock_is_described() -> None:
    parts = [LockFields, *(model for model in LockFields.__base__.__subclasses__())]
    fields = {name for model in parts for name in model.model_fields}
    assert {"segments", "weights", "lineage", "masks", "digest"} <= fields
    assert fields - described("schedule-format.md") - {"code", "facts"} == set()


def program_commands(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    """The commands of the program, each with its options."""
    if hasattr(command, "commands"):
        for part, held in command.commands.items():
            yield from program_commands(held, f"{name} {part}")
    else:
        yield name, {option for held in command.params for option in held.opts} | {"--help"}


def test_every_command_is_described_and_no_other() -> None:
    known = {name for name, _ in program_commands(typer.main.get_command(app), "mixture")}
    assert len(known) > 30
    assert set(re.findall("`(mixture [a-z -]+?)`", page("README.md").split("## Commands")[1])) == known


OF_OTHERS = {
    "--global-batch-size", "--nproc-per-node", "--rampup-batch-size", "--seq-length", "--tokenizer-model",
    "--train-iters", "--train-samples",
}  # fmt: skip
"""Options of torchrun and Megatron that pages name."""


def test_every_option_that_is_named_is_one_of_the_program() -> None:
    known = {option for _, options in program_commands(typer.main.get_command(app), "mixture") for option in options}
    for path in DOCS.glob("*.md"):
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", path.read_text(encoding="utf-8")))
        assert named <= known | OF_OTHERS, path.name


def test_every_page_is_in_the_index_and_every_link_leads_somewhere() -> None:
    pages = sorted(path.name for path in DOCS.glob("*.md") if path.name != "README.md")
    assert sorted(re.findall(r"^\| \[.*?\]\((.*?)\)", page("README.md"), re.MULTILINE)) == pages
    for name in [*pages, "README.md"]:
        for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)]+)\)", page(name))):
            text = page(target or name)
            heads = {_anchor(head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
            assert not anchor or anchor in heads, f"{name}: {target}#{anchor}"


def _anchor(heading: str) -> str:
    """What GitHub calls a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files that the sources of sources.md name."""
    for folder in ("web", "notes/old", "labelled", "code", "math", "books"):
        (tmp_path / folder).mkdir(parents=True)
    texts = {"content": [f"text {i}" for i in range(50)], "url": [f"u{i}" for i in range(50)]}
    pq.write_table(pa.table(texts | {"license": ["mit"] * 50}), tmp_path / "web" / "a.parquet")
    (tmp_path / "notes" / "old" / "n.md").write_text("# Note\n", encoding="utf-8")
    rows = [json.dumps({"text": f"page {i}", "topic": "law" if i % 2 else "art"}) for i in range(60)]
    (tmp_path / "labelled" / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    np.save(tmp_path / "code" / "c.npy", np.arange(100, dtype=np.uint16))
    (tmp_path / "code" / "c.csv").write_text("start,end\n0,60\n60,100\n", encoding="utf-8")
    lists = pa.table({"input_ids": [[1, 2, 256], [3, 256]], "url": ["a", "b"]})
    pq.write_table(lists, tmp_path / "math" / "m.parquet")
    with pa.ipc.new_file(tmp_path / "books" / "b.arrow", lists.schema) as file:
        file.write_table(lists)
    return tmp_path


def test_the_sources_files_of_the_page_are_read(files: Path) -> None:
    for block in blocks("sources.md"):
        if block.language == "yaml":
            name, _, text = block.text.removeprefix("# ").partition("\n")
            (files / name).write_text(text, encoding="utf-8")
        for command, _ in commands(block.text) if block.language == "console" else ():
            said = said_by(command, files)
            assert "error[" not in said, said
            if command.startswith("mixture ingest"):
                said_by("mixture export-store store --format megatron -o tokens", files)
    held = pq.read_table(files / "store" / "domains.parquet").to_pylist()
    assert {"art", "law", "notes", "web", "web@validation"} <= {row["domain"] for row in held}
    assert len(pq.read_table(files / "catalog" / "domains.parquet")) == 5
