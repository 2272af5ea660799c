"""Files that nothing reads are refused by name, all at once, or left out and listed; a source is never empty unsaid."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, write_lines
from pyarrow import orc

from mixture.data.ingest import ingest, survey_sources
from mixture.data.store import open_store, verify_store
from mixture.data.texts import Empty, Reason, Skipped, Unfit, Unreadable, UnreadableError
from mixture.errors import IngestError

ROWS = [{"id": f"d{n}", "text": f"document {n}, é " * (1 + n % 5)} for n in range(30)]
LINES = b"".join(b'{"id": "%s", "text": "%s"}\n' % (r["id"].encode(), r["text"].encode()) for r in ROWS)
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def packed(name: str) -> bytes:
    match name:
        case "gz" | "gzip":
            return gzip.compress(LINES)
        case "bz2":
            return bz2.compress(LINES[:700]) + bz2.compress(LINES[700:])
        case "xz":
            return lzma.compress(LINES)
        case "lzma":
            return lzma.compress(LINES, format=lzma.FORMAT_ALONE)
    return pa.Codec("zstd").compress(LINES, asbytes=True)


def csv_text(delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ["id", "text"], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue()


@pytest.fixture
def expected(tmp_path: Path, sources: WriteSources) -> str:
    write_lines(tmp_path / "expected" / "in.jsonl", ROWS)
    return ingest(sources("domains: {a: {files: [expected/in.jsonl], id: id}}"), tmp_path / "store-expected").digest


@pytest.mark.parametrize("ending", ["gz", "gzip", "zst", "zstd", "bz2", "xz", "lzma"])
def test_lines_are_read_however_they_are_packed(tmp_path: Path, sources: WriteSources, expected: str, ending: str):
    data = packed(ending)
    (tmp_path / f"in.jsonl.{ending}").write_bytes(data)
    path = sources(f"domains: {{a: {{files: [in.jsonl.{ending}], id: id}}}}")
    assert ingest(path, tmp_path / "store").digest == expected
    (tmp_path / f"in.jsonl.{ending}").write_bytes(data[:-7])
    with pytest.raises(IngestError, match=rf"in\.jsonl\.{ending}: can not be read") as caught:
        ingest(path, tmp_path / "cut")
    assert caught.value.code == "source-unreadable"


@pytest.mark.parametrize("kind", ["gz", "zst", "bz2", "xz"])
def test_packed_lines_without_the_ending_are_told_by_their_first_bytes(
    tmp_path: Path, sources: WriteSources, expected: str, kind: str
):
    (tmp_path / "in.jsonl").write_bytes(packed(kind))
    assert ingest(sources("domains: {a: {files: [in.jsonl], id: id}}"), tmp_path / "store").digest == expected


def test_zstd_with_a_window_that_is_too_long_is_refused_with_the_command_that_helps(
    tmp_path: Path, sources: WriteSources
):
    (tmp_path / "in.jsonl.zst").write_bytes(
        subprocess.run(["zstd", "-q", "--ultra", "--long=30", "-c"], input=LINES, stdout=-1, check=True).stdout
    )
    with pytest.raises(IngestError, match=r"window is 1,024 MB, of up to 128 MB: .*--long=27") as caught:
        ingest(sources("domains: {a: {files: [in.jsonl.zst]}}"), tmp_path / "store")
    assert caught.value.code == "source-unreadable"


@pytest.mark.parametrize(("name", "delimiter"), [("in.csv", ","), ("in.tsv", "\t"), ("in.csv.gz", ",")])
def test_csv_is_a_table(tmp_path: Path, sources: WriteSources, expected: str, name: str, delimiter: str):
    data = csv_text(delimiter).encode("utf-8-sig")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    path = sources(f"domains: {{a: {{files: [{name}], id: id}}}}")
    assert ingest(path, tmp_path / "store").digest == expected
    with pytest.raises(IngestError, match="has no column 'body'") as caught:
        ingest(sources(f"domains: {{a: {{files: [{name}], text: body}}}}"), tmp_path / "other")
    assert caught.value.code == "missing-column"


def test_rows_of_csv_are_left_out_with_their_reason(tmp_path: Path, sources: WriteSources):
    cells = b'text,n\n"two\nlines, ""quoted""",1\n,2\nthree,3,4\n\nfour\n\xff,5\nsix,6\n'
    (tmp_path / "in.csv").write_bytes(cells)
    report = ingest(sources("domains: {a: {files: [in.csv], id: n}}"), tmp_path / "store")
    (domain,) = report.domains
    assert domain.documents == 2
    assert domain.dropped == {Reason.NULL_TEXT: 1, Reason.INVALID_UTF8: 1, Reason.RAGGED_CSV: 2}
    rows = pq.read_table(tmp_path / "store" / "quarantine.parquet").to_pylist()
    assert [(row["reason"], row["row"], row["detail"]) for row in rows] == [
        ("null-text", 1, None),
        ("ragged-csv", 2, "3 cells of 2"),
        ("ragged-csv", 3, "1 cells of 2"),
        ("not-utf-8", 4, None),
    ]
    (tmp_path / "in.csv").write_bytes(b'text\n"one\n')
    with pytest.raises(IngestError, match="not a row of CSV"):
        ingest(sources("domains: {a: {files: [in.csv]}}"), tmp_path / "open")


def rows_of_orc() -> bytes:
    out = io.BytesIO()
    orc.write_table(pa.table({"text": ["x"]}), out)
    return out.getvalue()


def arrow_file() -> bytes:
    out = io.BytesIO()
    table = pa.table({"text": ["x"]})
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def foreign() -> dict[str, tuple[str, bytes, str]]:
    png = b"\x89PNG\r\n\x1a\n" + bytes(40)
    array = io.BytesIO()
    np.save(array, np.arange(9))
    table = io.BytesIO()
    pq.write_table(pa.table({"text": ["x"]}), table)
    return {
        "a copy": ("x.jsonl.bak", LINES, r"ends with \.bak after \.jsonl: .* name it in full; as data, say `format`"),
        "a download that is not complete": ("x.jsonl.gz.PART", gzip.compress(LINES)[:-9], r"ends with \.PART after"),
        "a picture": ("x.png", png, "holds a picture"),
        "PDF": ("x.pdf", b"%PDF-1.7 \n", "holds PDF"),
        "an array": ("x.npy", array.getvalue(), "NumPy"),
        "a table of another name": ("x.data", table.getvalue(), "holds Parquet"),
        "a table by the name of lines": ("x.jsonl", table.getvalue(), "holds Parquet, and by its name lines"),
        "packed binary": ("x.tar.gz", gzip.compress(b"name" + bytes(600)), "binary data"),
        "a table of rows": ("x.data", rows_of_orc(), "holds ORC"),
        "an Arrow file": ("x.data", arrow_file(), "holds Arrow"),
        "UTF-16": ("x.txt", "text".encode("utf-16"), "UTF-16"),
        "a pointer for lines": ("x.jsonl", LFS, "git lfs pull"),
        "a pointer for a table": ("x.parquet", LFS, "git lfs pull"),
        "a pointer for text": ("x.txt", LFS, "git lfs pull"),
        "an annexed file": ("x.txt", b"/annex/objects/SHA256E-s3--abc.txt\n", "git annex get"),
    }


@pytest.mark.parametrize("kind", foreign())
def test_a_foreign_file_is_refused_by_name(tmp_path: Path, sources: WriteSources, kind: str):
    name, data, reason = foreign()[kind]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(data)
    with pytest.raises(IngestError, match=reason) as caught:
        ingest(sources("domains: {a: {files: [in]}}"), tmp_path / "store")
    assert caught.value.code == "source-unreadable"
    assert caught.value.place is not None
    assert str(caught.value.place.file).endswith(name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "ORCHIDS are flowers."),
        ("x.txt", "ORC"),
        ("x.txt", "BZh is how a bzip2 file begins, and BZh9 one of level 9."),
        ("x.txt", "BZh91AY is no block yet"),
        ("x.txt", "PAR1 and ARROW1 are magics"),
        ("x.txt", "ARROW1 and PAR1 are magics"),
        ("x.json.ts", "export const x = 1;"),
        ("data.csv.tmpl", "{{ rows }}"),
        ("a.parquet.md", "# About"),
    ],
)
def test_a_text_is_read_whatever_word_it_begins_with_and_its_name_holds(
    tmp_path: Path, sources: WriteSources, name: str, text: str
):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text(text)
    (domain,) = ingest(sources("domains: {a: {files: [in]}}"), tmp_path / "store").domains
    assert (domain.documents, domain.dropped, domain.tokens) == (1, {}, len(text) + 1)


def test_bzip2_of_nothing_is_told_by_its_first_bytes(tmp_path: Path, sources: WriteSources):
    (tmp_path / "in.jsonl").write_bytes(bz2.compress(b""))
    write_lines(tmp_path / "b.jsonl", ROWS)
    report = ingest(sources("domains: {a: {files: [in.jsonl, b.jsonl], id: id}}"), tmp_path / "store")
    assert (report.documents, report.domains[0].dropped) == (30, {})


def test_a_copy_is_read_where_it_is_named_in_full_or_its_format_is_said(tmp_path: Path, sources: WriteSources):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.jsonl.bak").write_bytes(LINES)
    with pytest.raises(IngestError, match="name it in full"):
        ingest(sources("domains: {a: {files: ['in/*']}}"), tmp_path / "store")
    for number, files in enumerate(("[in/x.jsonl.bak]", "[./in/x.jsonl.bak]", "['in/*', in/x.jsonl.bak]")):
        assert ingest(sources(f"domains: {{a: {{files: {files}}}}}"), tmp_path / f"named-{number}").documents == 1
    path = sources("domains: {a: {files: ['in/*'], format: jsonl, id: id}}")
    assert ingest(path, tmp_path / "lines").documents == len(ROWS)
    (tmp_path / "in" / "y.json.bak").write_bytes(b"\x89PNG" + bytes(9))
    with pytest.raises(IngestError, match="holds a picture"):
        ingest(sources("domains: {a: {files: [in/y.json.bak]}}"), tmp_path / "picture")


def test_text_beside_tables_is_refused_and_read_where_it_is_named(tmp_path: Path, sources: WriteSources):
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "README.md").write_text("# About")
    with pytest.raises(IngestError, match=r"README\.md: can not be read: it is text beside files of parquet"):
        ingest(sources("domains: {a: {files: [in]}}"), tmp_path / "store")
    assert ingest(sources("domains: {a: {files: ['in/*.parquet']}}"), tmp_path / "rows").documents == 1
    assert ingest(sources("domains: {a: {files: ['in/*.parquet', in/README.md]}}"), tmp_path / "both").documents == 2


def write_some(folder: Path) -> None:
    write_lines(folder / "good.jsonl", ROWS)
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(LINES)[:-9])
    (folder / "no.parquet").write_bytes(b"hello")
    (folder / "x.png").write_bytes(b"\x89PNG" + bytes(9))


@pytest.mark.parametrize("processes", [1, 2])
def test_all_unreadable_files_are_told_at_once_or_left_out(tmp_path: Path, sources: WriteSources, processes: int):
    write_some(tmp_path / "in")
    path = sources("domains: {a: {files: ['in/*.jsonl*', in/no.parquet, in/x.png], id: id}}")
    with pytest.raises(IngestError) as caught:
        ingest(path, tmp_path / "store", processes=processes)
    for name in ("no.parquet", "x.png"):
        assert f"{name}: can not be read" in str(caught.value)
    with pytest.raises(IngestError) as caught:
        survey_sources(path)
    assert isinstance(caught.value, UnreadableError)
    assert len(caught.value.errors) == 2
    assert len(survey_sources(path, unreadable=Unreadable.QUARANTINE).unreadable) == 2
    report = ingest(path, tmp_path / "store", processes=processes, unreadable=Unreadable.QUARANTINE)
    (domain,) = report.domains
    assert (domain.documents, domain.dropped) == (30, {Reason.UNREADABLE_FILE: 3})
    rows = pq.read_table(tmp_path / "store" / "quarantine.parquet").to_pylist()
    assert {(row["reason"], row["file"], row["row"], row["byte"]) for row in rows} == {
        ("file-unreadable", f"in/{name}", None, None) for name in ("cut.jsonl.gz", "no.parquet", "x.png")
    }
    assert all("can not be read" in row["detail"] for row in rows)
    assert verify_store(tmp_path / "store") == []


def test_of_many_unreadable_files_the_text_has_their_number_and_the_first_five(tmp_path: Path, sources: WriteSources):
    for n in range(7):
        (tmp_path / f"{n}.png").write_bytes(b"\x89PNG" + bytes(9))
    for files, first in (("'?.png'", "7 files cannot be read as asked"), ("'[0-4].png'", "0.png")):
        with pytest.raises(UnreadableError) as caught:
            survey_sources(sources(f"domains: {{a: {{files: [{files}]}}}}"))
        text = str(caught.value)
        assert first in text.splitlines()[0]
        assert text.count("can not be read") == 5
        assert "4.png" in text
        assert "5.png" not in text


def test_what_is_found_to_be_unreadable_while_it_is_read_is_told_of_all_files_and_leaves_nothing(
    tmp_path: Path, sources: WriteSources, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mixture.data.texts.lines._TOGETHER", 100)
    monkeypatch.setattr("mixture.data.ingest.sorted_runs._RUN_DOCUMENTS", 5)
    write_lines(tmp_path / "b.jsonl", ROWS[:1])
    lines = "".join(f'{{"text": "only {n} in a cut file {n * 7919}"}}\n' for n in range(900)).encode()
    for name in "ac":
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines)[:-9])
    path = sources("domains: {a: {files: ['*.jsonl*'], id: id}}")
    with pytest.raises(IngestError) as caught:
        ingest(path, tmp_path / "store")
    assert "a.jsonl.gz: can not be read" in str(caught.value)
    assert "c.jsonl.gz: can not be read" in str(caught.value)
    report = ingest(path, tmp_path / "store", unreadable=Unreadable.QUARANTINE)
    assert (report.documents, report.domains[0].dropped) == (1, {Reason.UNREADABLE_FILE: 2})
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINES))
    assert ingest(path, tmp_path / "whole").documents == 930


def test_a_shard_without_a_byte_is_no_document_and_listed(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", ROWS)
    for name in ("b.jsonl", "c.jsonl.zst", "d.csv"):
        (tmp_path / name).write_bytes(b"")
    path = sources("domains: {a: {files: ['*.*l*', d.csv], id: id}}".replace("*.*l*", "?.jsonl*"))
    report = ingest(path, tmp_path / "store")
    assert (report.documents, report.domains[0].dropped) == (30, {Reason.EMPTY_FILE: 3})
    rows = pq.read_table(tmp_path / "store" / "quarantine.parquet").to_pylist()
    assert [(row["reason"], row["file"]) for row in rows] == [
        ("file-empty", "b.jsonl"),
        ("file-empty", "c.jsonl.zst"),
        ("file-empty", "d.csv"),
    ]
    with pytest.raises(IngestError, match="file-empty") as caught:
        ingest(path, tmp_path / "strict", unfit=Unfit.REFUSE)
    assert caught.value.code == "left-out"


@pytest.mark.parametrize("by_column", [False, True])
def test_a_source_without_documents_is_an_error_unless_it_is_allowed(
    tmp_path: Path, sources: WriteSources, by_column: bool
):
    write_lines(tmp_path / "in.jsonl", [{"text": "x", "label": 0.5}, {"text": None, "label": "a"}])
    if not by_column:
        write_lines(tmp_path / "in.jsonl", [{"text": " "}, {"text": None}])
    text = "files: [in.jsonl]\ndomain_column: label\n" if by_column else "domains: {a: {files: [in.jsonl]}}"
    reason = "1 null-text, 1 domain-illegal" if by_column else "1 null-text, 1 blank-text"
    with pytest.raises(IngestError, match=f"no document in its file: {reason}") as caught:
        ingest(sources(text), tmp_path / "store")
    assert caught.value.code == "source-empty"
    assert ingest(sources(text), tmp_path / "store", empty=Empty.ALLOW).documents == 0
    assert sum(domain.tokens for domain in open_store(tmp_path / "store").domains.values()) == 0


@pytest.mark.parametrize("value", [pa.int32(), pa.float64(), pa.bool_(), pa.null()])
def test_a_text_column_without_a_value_has_no_text_whatever_its_type(
    tmp_path: Path, sources: WriteSources, value: pa.DataType
):
    pq.write_table(pa.table({"text": pa.nulls(4, value)}), tmp_path / "a.parquet")
    with pa.ipc.new_file(str(tmp_path / "b.arrow"), pa.schema([("text", value)])) as writer:
        writer.write_table(pa.table({"text": pa.nulls(2, value)}))
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "c.parquet")
    report = ingest(sources("domains: {a: {files: ['?.*']}}"), tmp_path / "store")
    assert (report.documents, report.domains[0].dropped) == (1, {Reason.NULL_TEXT: 6})
    if value == pa.int32():
        pq.write_table(pa.table({"text": [None, 1]}), tmp_path / "a.parquet")
        with pytest.raises(IngestError, match="of type int64"):
            ingest(sources("domains: {a: {files: ['?.*']}}"), tmp_path / "number")


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (["train-00000-of-00001.parquet", "test-00000-of-00001.parquet"], "test (in/test-"),
        (["train/a.parquet", "validation/a.parquet"], "train (in/train/a.parquet), validation"),
        (["gsm8k_train.jsonl", "gsm8k_dev.jsonl"], "train (in/gsm8k_train.jsonl), validation"),
        (["data/web.train.0.jsonl", "data/web.eval.0.jsonl"], "test (in/data/web.eval.0.jsonl)"),
    ],
)
def test_files_of_several_splits_are_not_all_training_text(
    tmp_path: Path, sources: WriteSources, names: list[str], splits: str
):
    for number, name in enumerate(names):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("parquet"):
            pq.write_table(pa.table({"text": [f"text {number}"]}), path)
        else:
            write_lines(path, [{"text": f"text {number}"}])
    with pytest.raises(IngestError) as caught:
        ingest(sources("domains: {a: {files: [in]}}"), tmp_path / "store")
    assert caught.value.code == "split-missing"
    assert splits in str(caught.value)
    report = ingest(sources("domains: {a: {files: [in], split: train}}"), tmp_path / "train")
    assert (report.documents, report.skipped_files) == (1, {Skipped.SPLIT: 1})
    assert ingest(sources("domains: {a: {files: [in], split: all}}"), tmp_path / "all").documents == 2
    named = ", ".join(f"in/{name}" for name in names)
    assert ingest(sources(f"domains: {{a: {{files: [{named}]}}}}"), tmp_path / "named").documents == 2
    with pytest.raises(IngestError, match="no file is of the split 'tranche'"):
        ingest(sources("domains: {a: {files: [in], split: tranche}}"), tmp_path / "none")


def test_words_of_splits_in_texts_are_no_splits(tmp_path: Path, sources: WriteSources):
    for name in ("train.py", "test/a.py", "dev/b.py"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(f"print('{name}')")
    assert ingest(sources("domains: {a: {files: [src]}}"), tmp_path / "store").documents == 3
