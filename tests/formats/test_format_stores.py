"""Exports of a mixture over a store: paths are those of the files that `export-store` writes, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from stream_helpers import make_store

from mixture.data.derived import ExportFormat, export_store
from mixture.data.store import Store
from mixture.errors import CatalogError
from mixture.formats import FORMATS, export_mixture
from mixture.lock import Lock
from mixture.planning.catalog import Catalog, read_catalog
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec

SPEC = """\
mixture: stored
catalog: store
sequence_length: 16
batch: 4 sequences
budget: 20 steps
phases:
  - {phase: early, steps: 12 steps, weights: {web: 25%, c+d: 75%}}
  - {phase: late, weights: {web: 25%, c+d: 25%, books: 50%}}
"""
NAMES = ("books", "c+d", "web")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stored") / "own"


@pytest.fixture(scope="module")
def store(folder: Path) -> Store:
    return make_store(folder, {name: {"a": name * 300, "b": "y" * 40} for name in NAMES})


@pytest.fixture(scope="module")
def lock(store: Store, folder: Path) -> Lock:
    (folder / "mixture.yaml").write_text(SPEC, encoding="utf-8")
    return make_lock(make_plan(read_spec(folder / "mixture.yaml")))


@pytest.fixture(scope="module")
def catalog(store: Store, folder: Path) -> Catalog:
    return read_catalog(folder / "store")


def paths_in(name: str, text: str) -> list[str]:
    """The paths that a file of an export names."""
    if name == "megatron":
        return text.split()[1::2]
    config: Any = yaml.safe_load(text)
    if name == "nanotron":
        return [path for stage in config["data_stages"] for path in stage["data"]["dataset"]["dataset_folder"]]
    sources = config["sources"] if name == "olmo" else config["data"]["sources"]
    return [path for source in sources for path in source["paths"]]


@pytest.mark.parametrize(
    ("name", "form", "template", "endings"),
    [
        ("megatron", ExportFormat.MEGATRON, "{file}", (".bin", ".idx")),
        ("olmo", ExportFormat.NPY, "{file}.npy", ("",)),
        ("olmix", ExportFormat.NPY, "{file}.npy", ("",)),
        ("nanotron", ExportFormat.DATATROVE, "{file}", ("",)),
    ],
)
def test_paths_are_those_of_the_files_that_export_store_writes(name, form, template, endings, lock, store, tmp_path):
    export_store(store, form, tmp_path / "files")
    exported = export_mixture(lock, FORMATS[name], path_template=f"{tmp_path}/files/{template}")
    texts = [text for file, text in exported.files.items() if not file.endswith((".json", ".args.txt"))]
    paths = {path for text in texts for path in paths_in(name, text)}
    assert len(paths) == len(NAMES)
    assert all(Path(path + ending).exists() for path in paths for ending in endings)
    if name == "nanotron":
        assert all(len(list(Path(path).glob("*.ds"))) == 1 for path in paths)


def test_numbers_are_those_of_the_table_where_one_is_given(lock, tmp_path):
    (tmp_path / "more.csv").write_text("domain,tokens\na,9\nbooks,9000\nc+d,9000\nweb,9000\n", encoding="utf-8")
    more = read_catalog(tmp_path / "more.csv")
    (text,) = export_mixture(
        lock, FORMATS["levanter"], catalog=more, path_template="s3://b/{number}/{file}"
    ).files.values()
    components = yaml.safe_load(text)["data"]["components"]
    assert components["c+d"] == {"cache_dir": "s3://b/00002/00002-c_d"}


def test_a_table_without_a_domain_is_in_the_way_of_numbers_alone(lock, tmp_path):
    (tmp_path / "less.csv").write_text("domain,tokens\nbooks,9000\nweb,9000\n", encoding="utf-8")
    less = read_catalog(tmp_path / "less.csv")
    assert export_mixture(lock, FORMATS["olmo"], catalog=less, path_template="{domain}").files
    with pytest.raises(CatalogError) as caught:
        export_mixture(lock, FORMATS["olmo"], catalog=less, path_template="{file}")
    assert caught.value.code == "unknown-domain"


def test_nanotron_has_the_vocabulary_and_token_size_of_the_store(lock, store, catalog):
    exported = export_mixture(lock, FORMATS["nanotron"], catalog=catalog)
    assert len(exported.files) == 2
    for text in exported.files.values():
        for stage in yaml.safe_load(text)["data_stages"]:
            dataset = stage["data"]["dataset"]
            assert (dataset["vocab_size"], dataset["token_size_in_bytes"]) == (store.vocabulary, 2)
    assert "token-type-unknown" not in json.dumps(exported.json())
    bare = export_mixture(lock, FORMATS["nanotron"])
    assert "token-type-unknown" in json.dumps(bare.json())
    assert not any("vocab_size:" in text for text in bare.files.values())
