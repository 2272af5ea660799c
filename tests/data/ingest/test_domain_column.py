"""A column can name the domain of each row: names are as written, and what can be none is left out with a reason."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import open_store, verify_store
from mixture.data.texts import Reason, Unfit
from mixture.errors import IngestError, MixtureError

ROWS = [{"text": f"document {n}", "id": n, "label": ["08", "8", "no", "web/en"][n % 4]} for n in range(40)]
BY_COLUMN = "files: [in.jsonl]\nid: id\ndomain_column: label\n"


@pytest.fixture
def by_domain(tmp_path: Path, sources: WriteSources) -> str:
    """The digest of the same documents in files by domain."""
    names = sorted({row["label"] for row in ROWS})
    for number, name in enumerate(names):
        write_lines(tmp_path / f"{number}.jsonl", [row for row in ROWS if row["label"] == name])
    lines = [f"  '{name}': {{files: [{number}.jsonl], id: id}}" for number, name in enumerate(names)]
    return ingest(sources("domains:\n" + "\n".join(lines)), tmp_path / "by-domain").digest


@pytest.mark.parametrize("kind", ["lines", "pieces", "parquet", "dictionary", "with domains"])
def test_rows_that_name_their_domain_make_the_store_of_files_by_domain(
    tmp_path: Path, sources: WriteSources, by_domain: str, kind: str, monkeypatch: pytest.MonkeyPatch
):
    write_lines(tmp_path / "in.jsonl", ROWS)
    text = BY_COLUMN
    match kind:
        case "pieces":
            monkeypatch.setattr("mixture.data.texts.lines._PIECE", 100)
            monkeypatch.setattr("mixture.data.ingest.work._JOB_BYTES", 300)
        case "parquet" | "dictionary":
            table = pa.Table.from_pylist(ROWS)
            if kind == "dictionary":
                table = table.set_column(2, "label", table["label"].dictionary_encode())
            pq.write_table(table, tmp_path / "in.parquet", row_group_size=7)
            text = text.replace("jsonl", "parquet")
        case "with domains":
            write_lines(tmp_path / "in.jsonl", ROWS[:20])
            write_lines(tmp_path / "no.jsonl", [row for row in ROWS[20:] if row["label"] == "no"])
            write_lines(tmp_path / "in2.jsonl", [row for row in ROWS[20:] if row["label"] != "no"])
            text = text.replace("in.jsonl", "in.jsonl, in2.jsonl")
            text += "domains: {no: {files: [no.jsonl], id: id}}\n"
    report = ingest(sources(text), tmp_path / "store")
    assert report.digest == by_domain
    assert [domain.name for domain in report.domains] == ["08", "8", "no", "web/en"]
    assert verify_store(tmp_path / "store") == []


def test_names_that_look_alike_are_two_domains_and_are_told(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", ROWS)
    report = ingest(sources(BY_COLUMN), tmp_path / "store")
    assert report.look_alike == (("08", "8"),)
    assert report.by_column is not None
    assert (report.by_column.files, report.by_column.source_bytes) == (1, (tmp_path / "in.jsonl").stat().st_size)


def test_whole_numbers_are_their_digits_and_what_is_no_name_is_left_out(tmp_path: Path, sources: WriteSources):
    names = [8, -1, 2**70, "null", None, "", " \t", True, 8.0, ["a"], {}, "a\nb", "x@validation", "y" * 201, "\ud800"]
    write_lines(tmp_path / "in.jsonl", [{"text": str(n), "label": name} for n, name in enumerate(names)])
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write('{"text": "without"}\n')
    report = ingest(sources("files: [in.jsonl]\ndomain_column: label\n"), tmp_path / "store")
    assert [domain.name for domain in report.domains] == ["-1", str(2**70), "8", "null"]
    assert report.by_column is not None
    assert report.by_column.dropped == {Reason.DOMAIN_MISSING: 4, Reason.DOMAIN_ILLEGAL: 8}
    rows = pq.read_table(tmp_path / "store" / "quarantine.parquet").to_pylist()
    assert {(row["reason"], row["start"], row["detail"]) for row in rows} >= {
        ("domain-missing", "without", None),
        ("domain-illegal", "8", "8.0"),
        ("domain-illegal", "12", "x@validation"),
    }
    assert {row["domain"] for row in rows} == {None}
    with pytest.raises(IngestError, match="domain-missing") as caught:
        ingest(sources("files: [in.jsonl]\ndomain_column: label\n"), tmp_path / "strict", unfit=Unfit.REFUSE)
    assert str(caught.value.place).endswith("in.jsonl:5")


def test_whole_numbers_in_parquet_are_names(tmp_path: Path, sources: WriteSources):
    table = pa.table({"text": ["a", "b", "c"], "label": pa.array([8, 2**63 + 1, None], pa.uint64())})
    pq.write_table(table, tmp_path / "in.parquet")
    report = ingest(sources("files: [in.parquet]\ndomain_column: label\n"), tmp_path / "store")
    assert [domain.name for domain in report.domains] == ["8", str(2**63 + 1)]


def test_a_domain_of_which_no_row_is_a_document_is_reported(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "a", "label": "x"}, {"text": None, "label": "y"}])
    report = ingest(sources("files: [in.jsonl]\ndomain_column: label\n"), tmp_path / "store")
    assert [(domain.name, domain.documents, domain.dropped) for domain in report.domains] == [
        ("x", 1, {}),
        ("y", 0, {Reason.NULL_TEXT: 1}),
    ]
    assert list(open_store(report.path).domains) == ["x"]


def test_the_same_document_twice_in_a_domain_is_there_once(tmp_path: Path, sources: WriteSources):
    rows = [{"text": "same", "label": name} for name in ("a", "b", "a", "a")]
    write_lines(tmp_path / "in.jsonl", rows)
    report = ingest(sources("files: [in.jsonl]\ndomain_column: label\n"), tmp_path / "store")
    assert [(one.documents, one.dropped) for one in report.domains] == [(1, {Reason.DUPLICATE: 2}), (1, {})]


@pytest.mark.parametrize("pieces", [1 << 26, 200])
def test_a_column_of_too_many_names_is_refused_with_what_to_do(
    tmp_path: Path, sources: WriteSources, monkeypatch: pytest.MonkeyPatch, pieces: int
):
    monkeypatch.setattr("mixture.data.ingest.sorted_runs.MOST_DOMAINS", 20)
    monkeypatch.setattr("mixture.data.ingest.targets.MOST_DOMAINS", 20)
    monkeypatch.setattr("mixture.data.texts.lines._PIECE", pieces)
    monkeypatch.setattr("mixture.data.ingest.work._JOB_BYTES", pieces)
    path = sources("files: [in.jsonl]\ndomain_column: id\n")
    write_lines(tmp_path / "in.jsonl", [{"text": "x", "id": n} for n in range(20)])
    assert len(ingest(path, tmp_path / "most").domains) == 20
    write_lines(tmp_path / "in.jsonl", [{"text": "x", "id": n} for n in range(21)])
    with pytest.raises(IngestError, match="names more than 20 domains") as caught:
        ingest(path, tmp_path / "store")
    assert caught.value.code == "too-many-domains"
    assert "labels" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("domain_column: label", "missing-key", ":1:1"),
        ("files: [in.jsonl]", "missing-key", ":1:1"),
        ("domains: {a: {files: [in.jsonl]}}\nid: id", "missing-key", ":1:1"),
        ("domains: {a: {files: [in.jsonl]}}\nfiles: [in.jsonl]\ndomain_column: label", "files-shared", ":2:9"),
        ("files: [in.jsonl]\ndomain_column: lable", "missing-column", ":1:1"),
        ("domains: {a: {files: [in.jsonl], domain_column: label}}", "unknown-key", ":1:34"),
    ],
)
def test_sources_that_do_not_say_it_whole_are_refused(
    tmp_path: Path, sources: WriteSources, text: str, code: str, where: str
):
    write_lines(tmp_path / "in.jsonl", ROWS)
    with pytest.raises(MixtureError) as caught:
        ingest(sources(text), tmp_path / "store")
    assert caught.value.code == code
    assert f"SOURCES.yaml{where}" in str(caught.value)
