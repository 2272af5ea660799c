"""What is left out is counted exactly, listed with reason and place in bounded space, and strictly refused."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import open_store, verify_store
from mixture.data.texts import Reason, Unfit
from mixture.data.texts.quarantine import EXAMPLES
from mixture.errors import IngestError, Place, StoreError

QUARANTINE = "quarantine.parquet"


def table_of(store: Path) -> list[dict[str, object]]:
    return pq.read_table(store / QUARANTINE).to_pylist()


def test_lines_left_out_are_listed_with_reason_byte_id_and_first_characters(tmp_path: Path, sources: WriteSources):
    lines = [
        b'{"text": "good", "id": 1}',
        b'{"text": null, "id": "two"}',
        b'{"text": "a\xff"}',
        b"{bad",
        b'{"text": "  "}',
        b'{"text": "\\ud800 half", "id": 5}',
        b'{"text": ["x"]}',
    ]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines))
    report = ingest(sources("domains: {web: {files: [in.jsonl], id: id}}"), tmp_path / "store")
    starts = [sum(len(line) + 1 for line in lines[:n]) for n in range(len(lines))]
    rows = table_of(tmp_path / "store")
    assert [(row["reason"], row["byte"], row["id"], row["start"]) for row in rows] == [
        ("null-text", starts[1], "two", None),
        ("not-utf-8", starts[2], None, '{"text": "a\\xff"}'),
        ("not-json", starts[3], None, "{bad"),
        ("blank-text", starts[4], None, "  "),
        ("lone-surrogate", starts[5], "5", "\\ud800 half"),
        ("not-text", starts[6], None, '["x"]'),
    ]
    assert {(row["domain"], row["file"], row["row"]) for row in rows} == {("web", "in.jsonl", None)}
    assert "property name" in str(rows[2]["detail"])
    assert report.quarantine == 6


@pytest.mark.parametrize("groups", [3, 100])
def test_rows_of_tables_are_listed_by_their_number_in_the_file(tmp_path: Path, sources: WriteSources, groups: int):
    values = [None if n in (4, 11) else f"text {n}" for n in range(20)]
    pq.write_table(pa.table({"text": values}), tmp_path / "in.parquet", row_group_size=groups)
    ingest(sources("domains: {web: {files: [in.parquet]}}"), tmp_path / "store")
    rows = table_of(tmp_path / "store")
    assert [(row["row"], row["byte"]) for row in rows] == [(4, None), (11, None)]
    with pytest.raises(IngestError, match=r"in\.parquet: row 4: this would be left out: null-text") as caught:
        ingest(sources("domains: {web: {files: [in.parquet]}}"), tmp_path / "strict", unfit=Unfit.REFUSE)
    assert (caught.value.code, caught.value.facts["row"], caught.value.facts["reason"]) == ("left-out", 4, "null-text")


def test_counts_are_exact_and_examples_the_first_of_each_domain_and_reason_whatever_the_jobs(
    tmp_path: Path, sources: WriteSources, monkeypatch: pytest.MonkeyPatch
):
    rows = [{"text": None if n % 2 else "", "label": f"d{n % 3}", "n": n} for n in range(600)]
    rows += [{"text": f"t{n}", "label": "d0"} for n in range(10)]
    for number in range(3):
        write_lines(tmp_path / f"{number}.jsonl", rows[number::3])
    path = sources("files: ['*.jsonl']\nid: n\ndomain_column: label\n")
    expected = Counter(
        (row["label"], Reason.EMPTY_TEXT if row["text"] == "" else Reason.NULL_TEXT) for row in rows[:600]
    )
    tables = []
    for size in (1 << 26, 2000, 700):
        monkeypatch.setattr("mixture.data.texts.lines._PIECE", size)
        monkeypatch.setattr("mixture.data.ingest.work._JOB_BYTES", size)
        report = ingest(path, tmp_path / f"store-{size}")
        found = Counter({(one.name, reason): n for one in report.domains for reason, n in one.dropped.items()})
        assert found == expected
        tables.append(table_of(report.path))
        assert report.quarantine == len(tables[-1])
    assert tables[0] == tables[1] == tables[2]
    assert Counter((row["domain"], row["reason"]) for row in tables[0]) == dict.fromkeys(expected, 20)
    first = [row["id"] for row in tables[0] if (row["domain"], row["reason"]) == ("d0", "empty-text")]
    assert first == [str(n) for n in range(0, 600, 6)][:20]


def test_the_table_goes_with_the_store_and_not_into_its_digest(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "a"}])
    path = sources("domains: {web: {files: [in.jsonl]}}")
    plain = ingest(path, tmp_path / "plain")
    assert (plain.quarantine, (tmp_path / "plain" / QUARANTINE).exists()) == (0, False)
    write_lines(tmp_path / "in.jsonl", [{"text": None}, {"text": "a"}])
    assert ingest(path, tmp_path / "store").digest == plain.digest
    listed = json.loads((tmp_path / "store" / "store.json").read_text(encoding="utf-8"))["tables"]
    assert QUARANTINE in [table["file"] for table in listed]
    assert verify_store(tmp_path / "store") == []
    assert open_store(tmp_path / "store").domains["web"].documents == 1
    data = (tmp_path / "store" / QUARANTINE).read_bytes()
    (tmp_path / "store" / QUARANTINE).write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(StoreError, match=r"quarantine\.parquet: the file was changed"):
        open_store(tmp_path / "store")


@pytest.mark.parametrize("packed", [False, True])
def test_strictly_the_first_line_left_out_is_named_by_its_number(tmp_path: Path, sources: WriteSources, packed: bool):
    data = b'{"text": "a"}\n' * 4000 + b'{"text": ""}\n' + b'{"text": null}\n'
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(data)) if packed else (tmp_path / "in.jsonl").write_bytes(data)
    with pytest.raises(IngestError, match="empty-text") as caught:
        ingest(sources("domains: {web: {files: ['in*']}}"), tmp_path / "store", unfit=Unfit.REFUSE)
    assert caught.value.place is not None
    assert caught.value.place.line == 4001
    assert not (tmp_path / "store").exists()


def test_strictly_a_duplicate_is_no_fault(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "a"}, {"text": "a"}])
    report = ingest(sources("domains: {web: {files: [in.jsonl]}}"), tmp_path / "store", unfit=Unfit.REFUSE)
    assert report.domains[0].dropped == {Reason.DUPLICATE: 1}


def test_strictly_what_an_earlier_ingest_has_left_out_is_refused_too(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "a"}, {"text": None}])
    (tmp_path / "late.jsonl").write_bytes(b"")
    path = sources("domains:\n  a: {files: [in.jsonl]}\n  b: {files: [b.jsonl.gz]}\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "b"}\n' * 1000)[:-9])
    with pytest.raises(IngestError, match=r"b\.jsonl\.gz: can not be read"):
        ingest(path, tmp_path / "store")  # the domain a is read by now
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "b"}\n'))
    with pytest.raises(IngestError, match=r"in\.jsonl:2: this would be left out: null-text"):
        ingest(path, tmp_path / "store", unfit=Unfit.REFUSE)
    assert ingest(path, tmp_path / "store").documents == 2


def test_a_document_that_is_too_large_is_left_out_and_the_next_ones_read(
    tmp_path: Path, sources: WriteSources, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mixture.data.texts.lines._BLOCK", 1000)
    for module in ("lines", "texts"):
        monkeypatch.setattr(f"mixture.data.texts.{module}.LARGEST_DOCUMENT", 100)
    write_lines(tmp_path / "in.jsonl", [{"text": "a"}, {"text": "x" * 300_000}, {"text": "b"}, {"text": "y" * 200}])
    (tmp_path / "big.txt").write_text("z" * 101)
    (tmp_path / "small.txt").write_text("z" * 100)
    for size in (1 << 26, 10_000):
        monkeypatch.setattr("mixture.data.texts.lines._PIECE", size)
        path = sources("domains:\n  a: {files: [in.jsonl]}\n  b: {files: ['*.txt']}\n")
        report = ingest(path, tmp_path / f"store-{size}")
        assert [(one.documents, one.dropped) for one in report.domains] == [
            (2, {Reason.TOO_LARGE: 2}),
            (1, {Reason.TOO_LARGE: 1}),
        ]
        assert [(row["file"], row["byte"]) for row in table_of(report.path)] == [
            ("in.jsonl", 14),
            ("in.jsonl", 14 + 300_013 + 14),
            ("big.txt", None),
        ]


def test_long_ids_and_texts_are_cut(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "\u200b" * 10_000, "id": "i" * 10_000}, {"text": "a"}])
    ingest(sources("domains: {web: {files: [in.jsonl], id: id}}"), tmp_path / "store")
    (row,) = table_of(tmp_path / "store")
    assert (len(str(row["id"])), row["start"]) == (100, "\u200b" * 100)


def test_files_whose_names_are_not_utf8_are_named_in_escapes(tmp_path: Path, sources: WriteSources):
    name = os.fsdecode(b"in\xff.jsonl")
    write_lines(tmp_path / name, [{"text": "good"}, {"text": ""}])
    listing = sources("domains: {web: {files: [in*.jsonl]}}")
    ingest(listing, tmp_path / "store")
    assert [row["file"] for row in table_of(tmp_path / "store")] == ["in\\udcff.jsonl"]
    with pytest.raises(IngestError) as caught:
        ingest(listing, tmp_path / "strict", unfit=Unfit.REFUSE)
    assert caught.value.place == Place(file=str(tmp_path / name), line=2)


def test_the_first_examples_do_not_depend_on_the_order_in_which_files_are_listed(tmp_path: Path, sources: WriteSources):
    for name in "ab":
        write_lines(tmp_path / f"{name}.jsonl", [{"text": "", "id": f"{name}{n}"} for n in range(EXAMPLES)])
    write_lines(tmp_path / "c.jsonl", [{"text": "good", "id": "c"}])
    tables = []
    for names in ("a.jsonl, b.jsonl, c.jsonl", "c.jsonl, b.jsonl, a.jsonl"):
        ingest(sources(f"domains: {{web: {{files: [{names}], id: id}}}}"), tmp_path / names)
        tables.append(table_of(tmp_path / names))
    assert tables[0] == tables[1]
    assert [row["id"] for row in tables[0]] == [f"a{n}" for n in range(EXAMPLES)]


@pytest.mark.parametrize("size", [1 << 26, 200])
def test_duplicates_are_listed_with_the_places_of_those_left_out(
    tmp_path: Path, sources: WriteSources, monkeypatch: pytest.MonkeyPatch, size: int
):
    monkeypatch.setattr("mixture.data.texts.lines._PIECE", size)
    monkeypatch.setattr("mixture.data.ingest.work._JOB_BYTES", size)
    rows = [{"id": f"d{n % 7}", "text": f"text {n % 7}"} for n in range(21)]
    write_lines(tmp_path / "b.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows[3:5]), tmp_path / "a.parquet")
    report = ingest(sources("domains: {web: {files: ['?.*'], id: id}}"), tmp_path / "store")
    assert report.domains[0].dropped == {Reason.DUPLICATE: 16}
    starts = [sum(len(json.dumps(row)) + 1 for row in rows[:n]) for n in range(21)]
    # Of each, the one in the first place is kept: two stand in the table.
    left = sorted([starts[n] for n in (3, 4, *range(7, 21))])
    assert [(row["reason"], row["domain"], row["file"], row["row"], row["byte"]) for row in table_of(report.path)] == [
        ("duplicate", "web", "b.jsonl", None, start) for start in left
    ]
    assert {row["id"] for row in table_of(report.path)} == {f"d{n}" for n in range(7)}
    assert report.quarantine == 16


def test_of_many_duplicates_the_first_are_listed_and_all_counted(tmp_path: Path, sources: WriteSources):
    pq.write_table(pa.table({"text": ["same"] * 50}), tmp_path / "in.parquet")
    report = ingest(sources("domains: {web: {files: [in.parquet]}}"), tmp_path / "store")
    assert report.domains[0].dropped == {Reason.DUPLICATE: 49}
    assert [row["row"] for row in table_of(report.path)] == list(range(1, EXAMPLES + 1))


def test_documents_without_an_id_keep_their_file_and_place(tmp_path: Path, sources: WriteSources):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a note")
    pq.write_table(pa.table({"text": ["r0", None, "r2"]}), tmp_path / "t.parquet", row_group_size=1)
    write_lines(tmp_path / "l.jsonl", [{"text": "l0"}, {"text": "l1"}])
    write_lines(tmp_path / "i.jsonl", [{"text": "i0", "id": "own"}])
    text = "domains:\n  a: {files: [notes/*.txt, '?.parquet', l.jsonl]}\n  b: {files: [i.jsonl], id: id}\n"
    store = open_store(ingest(sources(text), tmp_path / "store").path)
    rows = pq.read_table(store.path / "documents.parquet").to_pylist()
    assert {(row["file"], row["row"], row["byte"]) for row in rows if row["domain"] == "a"} == {
        ("notes/a.txt", None, None),
        ("t.parquet", 0, None),
        ("t.parquet", 2, None),
        ("l.jsonl", None, 0),
        ("l.jsonl", None, 15),
    }
    ingest(sources("domains: {b: {files: [i.jsonl], id: id}}"), tmp_path / "named")
    assert pq.read_schema(tmp_path / "named" / "documents.parquet").names == ["domain", "id", "first_token", "tokens"]


def test_a_column_of_the_sources_comes_before_where_documents_are_from(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "l.jsonl", [{"text": "l0", "file": "own"}])
    ingest(sources("domains: {a: {files: [l.jsonl], attributes: [file]}}"), tmp_path / "store")
    rows = pq.read_table(tmp_path / "store" / "documents.parquet").to_pylist()
    assert [(row["file"], row["byte"]) for row in rows] == [("own", 0)]
