"""Labels of domains become columns of the store's catalog, and an overview goes with the store."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import open_store, verify_store
from mixture.errors import CatalogError, MixtureError, StoreError
from mixture.planning.catalog import read_catalog, read_overview


@pytest.fixture
def labelled(tmp_path: Path, sources: WriteSources):
    """A sources file of the domains a, b, c with these labels, and more lines."""

    def write(*labels: str, more: str = "") -> Path:
        for name in "abc"[: len(labels)]:
            write_lines(tmp_path / f"{name}.jsonl", [{"text": name}])
        lines = [f"  {name}: {{files: [{name}.jsonl]{said}}}" for name, said in zip("abc", labels, strict=False)]
        return sources("domains:\n" + "\n".join(lines) + "\n" + more)

    return write


def labels_of(path: Path) -> dict[str, list]:
    table = read_catalog(path).table
    return {name: table[name].to_pylist() for name in table.column_names[4:]}


def test_labels_are_columns_that_conditions_select_by(tmp_path: Path, labelled):
    path = labelled(
        ", labels: {quality: 4, cluster: c03, title: 'Kernel: drivers'}",
        ", labels: {cluster: c03, quality: 0, title: 'Kernel: drivers'}",
        "",
    )
    report = ingest(path, tmp_path / "store")
    assert labels_of(report.path) == {
        "cluster": ["c03", "c03", None],
        "quality": [4, 0, None],
        "title": ["Kernel: drivers", "Kernel: drivers", None],
    }
    assert read_catalog(report.path).select("cluster = 'c03' and quality >= 3") == (0,)
    assert verify_store(report.path) == []


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (("3", "-12", "0"), [3, -12, 0]),
        (("3", "03", "0"), ["3", "03", "0"]),
        (("3", "'12'", '"0"'), [3, 12, 0]),
        (("3", "1e3", "0x1"), ["3", "1e3", "0x1"]),
        (("no", "null", "true"), ["no", "null", "true"]),
        (("2024.10", "2024.1", "2023.9"), ["2024.10", "2024.1", "2023.9"]),
        (("1e3", "5e2", "7"), ["1e3", "5e2", "7"]),
        (("0.1", "0.3", "0.25"), [0.1, 0.3, 0.25]),
        (("1e-05", "0.3", "1.5e+20"), [1e-5, 0.3, 1.5e20]),
        (("9223372036854775807", "1", "2"), [2**63 - 1, 1, 2]),
        (("9223372036854775808", "1", "c2"), ["9223372036854775808", "1", "c2"]),
    ],
)
def test_a_column_is_integer_only_where_every_value_is_a_plain_decimal(tmp_path: Path, labelled, values, column):
    ingest(labelled(*(f", labels: {{x: {value}}}" for value in values)), tmp_path / "store")
    assert labels_of(tmp_path / "store") == {"x": column}


def test_labels_and_overview_are_no_part_of_what_the_store_holds(tmp_path: Path, labelled):
    write_overview(tmp_path)
    plain = ingest(labelled("", ""), tmp_path / "plain")
    path = labelled(", labels: {cluster: c0, quality: 1}", "", more="overview: o.json\n")
    assert ingest(path, tmp_path / "store").digest == plain.digest


@pytest.mark.parametrize(
    ("labels", "code", "where"),
    [
        ("labels: [a]", "not-a-mapping", ":2:33"),
        ("labels: {tokens: 3}", "label-taken", ":2:34"),
        ("labels: {domain: x}", "label-taken", ":2:34"),
        ("labels: {max_epochs: 3}", "label-taken", ":2:34"),
        ("labels: {x: 1, x: 2}", "duplicate-key", ":2:40"),
        ("labels: {x: }", "missing-value", ":2:3"),
        ("labels: {x: [1]}", "not-a-value", ":2:37"),
        ('labels: {"a\\nb": 1}', "control-character", ":2:34"),
        ("labels: {x: 9223372036854775808}", "integer-too-large", ":2:37"),
    ],
)
def test_labels_that_can_not_be_are_refused_by_line_and_column(tmp_path: Path, labelled, labels, code, where):
    with pytest.raises(MixtureError) as caught:
        ingest(labelled(f", {labels}"), tmp_path / "store")
    assert caught.value.code == code
    assert f"SOURCES.yaml{where}" in str(caught.value)
    assert not (tmp_path / "store").exists()


def write_overview(folder: Path, **changed: object) -> Path:
    fields = {
        "format": 1,
        "clusters": [{"id": "c0", "title": "Letters"}],
        "domains": [{"domain": "a", "typical": ["1"]}],
        "made": {"method": "by hand"},
    }
    path = folder / "o.json"
    path.write_text(json.dumps(fields | changed), encoding="utf-8")
    return path


def test_a_store_keeps_the_overview_of_its_sources(tmp_path: Path, labelled):
    overview = read_overview(write_overview(tmp_path))
    path = labelled(", labels: {cluster: c0, quality: 1}", more="overview: o.json\n")
    ingest(path, tmp_path / "store")
    (tmp_path / "o.json").unlink()
    store = open_store(tmp_path / "store")
    assert store.overview == overview
    assert pickle.loads(pickle.dumps(store)).overview == overview
    listed = json.loads((tmp_path / "store" / "store.json").read_text(encoding="utf-8"))["tables"]
    assert "overview.json" in [table["file"] for table in listed]
    assert verify_store(store.path) == []


def test_a_store_without_an_overview_has_none(tmp_path: Path, labelled):
    ingest(labelled(""), tmp_path / "store")
    assert open_store(tmp_path / "store").overview is None


@pytest.mark.parametrize(
    ("name", "changed", "code", "where"),
    [
        ("none.json", {}, "file-missing", "SOURCES.yaml:3:11: there is no file"),
        ("o.json", {"domains": [{"domain": "z"}]}, "unknown-domain", "o.json: domains[0].domain: unknown domain 'z'"),
        ("o.json", {"columns": "level"}, "missing-column", "o.json: columns: the catalog has no column 'level'"),
        ("o.json", {"made": None}, "overview-field", "o.json: made: "),
    ],
)
def test_an_overview_that_does_not_fit_is_refused_before_anything_is_read(
    tmp_path: Path, labelled, name, changed, code, where
):
    write_overview(tmp_path, **changed)
    path = labelled(", labels: {cluster: c0, quality: 1}", more=f"overview: {name}\n")
    with pytest.raises(CatalogError) as caught:
        ingest(path, tmp_path / "store")
    assert caught.value.code == code
    assert where in str(caught.value)
    assert not (tmp_path / "store").exists()


def test_an_overview_or_a_label_that_was_changed_is_found(tmp_path: Path, labelled):
    write_overview(tmp_path)
    path = labelled(", labels: {cluster: c0, quality: 1}", more="overview: o.json\n")
    store = open_store(ingest(path, tmp_path / "store").path)
    other = ingest(labelled(", labels: {cluster: c1, quality: 1}"), tmp_path / "other").path
    inside = tmp_path / "store" / "overview.json"
    whole = inside.read_bytes()
    inside.write_bytes(whole.replace(b"Letters", b"Numbers"))
    with pytest.raises(StoreError, match=r"overview\.json: the file was changed") as caught:
        _ = store.overview
    assert caught.value.code == "digest-differs"
    with pytest.raises(StoreError, match=r"overview\.json: the file was changed"):
        open_store(tmp_path / "store")
    inside.unlink()
    with pytest.raises(StoreError, match=r"overview\.json: the file is missing"):
        open_store(tmp_path / "store")
    inside.write_bytes(whole)
    (tmp_path / "store" / "domains.parquet").write_bytes((other / "domains.parquet").read_bytes())
    with pytest.raises(StoreError, match=r"domains\.parquet"):
        open_store(tmp_path / "store")
