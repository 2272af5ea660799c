"""Stores of packed rows: everything is in them once, and padding is counted and of no document."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from data.token_files.token_files import catalog, write_raw
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples
from stream_helpers import DOMAINS, make_store

from mixture.data.derived import ExportFormat, PackReport, export_store, pack_store
from mixture.data.ingest import ingest
from mixture.data.layout import PADDING, LongDocuments
from mixture.data.layout.documents import document_schema
from mixture.data.layout.files import DATA_START, write_hole
from mixture.data.layout.manifest import TOKEN_COLUMN, TOKENS, DomainRecord, TokenFile, TokenizerRecord
from mixture.data.layout.packed import Packing, packed_digest
from mixture.data.layout.tables import token_path, write_tables
from mixture.data.store import Store, open_store, verify_store
from mixture.errors import IngestError, StoreError

END = 256


def documents_of(store: Store, name: str) -> dict[str, list[int]]:
    """Tokens of each document, its parts put together in order of place."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in store.documents_from(name, 0, 10**6).to_pylist():
        found[row["id"]] += store.read(name, row["first_token"], row["tokens"]).tolist()
    return found


def padding_of(store: Store, name: str, length: int) -> np.ndarray:
    """Which tokens of a domain spans say are padding: bool [tokens]."""
    first = np.arange(0, store.domains[name].tokens, length)
    spans = store.spans([name], np.zeros(len(first), np.int64), first, length)
    begin = np.roll(spans.end, 1)
    begin[spans.offsets[:-1]] = 0
    assert (spans.end > begin).all()
    assert (spans.end[spans.offsets[1:] - 1] == length).all()
    assert spans.closed.all()
    return np.repeat(spans.document == PADDING, spans.end - begin)


def check_packed(source: Store, packed: Store, report: PackReport) -> None:
    """All that is true of packed rows of which nothing was left out."""
    length = report.sequence_length
    assert packed.packed == length
    assert list(packed.domains) == list(source.domains)
    for one in report.domains:
        domain = packed.domains[one.name]
        assert documents_of(packed, one.name) == documents_of(source, one.name)
        assert domain.tokens == one.rows * length == one.tokens + one.padding
        assert one.tokens == source.domains[one.name].tokens
        assert one.documents == source.domains[one.name].documents
        table = packed.documents_from(one.name, 0, domain.documents)
        first, tokens = table["first_token"].to_numpy(), table["tokens"].to_numpy()
        assert ((first + tokens - 1) // length == first // length).all()
        held = np.zeros(domain.tokens, np.int64)
        for a, n in zip(first.tolist(), tokens.tolist(), strict=True):
            held[a : a + n] += 1
        assert held.max(initial=0) <= 1
        assert (held == 0).sum() == one.padding
        if one.rows:
            assert np.array_equal(padding_of(packed, one.name, length), held == 0)
            assert (packed.read(one.name, 0, domain.tokens)[held == 0] == packed.end_of_document).all()
    assert verify_store(packed.path) == []


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 90), min_size=1, max_size=25), min_size=1, max_size=2),
    st.integers(1, 70),
)
def test_every_token_of_every_document_is_there_once_and_the_rest_is_padding(tmp_path_factory, domains, length):
    folder = tmp_path_factory.mktemp("pack")
    texts = {
        f"d{number}": {f"{number}-{i}": (f"{number}.{i}." * size)[:size] for i, size in enumerate(sizes)}
        for number, sizes in enumerate(domains)
    }
    source = make_store(folder / "source", texts)
    report = pack_store(source, folder / "packed", sequence_length=length, processes=1)
    check_packed(source, open_store(folder / "packed"), report)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("source") / "made", DOMAINS)


@pytest.fixture
def packed(source: Store, tmp_path: Path) -> Store:
    pack_store(source, tmp_path / "packed", sequence_length=1024)
    return open_store(tmp_path / "packed")


def test_a_long_document_is_in_whole_rows_and_a_rest_and_all_of_it_is_there(tmp_path):
    text = "".join(f"{i:07d} " for i in range(130_000 // 8))
    source = make_store(tmp_path / "a", {"web": {"long": text, "short": "short"}})
    report = pack_store(source, tmp_path / "packed", sequence_length=4096)
    packed = open_store(tmp_path / "packed")
    check_packed(source, packed, report)
    assert report.domains[0].split == 1
    sizes = [row["tokens"] for row in packed.document("long").to_pylist()]
    assert sizes == [4096] * 31 + [130_001 - 31 * 4096]


def test_long_documents_are_left_out_and_counted_where_that_is_asked_for(tmp_path):
    source = make_store(tmp_path / "a", {"web": {"fits": "x" * 99, "long": "y" * 100, "short": "z"}})
    report = pack_store(source, tmp_path / "packed", sequence_length=100, long=LongDocuments.DROP)
    (web,) = report.domains
    assert (web.rows, web.documents, web.tokens, web.padding) == (2, 2, 102, 98)
    assert (web.split, web.dropped, web.dropped_tokens) == (0, 1, 101)
    packed = open_store(tmp_path / "packed")
    assert sorted(documents_of(packed, "web")) == ["fits", "short"]
    assert verify_store(tmp_path / "packed") == []


def test_a_domain_whose_documents_are_all_too_long_is_there_and_empty(tmp_path):
    source = make_store(tmp_path / "a", {"code": {"c": "y" * 100}, "web": {"w": "z"}})
    pack_store(source, tmp_path / "packed", sequence_length=10, long=LongDocuments.DROP)
    packed = open_store(tmp_path / "packed", verify="full")
    assert {name: domain.tokens for name, domain in packed.domains.items()} == {"code": 0, "web": 10}
    assert documents_of(packed, "web") == {"w": [ord("z"), END]}


def test_a_row_that_a_document_fills_to_its_end_has_no_padding_and_no_empty_segment(tmp_path):
    source = make_store(tmp_path / "a", {"web": {"one": "x" * 15, "two": "y" * 15}})
    pack_store(source, tmp_path / "packed", sequence_length=16)
    spans = open_store(tmp_path / "packed").spans(["web"], np.array([0, 0]), np.array([0, 16]), 16)
    assert spans.offsets.tolist() == [0, 1, 2]
    assert spans.document.tolist() == [0, 1]
    assert not spans.padded


def test_documents_of_a_range_that_begins_and_ends_in_padding_are_those_that_stand_in_it(tmp_path):
    source = make_store(tmp_path / "a", {"web": {"a": "x" * 8, "b": "y" * 8, "c": "z" * 8}})
    pack_store(source, tmp_path / "packed", sequence_length=16)  # a row each, of 9 tokens and 7 of padding
    packed = open_store(tmp_path / "packed")
    places = [row["first_token"] for row in packed.documents("web", 0, 48).to_pylist()]
    assert places == [0, 16, 32]
    assert [row["first_token"] for row in packed.documents("web", 10, 20).to_pylist()] == [16]
    assert packed.documents("web", 10, 4).num_rows == 0
    assert packed.documents("web", 42, 6).num_rows == 0
    spans = packed.spans(["web"], np.array([0, 0, 0]), np.array([10, 12, 27]), 5)
    assert spans.document.tolist() == [-1, -1, 1, -1]
    assert spans.end.tolist() == [5, 4, 5, 5]
    assert spans.closed.tolist() == [True, False, True]


def test_any_number_of_processes_makes_the_same_store(source, tmp_path):
    digests, tokens = set(), []
    for processes in (1, 2, 3):
        out = tmp_path / f"packed-{processes}"
        digests.add(pack_store(source, out, sequence_length=512, processes=processes).digest)
        tokens.append({path.name: path.read_bytes() for path in sorted((out / "tokens").iterdir())})
    assert len(digests) == 1
    assert tokens[0] == tokens[1] == tokens[2]
    assert open_store(tmp_path / "packed-2").digest in digests


def test_the_digest_is_of_the_length_too(source, tmp_path):
    digests = {pack_store(source, tmp_path / f"p{n}", sequence_length=n).digest for n in (512, 513, 1024)}
    assert len(digests) == 3


def test_the_store_says_what_it_was_packed_from_and_how(source, packed):
    said = json.loads((packed.path / "store.json").read_text())
    assert said["format"] == "mixture-packed/1"
    assert said["packed"] == {
        "sequence_length": 1024,
        "from": source.digest,
        "rule": "best-fit-decreasing, 65536 documents or 2147483648 tokens",
        "long": "split",
    }
    labels = packed.labels.to_pylist()
    assert [row["packed"] for row in labels] == [1024] * 3
    assert [row["padding"] for row in labels] == [int(padding_of(packed, row["domain"], 1024).sum()) for row in labels]


def test_attributes_and_columns_of_the_catalog_are_kept(tmp_path):
    rows = [{"id": str(i), "text": "x" * i, "url": f"u{i}"} for i in range(1, 40)]
    (tmp_path / "web.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    keys = "{files: [web.jsonl], id: id, attributes: [url], labels: {cluster: c03, quality: 4}}"
    (tmp_path / "sources.yaml").write_text(f"domains:\n  web: {keys}\n")
    ingest(tmp_path / "sources.yaml", tmp_path / "store")
    pack_store(open_store(tmp_path / "store"), tmp_path / "packed", sequence_length=64)
    packed = open_store(tmp_path / "packed")
    (labels,) = packed.labels.to_pylist()
    assert (labels["cluster"], labels["quality"]) == ("c03", 4)
    assert all(row["url"] == f"u{row['id']}" for row in packed.documents_from("web", 0, 100).to_pylist())


def test_documents_of_token_files_that_have_no_end_get_one(tmp_path):
    documents = [[1, 2, 3], [4, 5, 0], [6], [7] * 9]
    write_raw(tmp_path / "web.npy", documents)
    source = catalog(tmp_path, {"web": "format: npy, files: [web.npy], dtype: uint16, documents: '{stem}.csv.gz'"})
    report = pack_store(source, tmp_path / "packed", sequence_length=5)
    packed = open_store(tmp_path / "packed")
    found = sorted(documents_of(packed, "web").values())
    assert found == [[1, 2, 3, 0], [4, 5, 0], [6, 0], [7] * 9 + [0]]
    assert report.domains[0].tokens == 19
    assert verify_store(tmp_path / "packed") == []


def test_a_changed_token_of_padding_is_found(packed):
    place = int(np.flatnonzero(padding_of(packed, "code", 1024))[0])
    path = sorted((packed.path / "tokens").glob("00000-*"))[0]
    with path.open("r+b") as file:
        file.seek(DATA_START + 2 * place)
        file.write(b"\x01\x00")
    assert {error.code for error in verify_store(packed.path)} == {"digest-differs"}


def rows_of_holes(folder: Path, places: list[tuple[int, int]]) -> Path:
    """A store of two rows of 8 tokens that are all end-of-document; places: first token and tokens of documents."""
    dtype = np.dtype(np.uint16)
    (folder / TOKENS).mkdir(parents=True)
    path = token_path(0, "web", 0)
    write_hole(folder / path, dtype, 16, TOKEN_COLUMN)
    data = (folder / path).read_bytes()
    file = TokenFile(file=path, bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), tokens=16)
    tokens, ends = (
        hashlib.sha256(array.tobytes()).hexdigest()
        for array in (np.zeros(16, dtype), np.array([first + tokens for first, tokens in places], "<i8"))
    )
    content = packed_digest(8, "uint16", 16, tokens, len(places), ends)
    table = [{"domain": "web", "id": str(i), "first_token": a, "tokens": n} for i, (a, n) in enumerate(places)]
    write_tables(
        folder,
        domains=[DomainRecord(name="web", tokens=16, documents=len(places), content=content, files=(file,))],
        documents=[pa.Table.from_pylist(table, document_schema({}))],
        attributes={},
        tokenizer=TokenizerRecord(name="t", digest=None, vocabulary=9),
        dtype=dtype,
        end_of_document=0,
        seed=0,
        file_tokens=16,
        packed=Packing.model_validate(
            {"sequence_length": 8, "from": "0" * 64, "rule": "by hand", "long": LongDocuments.SPLIT}
        ),
    )
    return folder


@pytest.mark.parametrize(
    ("places", "codes"),
    [
        ([(0, 8), (8, 3)], set()),
        ([(0, 2), (2, 2), (8, 8)], set()),
        ([(0, 3), (3, 2)], {"documents-differ"}),  # the second row is empty
        ([(8, 3), (11, 2)], {"tables-differ"}),  # the first row is empty
        ([(0, 6), (6, 6)], {"tables-differ"}),  # one goes on in the next row
        ([(0, 2), (3, 2), (8, 1)], {"tables-differ"}),  # padding within a row
        ([(0, 2), (9, 2)], {"tables-differ"}),  # padding at the beginning of a row
    ],
)
def test_documents_that_do_not_lie_in_rows_as_the_rule_says_are_found(tmp_path, places, codes):
    assert {error.code for error in verify_store(rows_of_holes(tmp_path / "store", places))} == codes


def test_rows_are_not_packed_again_nor_exported(packed, tmp_path):
    with pytest.raises(IngestError, match="packed to 1,024") as caught:
        pack_store(packed, tmp_path / "again", sequence_length=2048)
    assert caught.value.code == "packed-already"
    with pytest.raises(StoreError) as refused:
        export_store(packed, ExportFormat.NPY, tmp_path / "exported")
    assert refused.value.code == "export-unfit"
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize("length", [0, -4, (1 << 30) + 1])
def test_a_length_that_no_row_has_is_refused(source, tmp_path, length):
    with pytest.raises(IngestError) as caught:
        pack_store(source, tmp_path / "packed", sequence_length=length)
    assert caught.value.code == "length-outside"


def test_nothing_is_written_over(source, packed, tmp_path):
    before = open_store(packed.path).digest
    with pytest.raises(IngestError) as caught:
        pack_store(source, packed.path, sequence_length=512)
    assert caught.value.code == "store-exists"
    assert open_store(packed.path, verify="full").digest == before


def test_a_catalog_of_stores_does_not_lead_to_packed_rows(packed, tmp_path):
    with pytest.raises(StoreError) as caught:
        catalog(tmp_path, {"web": f"format: store, path: {packed.path}, domain: web"}, vocabulary=257)
    assert caught.value.code == "store-format"
