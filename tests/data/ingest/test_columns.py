"""Ids, domains and attributes of any Arrow type are one text, in a store and in a catalog of token files; names,
fields and folders are columns."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.linking import build_catalog
from mixture.data.store import open_store
from mixture.data.texts import Reason
from mixture.errors import IngestError

DAY = datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
IDS = {
    "decimal": (pa.array([Decimal(101), Decimal(-7)], pa.decimal128(38, 0)), ["101", "-7"]),
    "wide decimal": (pa.array([Decimal(10**60), Decimal(2)], pa.decimal256(70, 0)), [str(10**60), "2"]),
    "decimal places": (pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(9, 2)), ["1.5", "2"]),
    "int8": (pa.array([1, -2], pa.int8()), ["1", "-2"]),
    "uint64": (pa.array([2**64 - 1, 0], pa.uint64()), [str(2**64 - 1), "0"]),
    "double": (pa.array([0.5, 1e300]), ["0.5", "1e+300"]),
    "float": (pa.array([0.1, 0.2], pa.float32()), ["0.1", "0.2"]),
    "bool": (pa.array([True, False]), ["true", "false"]),
    "binary": (pa.array([b"a", b"\xff"]), ["a", "\\xff"]),
    "fixed binary": (pa.array([b"ab", b"cd"], pa.binary(2)), ["ab", "cd"]),
    "large text": (pa.array(["a", "é"], pa.large_string()), ["a", "é"]),
    "text view": (pa.array(["a", "é"], pa.string_view()), ["a", "é"]),
    "dictionary": (pa.array(["a", "é"]).dictionary_encode(), ["a", "é"]),
    "date": (pa.array([DAY.date(), datetime.date(1, 1, 1)]), ["2024-05-06", "0001-01-01"]),
    "time": (pa.array([DAY.time(), datetime.time(1)], pa.time64("us")), ["07:08:09.000000", "01:00:00.000000"]),
    "moment": (pa.array([DAY, DAY + datetime.timedelta(1)], pa.timestamp("s", "Asia/Tokyo")), None),
    "duration": (pa.array([5, 6], pa.duration("s")), ["5", "6"]),
    "uuid": (
        pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes], pa.uuid()),
        [str(uuid.UUID(int=n)) for n in (1, 2)],
    ),
}


@pytest.mark.parametrize("kind", IDS)
def test_an_id_is_one_text_in_a_store_and_in_a_catalog(tmp_path: Path, sources: WriteSources, kind: str):
    column, texts = IDS[kind]
    tokens = pa.array([[1, 2], [3]], pa.list_(pa.uint16()))
    pq.write_table(pa.table({"text": ["a", "b"], "n": column, "input_ids": tokens}), tmp_path / "in.parquet")
    ingest(sources("domains: {a: {files: [in.parquet], id: n}}"), tmp_path / "store")
    ids = pq.read_table(tmp_path / "store" / "documents_by_id.parquet")["id"].to_pylist()
    if texts is not None:
        assert ids == sorted(texts)
    text = "tokenizer: bytes\nvocabulary_size: 257\nend_of_document: 256\ndtype: uint16\n"
    text += "domains: {a: {format: parquet, files: [in.parquet], id: n}}"
    build_catalog(sources(text), tmp_path / "catalog")
    assert pq.read_table(tmp_path / "catalog" / "documents_by_id.parquet")["id"].to_pylist() == ids
    assert open_store(tmp_path / "store").document(ids[0]).num_rows == 1


@pytest.mark.parametrize("kind", ["decimal", "wide decimal", "int8", "uint64", "large text", "date"])
def test_a_domain_is_the_text_that_an_id_is(tmp_path: Path, sources: WriteSources, kind: str):
    column, texts = IDS[kind]
    assert texts is not None
    pq.write_table(pa.table({"text": ["a", "b"], "n": column}), tmp_path / "in.parquet")
    report = ingest(sources("files: [in.parquet]\ndomain_column: n"), tmp_path / "store")
    assert [domain.name for domain in report.domains] == sorted(texts)


def test_a_domain_is_no_number_with_places(tmp_path: Path, sources: WriteSources):
    values = pa.array([Decimal("3.00"), Decimal("4.50")], pa.decimal128(9, 2))
    pq.write_table(pa.table({"text": ["a", "b"], "n": values}), tmp_path / "in.parquet")
    report = ingest(sources("files: [in.parquet]\ndomain_column: n"), tmp_path / "store")
    assert [domain.name for domain in report.domains] == ["3"]
    assert report.by_column is not None
    assert report.by_column.dropped == {Reason.DOMAIN_ILLEGAL: 1}


@pytest.mark.parametrize("kind", ["parquet", "arrow", "saved", "dictionary"])
def test_class_labels_are_their_names(tmp_path: Path, sources: WriteSources, kind: str):
    import datasets

    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["neg", "pos"]),
            "meta": {"topic": datasets.ClassLabel(names=["art", "law"])},
        }
    )
    rows = [{"text": f"t{n}", "label": n % 2 if n < 4 else None, "meta": {"topic": n // 2 % 2}} for n in range(6)]
    made = datasets.Dataset.from_list(rows, features=features)
    match kind:
        case "saved":
            made.save_to_disk(tmp_path / "in")
        case "arrow":
            (tmp_path / "in").mkdir()
            table = made.data.table
            with pa.ipc.new_file(str(tmp_path / "in" / "a.arrow"), table.schema) as writer:
                writer.write_table(table)
        case _:
            (tmp_path / "in").mkdir()
            made.to_parquet(tmp_path / "in" / "a.parquet")
    text = "files: [in]\ndomain_column: label\nattributes: [meta.topic]\n"
    report = ingest(sources(text), tmp_path / "store")
    assert [(domain.name, domain.documents) for domain in report.domains] == [("neg", 2), ("pos", 2)]
    assert report.by_column is not None
    assert report.by_column.dropped == {Reason.DOMAIN_MISSING: 2}
    topics = pq.read_table(tmp_path / "store" / "documents.parquet")["meta.topic"].to_pylist()
    assert sorted(topics) == ["art", "art", "law", "law"]


NESTED = [
    {"title": f"T{n}", "body": f"b{n}" if n else None, "meta": {"id": f"i{n}", "deep": {"lang": "de", "n": n}}}
    for n in range(4)
]


@pytest.mark.parametrize("kind", ["lines", "parquet", "arrow"])
def test_fields_of_objects_are_columns_and_texts_are_joined(tmp_path: Path, sources: WriteSources, kind: str):
    table = pa.Table.from_pylist(NESTED)
    match kind:
        case "lines":
            write_lines(tmp_path / "in.jsonl", NESTED)
        case "parquet":
            pq.write_table(table, tmp_path / "in.parquet", row_group_size=3)
        case "arrow":
            with pa.ipc.new_stream(str(tmp_path / "in.arrow"), table.schema) as writer:
                writer.write_table(table)
    text = (
        "files: ['in.*']\ndomain_column: meta.deep.lang\nid: meta.id\nattributes: [meta.deep.n]\ntext: [title, body]\n"
    )
    report = ingest(sources(text), tmp_path / "store")
    assert [(domain.name, domain.documents) for domain in report.domains] == [("de", 4)]
    write_lines(
        tmp_path / "joined.jsonl",
        [{"id": row["meta"]["id"], "text": "\n\n".join(filter(None, (row["title"], row["body"])))} for row in NESTED],
    )
    assert (
        report.digest == ingest(sources("domains: {de: {files: [joined.jsonl], id: id}}"), tmp_path / "joined").digest
    )
    documents = pq.read_table(tmp_path / "store" / "documents.parquet").to_pylist()
    assert {row["id"]: row["meta.deep.n"] for row in documents} == {f"i{n}": n for n in range(4)}
    with pytest.raises(IngestError) as caught:
        ingest(sources(text.replace("meta.id", "meta.ident")), tmp_path / "other")
    assert caught.value.code == "missing-column"


def test_a_field_of_an_object_that_is_null_is_null_and_a_whole_name_comes_first(tmp_path: Path, sources: WriteSources):
    rows = [{"text": "a", "m": {"id": "x"}}, {"text": "b", "m": None}, {"text": "c", "m": {"id": "y"}, "m.id": "z"}]
    write_lines(tmp_path / "lines" / "in.jsonl", rows)
    schema = pa.schema([("text", pa.string()), ("m", pa.struct([("id", pa.string())])), ("m.id", pa.string())])
    pq.write_table(pa.Table.from_pylist(rows[:2], schema.remove(2)), tmp_path / "a.parquet")
    pq.write_table(pa.Table.from_pylist(rows[2:], schema), tmp_path / "b.parquet")
    found = []
    for pattern in ("lines/in.jsonl", "*.parquet"):
        out = tmp_path / f"store-{len(found)}"
        ingest(sources(f"domains: {{a: {{files: ['{pattern}'], id: m.id}}}}"), out)
        found.append(pq.read_table(out / "documents_by_id.parquet")["id"].to_pylist())
    assert found[0] == found[1]
    assert {"x", "z"} <= set(found[0])


@pytest.mark.parametrize("text", [["a", None], ["", "b"], [None, "  "], [7, "b"]])
def test_joined_texts_leave_out_what_is_empty_and_refuse_what_is_no_text(
    tmp_path: Path, sources: WriteSources, text: list[object]
):
    write_lines(tmp_path / "in.jsonl", [{"t": text[0], "u": text[1]}, {"t": "x", "u": "y"}])
    (domain,) = ingest(sources("domains: {a: {files: [in.jsonl], text: [t, u]}}"), tmp_path / "store").domains
    expected = {(None, "  "): Reason.NULL_TEXT, (7, "b"): Reason.NOT_TEXT}.get(tuple(text))
    assert domain.dropped == ({} if expected is None else {expected: 1})
    sizes = {"a": 1, "b": 1}
    assert domain.tokens == len("x\n\ny") + 1 + (0 if expected else sizes[str(text[0] or text[1])] + 1)


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv", "arrow", "txt"])
def test_folders_that_say_a_value_are_columns(tmp_path: Path, sources: WriteSources, kind: str):
    for number, (lang, year) in enumerate([("de", "2023"), ("fr%2Fbe", "2024"), ("__HIVE_DEFAULT_PARTITION__", "08")]):
        folder = tmp_path / "in" / f"lang={lang}" / f"year={year}"
        folder.mkdir(parents=True)
        table = pa.table({"text": [f"text {number}"]})
        match kind:
            case "parquet":
                pq.write_table(table, folder / "a.parquet")
            case "arrow":
                with pa.ipc.new_stream(str(folder / "a.arrow"), table.schema) as writer:
                    writer.write_table(table)
            case "jsonl":
                write_lines(folder / "a.jsonl", table.to_pylist())
            case "csv":
                (folder / "a.csv").write_text(f"text\ntext {number}\n")
            case "txt":
                (folder / "a.txt").write_text(f"text {number}")
    text = "files: [in]\ndomain_column: lang\nattributes: [year]\n"
    report = ingest(sources(text), tmp_path / "store")
    assert [domain.name for domain in report.domains] == ["de", "fr/be"]
    assert report.by_column is not None
    assert report.by_column.dropped == {Reason.DOMAIN_MISSING: 1}
    rows = pq.read_table(tmp_path / "store" / "documents.parquet").to_pylist()
    assert {(row["domain"], row["year"]) for row in rows} == {("de", "2023"), ("fr/be", "2024")}
