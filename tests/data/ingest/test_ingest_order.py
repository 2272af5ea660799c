"""What a store holds follows from the documents alone: not from files, rows, formats or processes."""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, text_of, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import open_store
from mixture.data.texts import IngestProgress, Reason, Stage

ROWS = [{"text": f"document number {n} " * (1 + n % 7), "id": f"d{n}", "url": f"http://x/{n}"} for n in range(400)]


def token_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "tokens").iterdir()}


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("num_files", [2, 20, 200])
def test_one_store_from_any_number_of_files_in_any_listing(tmp_path: Path, sources: WriteSources, num_files: int):
    one = tmp_path / "one.jsonl"
    write_lines(one, ROWS)
    ingest(sources("domains: {web: {files: [one.jsonl], id: id, attributes: [url]}}"), tmp_path / "expected")
    rows = ROWS.copy()
    random.Random(num_files).shuffle(rows)
    names = [f"part-{random.Random(n).random()}.jsonl" for n in range(num_files)]
    for n, name in enumerate(names):
        write_lines(tmp_path / "parts" / name, rows[n::num_files])
    listing = json.dumps([f"parts/{name}" for name in reversed(names)])
    report = ingest(sources(f"domains: {{web: {{files: {listing}, id: id, attributes: [url]}}}}"), tmp_path / "store")
    assert report.digest == open_store(tmp_path / "expected").digest
    assert all_bytes(tmp_path / "store") == all_bytes(tmp_path / "expected")


@pytest.mark.parametrize("packed", ["plain", "gz", "zst", "parquet", "row-groups", "members"])
def test_one_store_from_any_format(tmp_path: Path, sources: WriteSources, packed: str):
    write_lines(tmp_path / "one.jsonl", ROWS)
    expected = ingest(sources("domains: {web: {files: [one.jsonl], id: id}}"), tmp_path / "expected")
    lines = (tmp_path / "one.jsonl").read_bytes()
    half = lines.index(b"\n", len(lines) // 2) + 1
    table = pa.Table.from_pylist(ROWS)
    match packed:
        case "plain":
            (tmp_path / "in.ndjson").write_bytes(b"\xef\xbb\xbf" + lines.rstrip(b"\n").replace(b"\n", b"\r\n\n"))
        case "gz":
            (tmp_path / "in.json.gz").write_bytes(gzip.compress(lines))
        case "members":
            (tmp_path / "in.json.gz").write_bytes(gzip.compress(lines[:half]) + gzip.compress(lines[half:]))
        case "zst":
            (tmp_path / "in.jsonl.zst").write_bytes(
                b"".join(pa.compress(part, "zstd", asbytes=True) for part in (lines[:half], lines[half:]))
            )
        case "parquet":
            dictionary = table.set_column(0, "text", table["text"].dictionary_encode())
            pq.write_table(dictionary, tmp_path / "in.parquet")
        case "row-groups":
            binary = table.set_column(0, "text", table["text"].cast(pa.large_binary()))
            pq.write_table(binary, tmp_path / "in.parquet", row_group_size=7)
    report = ingest(sources("domains: {web: {files: ['in.*'], id: id}}"), tmp_path / "store")
    assert report.digest == expected.digest
    assert report.documents == 400


def test_processes_do_not_change_a_byte(tmp_path: Path, sources: WriteSources):
    for n in range(3):
        write_lines(tmp_path / f"a{n}.jsonl", ROWS[n::3])
    write_lines(tmp_path / "b.jsonl", ROWS[:50])
    path = sources("domains:\n  a: {files: ['a*.jsonl'], id: id}\n  b: {files: [b.jsonl], id: id}\n")
    ingest(path, tmp_path / "one", processes=1)
    told: list[IngestProgress] = []
    ingest(path, tmp_path / "three", processes=3, progress=told.append)
    assert all_bytes(tmp_path / "one") == all_bytes(tmp_path / "three")
    last = {(p.stage, p.domain): p for p in told}
    assert set(last) == {(stage, domain) for stage in Stage for domain in ("a", "b")}
    assert all(p.done == p.total > 0 for p in last.values())


@pytest.mark.long
def test_a_large_file_of_lines_is_cut_between_lines(
    tmp_path: Path, sources: WriteSources, monkeypatch: pytest.MonkeyPatch
):
    write_lines(tmp_path / "in.jsonl", ROWS)
    path = sources("domains: {web: {files: [in.jsonl], id: id}}")
    expected = ingest(path, tmp_path / "whole")
    for size in (1, 50, 1000, 4096):
        monkeypatch.setattr("mixture.data.texts.lines._PIECE", size)
        assert ingest(path, tmp_path / f"cut{size}").digest == expected.digest


def test_runs_and_ranges_of_any_size_give_one_store(
    tmp_path: Path, sources: WriteSources, monkeypatch: pytest.MonkeyPatch
):
    write_lines(tmp_path / "in.jsonl", [*ROWS, *ROWS[:100]])
    path = sources("domains: {web: {files: [in.jsonl], id: id, attributes: [url]}}")
    ingest(path, tmp_path / "whole")
    monkeypatch.setattr("mixture.data.ingest.sorted_runs.RUN_BYTES", 3000)
    monkeypatch.setattr("mixture.data.ingest.merge._RANGE_BYTES", 5000)
    report = ingest(path, tmp_path / "parts")
    assert all_bytes(tmp_path / "parts") == all_bytes(tmp_path / "whole")
    assert report.domains[0].dropped == {Reason.DUPLICATE: 100}


def test_the_seed_and_the_name_of_the_domain_decide_the_order(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", ROWS)
    write_lines(tmp_path / "b.jsonl", ROWS)
    path = sources("domains:\n  a: {files: [a.jsonl], id: id}\n  b: {files: [b.jsonl], id: id}\n")
    orders = []
    for seed in (0, 0, 7):
        out = tmp_path / f"store{len(orders)}"
        ingest(path, out, seed=seed)
        store = open_store(out)
        orders.append({name: store.documents(name, 0, d.tokens)["id"].to_pylist() for name, d in store.domains.items()})
    assert orders[0] == orders[1]
    assert len({tuple(order[name]) for order in orders[1:] for name in ("a", "b")}) == 4
    assert all(sorted(order["a"]) == sorted(row["id"] for row in ROWS) for order in orders)


def test_sorted_documents_are_spread_over_the_domain(tmp_path: Path, sources: WriteSources):
    num, labels = 20_000, 20
    rows = [{"text": f"{n * labels // num:02d} {n}", "id": str(n)} for n in range(num)]
    write_lines(tmp_path / "in.jsonl", rows)
    ingest(sources("domains: {web: {files: [in.jsonl], id: id}}"), tmp_path / "store")
    store = open_store(tmp_path / "store")
    text = text_of(store.read("web", 0, store.domains["web"].tokens))
    found = np.array([int(document[:2]) for document in text.split("|")[:-1]])
    for part in found.reshape(10, -1):
        counts = np.bincount(part, minlength=labels)
        assert np.all(np.abs(counts - 100) < 5 * np.sqrt(2000 / labels * (1 - 1 / labels)))


def test_duplicates_are_kept_once_and_the_attributes_kept_do_not_depend_on_files(tmp_path: Path, sources: WriteSources):
    twice = [{"text": "same", "id": "1", "url": url} for url in ("b", "a", None)]
    for order in (twice, twice[::-1]):
        write_lines(tmp_path / "in.jsonl", [*order, {"text": "other", "id": "1", "url": "c"}])
        out = tmp_path / f"store-{order[0]['url']}"
        report = ingest(sources("domains: {web: {files: [in.jsonl], id: id, attributes: [url]}}"), out)
        (domain,) = report.domains
        assert domain.documents == 2
        assert domain.dropped == {Reason.DUPLICATE: 2}
        assert domain.shared_ids == 2
        kept = open_store(out).document("1").to_pylist()
        assert sorted(row["url"] for row in kept) == ["a", "c"]


def test_without_ids_the_hash_of_a_text_is_its_id(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "same"}, {"text": "same"}, {"text": "other"}])
    report = ingest(sources("domains: {web: {files: [in.jsonl]}}"), tmp_path / "store")
    assert (report.documents, report.domains[0].dropped) == (2, {Reason.DUPLICATE: 1})
    store = open_store(tmp_path / "store")
    ids = store.documents("web", 0, store.domains["web"].tokens)["id"].to_pylist()
    assert len(set(ids)) == 2
    assert all(len(i) == 32 and int(i, 16) for i in ids)


@pytest.mark.parametrize(
    ("text", "seed", "digest"),
    [
        ("domains: {web: {files: [one.jsonl], id: id}}", 0, "2955a4edbc7b4ae5"),
        ("domains: {web: {files: [one.jsonl]}}", 7, "d3ca0465903cd8d6"),
        (
            "holdout: {share: 10%, max: 1000}\ndomains: {web: {files: [one.jsonl], id: id}}",
            0,
            "978d6694f8d675cb",
        ),
    ],
)
def test_the_digest_of_a_store_is_what_it_always_was(
    tmp_path: Path, sources: WriteSources, text: str, seed: int, digest: str
):
    write_lines(tmp_path / "one.jsonl", ROWS)
    assert ingest(sources(text), tmp_path / "store", seed=seed).digest.startswith(digest)


def test_processes_do_not_change_a_byte_of_domains_held_out_and_named_by_a_column(
    tmp_path: Path, sources: WriteSources
):
    for n in range(3):
        rows = [row | {"label": f"d{i % 4}", "n": i / 2} for i, row in enumerate(ROWS)]
        write_lines(tmp_path / f"{n}.jsonl", [*rows[n::3], {"text": None, "label": "d0"}, {"text": "x", "n": 1}])
    path = sources(
        "files: ['*.jsonl']\nid: id\nattributes: [n, url]\ndomain_column: label\nholdout: {share: 30%, max: 900}\n"
    )
    reports = [ingest(path, tmp_path / f"store-{processes}", processes=processes) for processes in (1, 3)]
    assert all_bytes(reports[0].path) == all_bytes(reports[1].path)
    assert [domain.name for domain in reports[0].domains if "@" in domain.name] == [
        f"d{n}@validation" for n in range(4)
    ]
