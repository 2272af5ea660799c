"""Arrow files, and datasets that Hugging Face saved, give the store of the same rows in any other format."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.texts import Empty, Reason, Skipped
from mixture.errors import IngestError

ROWS = [{"id": f"d{n}", "text": f"document {n} " * (1 + n % 7), "url": f"u{n}"} for n in range(60)]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.fixture
def expected(tmp_path: Path, sources: WriteSources):
    """The digest of the store of some rows, by their numbers."""

    def of(numbers=range(60)) -> str:
        write_lines(tmp_path / "lines" / "in.jsonl", [ROWS[n] for n in numbers])
        out = tmp_path / f"expected-{len(list(tmp_path.glob('expected-*')))}"
        return ingest(sources("domains: {a: {files: [lines/in.jsonl], id: id}}"), out).digest

    return of


def write_stream(path: Path, table: pa.Table, rows: int = 7) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, rows)


def write_file(path: Path, table: pa.Table, rows: int = 7, packing: str | None = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=packing)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, rows)


@pytest.mark.parametrize("kind", ["stream", "file", "zstd", "lz4", "feather", "large", "view", "binary", "dictionary"])
@pytest.mark.parametrize("piece", [1, 1 << 24])
def test_one_store_from_any_arrow_file(
    tmp_path: Path, sources: WriteSources, expected, kind: str, piece: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mixture.data.texts.rows._ARROW_PIECE", piece)
    path = tmp_path / ("in.feather" if kind == "feather" else "in.arrow")
    types = {"large": pa.large_string(), "view": pa.string_view(), "binary": pa.binary()}
    table = TABLE
    if kind in types:
        table = TABLE.set_column(1, "text", TABLE["text"].cast(types[kind]))
    match kind:
        case "stream":
            write_stream(path, table)
        case "feather":
            pa.feather.write_feather(table, path)
        case "dictionary":
            encoded = table.set_column(1, "text", table["text"].combine_chunks().dictionary_encode())
            write_file(path, encoded.set_column(0, "id", encoded["id"].combine_chunks().dictionary_encode()))
        case _:
            write_file(path, table, packing=kind if kind in ("zstd", "lz4") else None)
    report = ingest(sources("domains: {a: {files: ['in.*'], id: id, attributes: [url]}}"), tmp_path / "store")
    assert report.digest == expected()
    assert report.documents == 60


def test_a_stream_that_was_cut_between_batches_is_refused(tmp_path: Path, sources: WriteSources):
    write_stream(tmp_path / "in.arrow", TABLE)
    data = (tmp_path / "in.arrow").read_bytes()
    for cut in (len(data) - 8, len(data) // 2, 20, 0):
        (tmp_path / "in.arrow").write_bytes(data[:cut])
        with pytest.raises(IngestError, match=r"in\.arrow: can not be read") as caught:
            ingest(sources("domains: {a: {files: [in.arrow]}}"), tmp_path / "store")
        assert caught.value.code == "source-unreadable"


def test_damaged_offsets_are_refused_and_end_no_process(tmp_path: Path, sources: WriteSources):
    text = pa.array(["abc", "def", "ghi"])
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 3, 2_000_000_000, 9)))
    broken = pa.Array.from_buffers(pa.string(), 3, [None, offsets, text.buffers()[2]])
    batch = pa.RecordBatch.from_arrays([broken], names=["text"])
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(IngestError, match=r"in\.arrow: can not be read"):
        ingest(sources("domains: {a: {files: [in.arrow]}}"), tmp_path / "store")


def test_invalid_utf8_in_arrow_is_left_out(tmp_path: Path, sources: WriteSources):
    column = pa.array([b"good", b"\xff\xfe", None], pa.binary()).view(pa.string())
    write_file(tmp_path / "in.arrow", pa.table({"text": column}))
    (domain,) = ingest(sources("domains: {a: {files: [in.arrow]}}"), tmp_path / "store").domains
    assert (domain.documents, domain.dropped) == (1, {Reason.NULL_TEXT: 1, Reason.INVALID_UTF8: 1})


@pytest.mark.parametrize("change", ["none", "shards", "select", "shuffle", "filter", "range"])
@pytest.mark.parametrize("pattern", ["saved", "saved/*.arrow", "saved/**"])
def test_a_dataset_that_was_saved_is_read_as_it_was(
    tmp_path: Path, sources: WriteSources, expected, change: str, pattern: str
):
    import datasets

    dataset, numbers = datasets.Dataset.from_list(ROWS), list(range(60))
    match change:
        case "select":
            numbers = [7, 3, 41, 59, 0]
            dataset = dataset.select(numbers)
        case "shuffle":
            dataset = dataset.shuffle(seed=1)
        case "filter":
            numbers = list(range(0, 60, 3))
            dataset = dataset.filter(lambda row: int(row["id"][1:]) % 3 == 0)
        case "range":
            numbers = list(range(10, 30))
            dataset = dataset.select(range(10, 30))
    dataset.save_to_disk(tmp_path / "saved", num_shards=3 if change == "shards" else None)
    report = ingest(sources(f"domains: {{a: {{files: ['{pattern}'], id: id}}}}"), tmp_path / "store")
    assert report.digest == expected(numbers)
    assert report.skipped_files.get(Skipped.BESIDE, 0) == (0 if "*.arrow" in pattern else 2)


def test_all_splits_of_a_saved_dataset_are_read_or_the_one_that_is_named(
    tmp_path: Path, sources: WriteSources, expected
):
    import datasets

    splits = {"train": range(40), "test": range(40, 60)}
    made = {name: datasets.Dataset.from_list([ROWS[n] for n in some]) for name, some in splits.items()}
    datasets.DatasetDict(made).save_to_disk(tmp_path / "saved")
    with pytest.raises(IngestError, match=r"2 splits: test \(saved/test/data.*train \(saved/train/") as caught:
        ingest(sources("domains: {a: {files: [saved], id: id}}"), tmp_path / "whole")
    assert caught.value.code == "split-missing"
    assert "`split: train`" in str(caught.value.hint)
    whole = ingest(sources("domains: {a: {files: [saved], id: id, split: all}}"), tmp_path / "whole")
    assert whole.digest == expected()
    assert whole.skipped_files == {Skipped.BESIDE: 5}
    train = ingest(sources("domains: {a: {files: [saved/train], id: id}}"), tmp_path / "train")
    assert train.digest == expected(range(40))
    chosen = ingest(sources("domains: {a: {files: [saved], id: id, split: train}}"), tmp_path / "chosen")
    assert chosen.digest == expected(range(40))
    assert chosen.skipped_files[Skipped.SPLIT] == 1


@pytest.mark.parametrize("indices", [[[5, 59, 0, 13]], [[1, 2], [3, 30, 31, 40]], [[]], [[7, 7, 7]]])
@pytest.mark.parametrize("piece", [1, 1 << 24])
def test_rows_chosen_by_an_index_are_those_that_are_read(
    tmp_path: Path,
    sources: WriteSources,
    expected,
    indices: list[list[int]],
    piece: int,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("mixture.data.texts.rows._ARROW_PIECE", piece)
    names = []
    for number, start in enumerate((0, 25, 50)):
        names.append(f"data-{number}.arrow")
        write_stream(tmp_path / "saved" / names[-1], TABLE.slice(start, 25))
    tables = [pa.table({"indices": pa.array(numbers, pa.uint64())}) for numbers in indices]
    for number, table in enumerate(tables):
        write_stream(tmp_path / "saved" / f"indices-{number}.arrow", table)
    state = {
        "_data_files": [{"filename": name} for name in names],
        "_indices_data_files": [{"filename": f"indices-{number}.arrow"} for number in range(len(tables))],
    }
    (tmp_path / "saved" / "state.json").write_text(json.dumps(state))
    path = sources("domains: {a: {files: [saved], id: id}}")
    report = ingest(path, tmp_path / "store", empty=Empty.ALLOW)
    chosen = [n for numbers in indices for n in numbers]
    assert report.documents == len(set(chosen))
    assert report.domains[0].dropped.get(Reason.DUPLICATE, 0) == len(chosen) - len(set(chosen))
    if chosen:
        assert report.digest == expected(chosen)


def test_a_saved_dataset_that_is_not_whole_is_refused_by_name(tmp_path: Path, sources: WriteSources):
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "saved", num_shards=2)
    (tmp_path / "saved" / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(IngestError, match=r"state\.json: lists the file 'data-00001-of-00002\.arrow'") as caught:
        ingest(sources("domains: {a: {files: [saved]}}"), tmp_path / "store")
    assert caught.value.code == "source-unreadable"


def test_a_state_json_that_is_no_dataset_s_is_a_source_like_any_other(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in" / "state.json", [{"text": "a"}])
    assert ingest(sources("domains: {a: {files: [in]}}"), tmp_path / "store").documents == 1


MEMORY = """
import sys
from pathlib import Path
from mixture.data.ingest.sources import read_sources
from mixture.data.texts.texts import read, split

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name)))

(group,) = read_sources(Path(sys.argv[1])).groups
before = memory("VmRSS:")
pieces = [piece for file in group.files for piece in split(file, group.columns)]
count = sum(len(batch.documents) for piece in pieces for batch in read(piece, group.columns))
print(count, memory("VmHWM:") - before)
"""


def test_one_large_record_batch_takes_the_memory_of_a_few_rows(tmp_path: Path, sources: WriteSources):
    texts = pa.array(["x" * (1 << 16)] * 4000)
    write_file(tmp_path / "in.arrow", pa.table({"text": texts}), 4000)
    assert (tmp_path / "in.arrow").stat().st_size > 250_000_000
    command = [sys.executable, "-c", MEMORY, str(sources("domains: {a: {files: [in.arrow]}}"))]
    count, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(count) == 4000
    assert int(kilobytes) < 100_000
