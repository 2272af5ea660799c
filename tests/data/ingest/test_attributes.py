"""Attributes have the one type that all of their values are of, exactly, and are text where there is none."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, text_of, write_lines

from mixture.data.derived import pack_store, split_store
from mixture.data.ingest import ingest
from mixture.data.layout import attribute_text
from mixture.data.store import open_store
from mixture.data.texts import Reason, Unfit
from mixture.errors import IngestError

ATTRIBUTE = "domains: {web: {files: [in.jsonl], attributes: [a]}}"


def column_of(store: Path, name: str = "a") -> tuple[pa.DataType, list[object]]:
    """Type and values, in the order of the documents' texts."""
    opened = open_store(store)
    table = opened.documents("web", 0, opened.domains["web"].tokens)
    texts = [
        int(text_of(opened.read("web", row["first_token"], row["tokens"] - 1)))
        for row in table.select(["first_token", "tokens"]).to_pylist()
    ]
    values = table[name].to_pylist()
    assert table.schema.field(name).type == pq.read_schema(store / "documents.parquet").field(name).type
    return opened.attribute_types[name], [values[texts.index(n)] for n in range(len(texts))]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, -2, None, 2**63 - 1, -(2**63)], pa.int64()),
        ([0.1, 1e300, 5e-324, -0.0, None], pa.float64()),
        ([0.1, 3, 2**53, -(2**53)], pa.float64()),
        ([True, False, None], pa.bool_()),
        (["a", "", None, "1"], pa.string()),
        ([None, None], pa.string()),
        ([math.inf, -math.inf, 1.5], pa.float64()),
    ],
)
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_column_has_the_type_of_its_values(
    tmp_path: Path, sources: WriteSources, values: list[object], type_: pa.DataType, ending: str
):
    rows = [{"text": str(n), "a": value} for n, value in enumerate(values)]
    if ending == "jsonl":
        write_lines(tmp_path / "in.jsonl", rows)
    else:
        column = pa.array(values, pa.string() if type_ == pa.string() else None)
        pq.write_table(pa.table({"text": [row["text"] for row in rows], "a": column}), tmp_path / "in.parquet")
    report = ingest(sources(ATTRIBUTE.replace("jsonl", ending)), tmp_path / "store")
    assert column_of(report.path) == (type_, values)
    assert report.mixed == ()


@pytest.mark.parametrize(
    ("values", "as_text"),
    [
        ([1, "x"], ["1", "x"]),
        ([True, 1], ["true", "1"]),
        ([0.5, 2**53 + 1], ["0.5", str(2**53 + 1)]),
        ([2**63, 1], [str(2**63), "1"]),
        ([0.1, "0.1", None], ["0.1", "0.1", None]),
    ],
)
def test_values_of_several_types_are_text_and_told(tmp_path: Path, sources: WriteSources, values, as_text):
    write_lines(tmp_path / "in.jsonl", [{"text": str(n), "a": value} for n, value in enumerate(values)])
    report = ingest(sources(ATTRIBUTE), tmp_path / "store")
    assert column_of(report.path) == (pa.string(), as_text)
    assert report.mixed == ("a",)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 2], pa.int8()), (pa.int64(), [1, 2])),
        (pa.array([1, 2**64 - 1], pa.uint64()), (pa.string(), ["1", str(2**64 - 1)])),
        (pa.array([0.1, 2], pa.float32()), (pa.float64(), [0.1, 2.0])),
        (pa.array([Decimal("1.50"), None]), (pa.float64(), [1.5, None])),
        (pa.array([Decimal(3), Decimal(2**62)], pa.decimal128(38, 0)), (pa.int64(), [3, 2**62])),
        (pa.array([Decimal("0.1234567890123456789"), None]), (pa.string(), ["0.1234567890123456789", None])),
        (pa.array(["x", "y"]).dictionary_encode(), (pa.string(), ["x", "y"])),
        (pa.array([b"\xff", b"y"]), (pa.string(), ["\\xff", "y"])),
        (pa.array([0, None], pa.timestamp("s")), (pa.string(), ["1970-01-01 00:00:00.000", None])),
    ],
)
def test_columns_of_tables_keep_what_they_hold(tmp_path: Path, sources: WriteSources, column: pa.Array, expected):
    pq.write_table(pa.table({"text": ["0", "1"], "a": column}), tmp_path / "in.parquet")
    ingest(sources(ATTRIBUTE.replace("jsonl", "parquet")), tmp_path / "store")
    assert column_of(tmp_path / "store") == expected


def test_the_type_is_that_of_all_domains_and_files(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "0", "a": 1}])
    write_lines(tmp_path / "b.jsonl", [{"text": "1", "a": 0.5}])
    text = "domains:\n  web: {files: [in.jsonl], attributes: [a]}\n  b: {files: [b.jsonl], attributes: [a]}\n"
    ingest(sources(text), tmp_path / "store")
    assert column_of(tmp_path / "store") == (pa.float64(), [1.0])


@pytest.mark.parametrize("value", [[1], {"k": 1}, []])
def test_a_nested_attribute_of_a_line_leaves_it_out_and_of_a_table_is_refused(
    tmp_path: Path, sources: WriteSources, value: object
):
    write_lines(tmp_path / "in.jsonl", [{"text": "0", "a": 1}, {"text": "1", "a": value}])
    report = ingest(sources(ATTRIBUTE), tmp_path / "store")
    assert report.documents == 1
    assert report.domains[0].dropped == {Reason.NESTED_ATTRIBUTE: 1}
    assert column_of(tmp_path / "store") == (pa.int64(), [1])
    with pytest.raises(IngestError, match=r"in\.jsonl:2: .*attribute-nested") as caught:
        ingest(sources(ATTRIBUTE), tmp_path / "strict", unfit=Unfit.REFUSE)
    assert caught.value.code == "left-out"
    pq.write_table(pa.table({"text": ["x"], "a": [value if value != [] else [1]]}), tmp_path / "in.parquet")
    with pytest.raises(IngestError, match=r"in\.parquet: its attribute 'a' is of type (list|struct)") as caught:
        ingest(sources(ATTRIBUTE.replace("jsonl", "parquet")), tmp_path / "table")
    assert caught.value.code == "attribute-nested"


def test_types_go_into_stores_that_are_made_of_a_store(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "x" * (1 + n), "a": n / 4, "b": n, "c": n > 2} for n in range(6)])
    path = sources("domains: {web: {files: [in.jsonl], id: b, attributes: [a, b, c]}}")
    store = open_store(ingest(path, tmp_path / "store").path)
    types = {"a": pa.float64(), "b": pa.int64(), "c": pa.bool_()}
    assert store.attribute_types == types
    pack_store(store, tmp_path / "packed", sequence_length=8)
    split_store(store, tmp_path / "split", [4])
    for name in ("packed", "split"):
        made = open_store(tmp_path / name)
        assert made.attribute_types == types
        some = next(name for name in made.domains if made.domains[name].documents)
        for row in made.documents_from(some, 0, 10).to_pylist():
            assert (row["a"] * 4, row["c"]) == (row["b"], row["b"] > 2)


def test_of_the_same_document_the_first_attributes_are_kept(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "0", "a": 0.5}, {"text": "0", "a": 0.25}, {"text": "0"}])
    ingest(sources(ATTRIBUTE), tmp_path / "store")
    assert column_of(tmp_path / "store") == (pa.float64(), [0.25])


def test_ids_of_any_kind_are_text(tmp_path: Path, sources: WriteSources):
    ids = [12345678901234567890, "x\ud800y", None, "", 1.5, {"b": 1, "a": [True, None]}]
    write_lines(tmp_path / "in.jsonl", [{"text": str(n), "id": value} for n, value in enumerate(ids)])
    ingest(sources("domains: {web: {files: [in.jsonl], id: id}}"), tmp_path / "store")
    store = open_store(tmp_path / "store")
    for row in store.documents("web", 0, store.domains["web"].tokens).to_pylist():
        number = int(text_of(store.read("web", row["first_token"], 1)))
        expected = {0: "12345678901234567890", 1: "x\\ud800y", 4: "1.5", 5: '{"a": [true, null], "b": 1}'}
        assert row["id"] == expected.get(number, row["id"])
        assert number in expected or len(row["id"]) == 32


def test_attributes_as_text_have_all_of_their_digits():
    assert [attribute_text(value) for value in (None, "a", True, False, 2**60, 0.1, 1e22)] == [
        None, "a", "true", "false", str(2**60), "0.1", "1e+22",
    ]  # fmt: skip
