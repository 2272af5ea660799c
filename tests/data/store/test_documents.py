"""Documents are found by place and by id, and rows are cut into segments where documents end."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from data.makers import MakeStore, bare_store, text_of, write_tokens
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store
from mixture.errors import StoreError


def test_the_documents_of_a_range_are_those_that_overlap_it(make_store: MakeStore):
    store = make_store(web=["aaaa", "bbbb", "cccc"])
    order = text_of(store.read("web", 0, 15))[::5]
    ids = [{"a": "0", "b": "1", "c": "2"}[letter] for letter in order]
    table = store.documents("web", 4, 2)
    assert table.column_names == ["id", "first_token", "tokens"]
    assert table.to_pylist() == [
        {"id": ids[0], "first_token": 0, "tokens": 5},
        {"id": ids[1], "first_token": 5, "tokens": 5},
    ]
    assert store.documents("web", 5, 5)["id"].to_pylist() == [ids[1]]
    assert store.documents("web", 5, 0).num_rows == 0
    assert store.documents("web", 0, 15)["id"].to_pylist() == ids
    with pytest.raises(StoreError, match="web"):
        store.documents("web", 14, 2)


def test_an_id_leads_to_all_places_of_its_documents(make_store: MakeStore):
    store = make_store(a=["one", "two"], b=["three"])
    found = store.document("0").to_pylist()
    assert [row["domain"] for row in found] == ["a", "b"]
    for row, text in zip(found, ["one|", "three|"], strict=True):
        assert text_of(store.read(row["domain"], row["first_token"], row["tokens"])) == text
    assert store.document("7").num_rows == 0


def test_the_documents_of_a_domain_are_found_by_their_number(make_store: MakeStore):
    store = make_store(a=["first"], web=["aa", "bbbb", "c"], z=["last"])
    all_of_it = store.documents("web", 0, store.domains["web"].tokens)
    assert store.documents_from("web", 0, 9).equals(all_of_it)
    assert store.documents_from("web", 1, 1).equals(all_of_it.slice(1, 1))
    assert store.documents_from("web", 3, 2).num_rows == 0
    with pytest.raises(StoreError, match="wed"):
        store.documents_from("wed", 0, 1)


def test_many_documents_are_found_by_id_over_row_groups(make_store: MakeStore):
    store = make_store(web=[f"text {i}" for i in range(70_000)])
    for number in (0, 9, 65_535, 69_999):
        (row,) = store.document(str(number)).to_pylist()
        assert text_of(store.read("web", row["first_token"], row["tokens"])) == f"text {number}|"
    whole = store.documents("web", 0, store.domains["web"].tokens)
    assert whole.num_rows == 70_000
    assert len(set(whole["id"].to_pylist())) == 70_000


def segments(store: Store, name: str, first: int, length: int) -> list[tuple[int, int]]:
    spans = store.spans([name], np.array([0]), np.array([first]), length)
    assert spans.offsets.tolist() == [0, len(spans.document)]
    ends = spans.end.tolist()
    return list(zip(spans.document.tolist(), (b - a for a, b in zip([0, *ends], ends, strict=False)), strict=True))


def test_a_row_that_ends_where_a_document_ends_has_no_empty_segment(make_store: MakeStore):
    store = make_store(web=["aaaa", "bbbb", "cccc"])
    assert segments(store, "web", 0, 5) == [(0, 5)]
    assert segments(store, "web", 0, 10) == [(0, 5), (1, 5)]
    assert segments(store, "web", 5, 5) == [(1, 5)]
    assert segments(store, "web", 4, 7) == [(0, 1), (1, 5), (2, 1)]
    assert segments(store, "web", 7, 1) == [(1, 1)]


@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_segments_of_rows_of_any_domains_are_those_of_the_documents(tmp_path_factory: pytest.TempPathFactory, data):
    lengths = data.draw(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=4))
    store = open_store(bare_store(tmp_path_factory.mktemp("bare"), {f"d{i}": x for i, x in enumerate(lengths)}))
    length = data.draw(st.integers(1, min(sum(x) for x in lengths)))
    domain = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=6))
    first = [data.draw(st.integers(0, sum(lengths[d]) - length)) for d in domain]
    spans = store.spans(list(store.domains), np.array(domain, np.int64), np.array(first, np.int64), length)
    for row, (d, f) in enumerate(zip(domain, first, strict=True)):
        owners = np.repeat(np.arange(len(lengths[d])), lengths[d])[f : f + length]
        part = slice(spans.offsets[row], spans.offsets[row + 1])
        sizes = np.diff(spans.end[part], prepend=0)
        assert sizes.min() > 0
        assert np.array_equal(np.repeat(spans.document[part], sizes), owners)


def test_a_document_that_begins_past_four_billion_tokens_is_read_right(tmp_path: Path):
    start = 2**32 + 5
    folder = bare_store(tmp_path / "store", {"web": [start, 3, 1000]})
    write_tokens(folder, [151_935, 70_000, 7], first_token=start)
    store = open_store(folder)
    (row,) = store.document("web-1").to_pylist()
    assert row == {"domain": "web", "id": "web-1", "first_token": start, "tokens": 3}
    assert store.read("web", start, 3).tolist() == [151_935, 70_000, 7]
    assert store.documents("web", start + 2, 2)["id"].to_pylist() == ["web-1", "web-2"]
    assert store.reader(["web"]).rows(np.array([0]), np.array([start - 1]), 5).tolist() == [[0, 151_935, 70_000, 7, 0]]
    assert segments(store, "web", start - 1, 5) == [(0, 1), (1, 3), (2, 1)]


def test_a_document_of_many_tokens_is_delivered_whole(make_store: MakeStore):
    text = "".join(chr(33 + i % 94) for i in range(130_000))
    store = make_store(web=["a", text, "b"])
    (row,) = store.document("1").to_pylist()
    assert row["tokens"] == 130_001
    assert text_of(store.read("web", row["first_token"], row["tokens"])) == text + "|"


def test_documents_of_many_ids_come_in_order_of_place_and_unknown_ids_give_none(make_store: MakeStore):
    store = make_store(a=["one", "two"], web=[f"text {i}" for i in range(40_000)])
    ids = ["39999", "1", "17", "no such id", "17", ""]
    found = store.documents_named(ids)
    places = list(zip(found["domain"].to_pylist(), found["first_token"].to_pylist(), strict=True))
    assert places == sorted(places)
    assert sorted(found["id"].to_pylist()) == ["1", "1", "17", "39999"]
    assert store.documents_named([]).num_rows == 0
    assert store.documents_named([]).column_names == ["domain", "id", "first_token", "tokens"]


@pytest.mark.parametrize("length", [8, 200, pytest.param(5_000, marks=pytest.mark.long)])
def test_ids_of_any_length_are_found(tmp_path: Path, length: int):
    ids = [f"{'é' * length}{i}" if i % 3 else f"{i:05}" for i in range(34_000)]
    source = tmp_path / "ids.jsonl"
    source.write_text("".join(f'{{"id": "{name}", "text": "{i}"}}\n' for i, name in enumerate(ids)), encoding="utf-8")
    lines = "domains: {web: {files: [ids.jsonl], text: text, id: id}}\n"
    (tmp_path / "sources.yaml").write_text(lines, encoding="utf-8")
    ingest(tmp_path / "sources.yaml", tmp_path / "store", processes=1)
    store = open_store(tmp_path / "store")
    for number in (0, 1, 2, 16_384, 16_385, 33_999):
        (row,) = store.document(ids[number]).to_pylist()
        assert text_of(store.read("web", row["first_token"], row["tokens"])) == f"{number}|"


def test_documents_are_found_by_their_numbers_in_any_order_and_read_in_parts(make_store: MakeStore):
    store = make_store(a=["one", "two"], web=[f"text {i}" for i in range(40_000)])
    whole = store.documents("web", 0, store.domains["web"].tokens)
    numbers = np.array([39_999, 0, 20_000, 0, 16_384])
    found = store.documents_at(["web", "a"], np.zeros(5, np.int64), numbers)
    assert found.drop_columns(["domain"]).equals(whole.take(numbers))
    assert store.documents_at(["a"], np.array([0]), np.array([1]))["domain"].to_pylist() == ["a"]
    parts = list(store.scan_documents("web", ["tokens", "id"]))
    assert pa.concat_tables(parts).equals(whole.select(["tokens", "id"]))
    assert max(part.num_rows for part in parts) < 20_000
    assert store.attributes == ()
