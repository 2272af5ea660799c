"""What is no text is counted by reason and left out; what can not be read is an error that names it."""

import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import open_store, verify_store
from mixture.data.texts import Empty, Reason, Skipped, Unfit
from mixture.errors import IngestError

ZSTD = pa.Codec("zstd")
ODD_LINES = [
    (b'{"text": "good"}', None),
    (b'{"text": null}', Reason.NULL_TEXT),
    (b'{"other": 1}', Reason.NULL_TEXT),
    (b'{"text": 7}', Reason.NOT_TEXT),
    (b'{"text": ["a"]}', Reason.NOT_TEXT),
    (b'{"text": ""}', Reason.EMPTY_TEXT),
    (b'{"text": "   "}', Reason.BLANK_TEXT),
    (b'{"text": "\\u200b"}', Reason.BLANK_TEXT),
    (b'{"text": "\\n\\t \\u00a0\\ufeff\\u0000"}', Reason.BLANK_TEXT),
    (b'{"text": "a\xff"}', Reason.INVALID_UTF8),
    (b'{"text": "\\ud800"}', Reason.LONE_SURROGATE),
    (b'{"text": "half \\udc00 of one"}', Reason.LONE_SURROGATE),
    (b'{"text": "\\ud83d\\ude00"}', None),
    (b"", None),
]


def test_odd_texts_among_lines_are_counted_by_reason(tmp_path: Path, sources: WriteSources):
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(line for line, _ in ODD_LINES))
    (domain,) = ingest(sources("domains: {web: {files: [in.jsonl]}}"), tmp_path / "store").domains
    expected = [reason for _, reason in ODD_LINES if reason]
    assert domain.dropped == {reason: expected.count(reason) for reason in Reason if reason in expected}
    assert domain.documents == 2
    assert verify_store(tmp_path / "store") == []
    store = open_store(tmp_path / "store")
    assert store.documents("web", 0, store.domains["web"].tokens)["tokens"].to_pylist() == [5, 5]


def test_odd_texts_in_parquet_are_counted_by_reason(tmp_path: Path, sources: WriteSources):
    values = [b"good", None, b"", b" \xe2\x80\x8b ", b"\xff\xfe", b"\xed\xa0\x80", "größer".encode()]
    unchecked = pa.array(values, pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": unchecked}), tmp_path / "in.parquet")
    (domain,) = ingest(sources("domains: {web: {files: [in.parquet]}}"), tmp_path / "store").domains
    assert domain.documents == 2
    assert domain.dropped == {
        Reason.NULL_TEXT: 1,
        Reason.EMPTY_TEXT: 1,
        Reason.BLANK_TEXT: 1,
        Reason.INVALID_UTF8: 2,
    }


def test_a_column_of_nulls_gives_no_documents(tmp_path: Path, sources: WriteSources):
    pq.write_table(pa.table({"text": pa.nulls(3)}), tmp_path / "in.parquet")
    path = sources("domains: {web: {files: [in.parquet]}}")
    with pytest.raises(
        IngestError, match=r"'web': no document in its file: 3 null-text, the first in in\.parquet"
    ) as error:
        ingest(path, tmp_path / "store")
    assert error.value.code == "source-empty"
    (domain,) = ingest(path, tmp_path / "store", empty=Empty.ALLOW).domains
    assert (domain.documents, domain.tokens, domain.dropped) == (0, 0, {Reason.NULL_TEXT: 3})
    store = open_store(tmp_path / "store")
    assert store.domains["web"].tokens == 0
    assert verify_store(store.path) == []
    assert store.document("x").num_rows == 0


def test_text_and_source_files_are_one_document_each(tmp_path: Path, sources: WriteSources):
    folder = tmp_path / "src" / "deep"
    folder.mkdir(parents=True)
    (tmp_path / "src" / "__init__.py").write_text("# package\n")
    (folder / "a.py").write_text("print('é')\n")
    (folder / "b.1.gz").write_bytes(gzip.compress(b".TH MAN\n"))
    (folder / "empty.txt").write_bytes(b"")
    (folder / "binary.o").write_bytes(b"\x7fELF\xff\xff")
    path = sources("domains: {code: {files: [src], attributes: [path]}}")
    (domain,) = ingest(path, tmp_path / "store").domains
    assert domain.dropped == {Reason.EMPTY_TEXT: 1, Reason.INVALID_UTF8: 1}
    store = open_store(tmp_path / "store")
    rows = store.documents("code", 0, store.domains["code"].tokens).to_pylist()
    texts = {row["path"]: bytes(store.read("code", row["first_token"], row["tokens"] - 1).tolist()) for row in rows}
    assert texts == {
        "src/__init__.py": b"# package\n",
        "src/deep/a.py": "print('é')\n".encode(),
        "src/deep/b.1.gz": b".TH MAN\n",
    }


@pytest.fixture
def hadoop_folder(tmp_path: Path) -> Path:
    """What a cluster job leaves: one good file, empty ones, markers."""
    folder = tmp_path / "web"
    (folder / ".hidden").mkdir(parents=True)
    (folder / "_temporary").mkdir()
    table = pa.table({"text": ["one", "two", "three"]})
    pq.write_table(table, folder / "good.parquet")
    pq.write_table(table, folder / "_temporary" / "part.parquet")
    pq.write_table(table, folder / ".hidden" / "old.parquet")
    pq.write_table(table.slice(0, 0), folder / "no-rows.parquet")
    pq.ParquetWriter(folder / "no-groups.parquet", table.schema).close()
    for name in ("_SUCCESS", ".good.parquet.crc", "part.crc"):
        (folder / name).write_bytes(b"")
    return folder


@pytest.mark.parametrize("pattern", ["web", "web/**"])
def test_markers_and_hidden_files_are_passed_over_and_counted(
    tmp_path: Path, sources: WriteSources, hadoop_folder: Path, pattern: str
):
    report = ingest(sources(f"domains: {{web: {{files: ['{pattern}']}}}}"), tmp_path / "store")
    assert report.documents == 3
    assert report.domains[0].files == 3
    assert report.skipped_files == {Skipped.HIDDEN: 1, Skipped.MARKER: 4}


def broken_files() -> dict[str, tuple[str, bytes]]:
    lines = b'{"text": "a long enough line"}\n' * 50
    return {
        "zero-byte parquet": ("a.parquet", b""),
        "no parquet": ("a.parquet", b"hello" * 100),
        "cut parquet": ("a.parquet", b"PAR1" + bytes(500)),
        "cut gz": ("a.jsonl.gz", gzip.compress(lines)[:-9]),
        "cut zst": ("a.jsonl.zst", ZSTD.compress(lines, asbytes=True)[:-3]),
        "no zst": ("a.txt.zst", b"hello"),
    }


@pytest.mark.parametrize("kind", broken_files())
def test_an_unreadable_file_is_an_error_that_names_it(
    tmp_path: Path, sources: WriteSources, hadoop_folder: Path, kind: str
):
    name, data = broken_files()[kind]
    (hadoop_folder / name).write_bytes(data)
    with pytest.raises(IngestError, match=name) as caught:
        ingest(sources("domains: {web: {files: ['web/*']}}"), tmp_path / "store")
    assert caught.value.code == "source-unreadable"
    assert {path.name for path in tmp_path.iterdir()} - {".store.ingest"} == {"SOURCES.yaml", "web"}


def test_damage_inside_parquet_is_an_error_also_from_another_process(tmp_path: Path, sources: WriteSources):
    texts = [f"{n * 7919 % 10_007} words" for n in range(5000)]
    for name in "ab":
        pq.write_table(pa.table({"text": texts}), tmp_path / f"{name}.parquet", compression="zstd", row_group_size=1000)
    data = bytearray((tmp_path / "b.parquet").read_bytes())
    data[5000:9000] = bytes(4000)
    (tmp_path / "b.parquet").write_bytes(data)
    path = sources("domains:\n  a: {files: [a.parquet]}\n  b: {files: [b.parquet]}\n")
    for processes in (1, 2):
        with pytest.raises(IngestError, match=r"b\.parquet: can not be read") as caught:
            ingest(path, tmp_path / "store", processes=processes)
        assert caught.value.code == "source-unreadable"
        assert caught.value.place is not None
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("line", [b"{", b"[1]", b"nope", b'"text"', b"[" * 100_000, b"\x00\x01"])
def test_a_line_that_is_no_object_is_left_out_and_strictly_an_error_with_its_line(
    tmp_path: Path, sources: WriteSources, line: bytes, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "good"}\n\n{"text": "fine"}\n' + line + b'\n{"text": "last"}')
    path = sources("domains: {web: {files: [in.jsonl]}}")
    for size in (1 << 26, 10):
        monkeypatch.setattr("mixture.data.texts.lines._PIECE", size)
        (domain,) = ingest(path, tmp_path / f"store-{size}").domains
        assert (domain.documents, domain.dropped) == (3, {Reason.NOT_JSON: 1})
        with pytest.raises(IngestError) as caught:
            ingest(path, tmp_path / "strict", unfit=Unfit.REFUSE)
        assert caught.value.code == "left-out"
        assert caught.value.place is not None
        assert caught.value.place.line == 4


@pytest.mark.parametrize("others", [0, 3])
def test_a_file_of_several_lines_without_one_of_json_is_refused_and_named(
    tmp_path: Path, sources: WriteSources, others: int
):
    for number in range(others):
        write_lines(tmp_path / f"{number}.json", [{"text": "good"}])
    (tmp_path / "in.json").write_text('{\n  "text": "printed to be read"\n}\n')
    with pytest.raises(IngestError, match=r"in\.json:1: no line of it is a JSON object: Expecting") as caught:
        ingest(sources("domains: {web: {files: ['*.json']}}"), tmp_path / "store")
    assert caught.value.code == "not-json-lines"
    assert "format: text" in str(caught.value.hint)


def test_a_file_of_one_bad_line_is_left_out_unless_there_is_nothing_else(tmp_path: Path, sources: WriteSources):
    (tmp_path / "bad.json").write_text("{bad")
    path = sources("domains: {web: {files: ['*.json']}}")
    with pytest.raises(IngestError, match="no line of its files is a JSON object") as caught:
        ingest(path, tmp_path / "store")
    assert caught.value.code == "not-json-lines"
    write_lines(tmp_path / "good.json", [{"text": "good"}])
    assert ingest(path, tmp_path / "store").domains[0].dropped == {Reason.NOT_JSON: 1}


@pytest.mark.parametrize("columns", ["text: txet", "id: key", "attributes: [licence]"])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_column_that_is_not_there_is_refused(tmp_path: Path, sources: WriteSources, columns: str, ending: str):
    rows = [{"text": "one", "license": "x"}]
    write_lines(tmp_path / "in.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    with pytest.raises(IngestError) as caught:
        ingest(sources(f"domains: {{web: {{files: [in.{ending}], {columns}}}}}"), tmp_path / "store")
    assert caught.value.code == "missing-column"


def test_two_columns_of_one_name_are_refused(tmp_path: Path, sources: WriteSources):
    column = pa.array(["x"])
    pq.write_table(pa.Table.from_arrays([column, column], names=["text", "text"]), tmp_path / "in.parquet")
    with pytest.raises(IngestError, match="has 2 columns 'text'"):
        ingest(sources("domains: {web: {files: [in.parquet]}}"), tmp_path / "store")


def test_a_text_column_of_numbers_is_refused(tmp_path: Path, sources: WriteSources):
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "in.parquet")
    with pytest.raises(IngestError, match="its column 'text' is of type int64") as caught:
        ingest(sources("domains: {web: {files: [in.parquet]}}"), tmp_path / "store")
    assert caught.value.code == "column-type"


def test_attributes_of_all_domains_stand_in_one_table(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", [{"text": "a", "url": "u"}])
    write_lines(tmp_path / "b.jsonl", [{"text": "b", "license": "l"}])
    text = "domains:\n  a: {files: [a.jsonl], attributes: [url]}\n  b: {files: [b.jsonl], attributes: [license]}\n"
    ingest(sources(text), tmp_path / "store")
    table = pq.read_table(tmp_path / "store" / "documents.parquet")
    assert table.column_names == ["domain", "id", "first_token", "tokens", "byte", "file", "license", "url"]
    assert table.select(["domain", "license", "url"]).to_pylist() == [
        {"domain": "a", "license": None, "url": "u"},
        {"domain": "b", "license": "l", "url": None},
    ]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"text": "a", "id": 1, "text": "b"}', "text"),
        (b'{"id": 1, "text": "a", "id": 1}', "id"),
        (b'{"text": "a", "other": 1, "\\u006fther": 2}', "other"),
        (b'{"text": "a", "meta": {"k": [{"x": 1, "x": 2}]}}', "x"),
    ],
)
def test_a_line_with_a_key_twice_is_left_out_with_the_key(tmp_path: Path, sources: WriteSources, line: bytes, key: str):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "good"}\n' + line + b"\n")
    path = sources("domains: {web: {files: [in.jsonl]}}")
    (domain,) = ingest(path, tmp_path / "store").domains
    assert domain.dropped == {Reason.NOT_JSON: 1}
    assert pq.read_table(tmp_path / "store" / "quarantine.parquet")["detail"].to_pylist() == [
        f"the key '{key}' is in an object twice"
    ]
    with pytest.raises(IngestError, match=f"the key '{key}' is in an object twice") as caught:
        ingest(path, tmp_path / "strict", unfit=Unfit.REFUSE)
    assert caught.value.place is not None
    assert caught.value.place.line == 2


def one_value(type_: pa.DataType, value: int, width: pa.DataType | None = None) -> pa.Array:
    return pa.array([value], width or pa.int64()).view(type_)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (one_value(pa.date32(), 0, pa.int32()), "1970-01-01"),
        (one_value(pa.timestamp("us"), 1_500_000), "1970-01-01 00:00:01.500000"),
        (one_value(pa.timestamp("ms"), 3 * 10**14), "11476-08-15 05:20:00.000"),
        (one_value(pa.timestamp("ms", "Europe/Berlin"), 0), "1970-01-01 00:00:00.000Z"),
        (one_value(pa.timestamp("ms", "Mars/Base"), 0), "1970-01-01 00:00:00.000Z"),
        (one_value(pa.timestamp("ns"), 1), "1970-01-01 00:00:00.000000001"),
        (one_value(pa.time64("ns"), 1), "00:00:00.000000001"),
        (one_value(pa.duration("s"), 2**62), str(2**62)),
        (one_value(pa.date32(), 2**31 - 1, pa.int32()), "<value out of range: 2147483647>"),
    ],
)
def test_times_of_any_kind_are_written_as_arrow_writes_them(
    tmp_path: Path, sources: WriteSources, column: pa.Array, expected: str
):
    pq.write_table(pa.table({"text": ["x"], "when": column}), tmp_path / "in.parquet", store_schema=True)
    ingest(sources("domains: {web: {files: [in.parquet], attributes: [when]}}"), tmp_path / "store")
    assert open_store(tmp_path / "store").documents("web", 0, 2)["when"].to_pylist() == [expected]


MEMORY = """
import sys
from pathlib import Path
from mixture import ingest
report = ingest(sys.argv[1], sys.argv[2], processes=1)
# Not ru_maxrss: that begins at what the process that started this one had.
lines = Path("/proc/self/status").read_text().splitlines()
print(report.documents, next(line.split()[1] for line in lines if line.startswith("VmHWM:")))
"""


def test_a_small_file_of_large_rows_takes_the_memory_of_a_few_rows(tmp_path: Path, sources: WriteSources):
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 256, pa.int32()), ["a" * (1 << 20)])
    pq.write_table(pa.table({"text": texts}), tmp_path / "in.parquet", compression="zstd")
    assert (tmp_path / "in.parquet").stat().st_size < 10_000
    path = sources("domains: {web: {files: [in.parquet]}}")
    command = [sys.executable, "-c", MEMORY, str(path), str(tmp_path / "store")]
    documents, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert documents == "1"
    assert int(kilobytes) < 1_000_000  # 256 rows at once, and their tokens: 2,100,000
