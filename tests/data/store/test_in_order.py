"""A domain read in the order of storage gives each of its tokens once, whatever the length of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data.makers import MakeStore, WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import open_store, rows_in_order
from mixture.data.texts import Empty
from mixture.errors import StoreError


@pytest.mark.parametrize("length", [1, 3, 4, 13, 14, 100])
@pytest.mark.parametrize("rows", [1, 2, 64])
def test_every_token_comes_once_and_in_order(make_store: MakeStore, length: int, rows: int):
    store = make_store(web=["one", "three", "f"])
    tokens = store.read("web", 0, store.domains["web"].tokens)
    found = list(rows_in_order(store, "web", sequence_length=length, rows=rows))
    assert np.concatenate([some.input_ids.ravel() for some in found]).tolist() == tokens.tolist()
    assert all(some.input_ids.shape == (len(some.first_token), length) for some in found[:-1])
    assert all(len(some.input_ids) <= rows for some in found)
    for some in found:
        for row, first in zip(some.input_ids, some.first_token, strict=True):
            assert row.tolist() == tokens[first : first + len(row)].tolist()


@pytest.mark.parametrize("length", [1, 2, 3, 4, 11, 12, 100])
def test_every_token_but_the_first_stands_once_as_the_next_one(make_store: MakeStore, length: int):
    store = make_store(web=["one", "three", "f"])
    tokens = store.read("web", 0, store.domains["web"].tokens).tolist()
    found = list(rows_in_order(store, "web", sequence_length=length, rows=2, next_token=True))
    assert [token for some in found for row in some.input_ids for token in row[1:].tolist()] == tokens[1:]
    assert [token for some in found for row in some.input_ids for token in row[:-1].tolist()] == tokens[:-1]
    assert all(row.size <= length + 1 for some in found for row in some.input_ids)


def test_held_out_documents_are_read_as_they_are_stored(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", [{"text": f"text {n}"} for n in range(100)])
    path = sources("domains: {a: {files: [a.jsonl], holdout: {share: 30%}}}")
    store = open_store(ingest(path, tmp_path / "store").path)
    (some,) = rows_in_order(store, "a@validation", sequence_length=10_000)
    spans = store.spans(["a@validation"], np.zeros(1, int), some.first_token, some.input_ids.shape[1])
    assert len(spans.document) == store.domains["a@validation"].documents > 10
    assert (some.input_ids[0, spans.end - 1] == store.end_of_document).all()


def test_a_domain_of_nothing_has_no_rows_and_one_that_is_not_there_is_an_error(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "a.jsonl", [{"text": None}])
    made = ingest(sources("domains: {a: {files: [a.jsonl]}}"), tmp_path / "store", empty=Empty.ALLOW)
    store = open_store(made.path)
    assert list(rows_in_order(store, "a", sequence_length=4)) == []
    for options, code in (({"sequence_length": 0}, "length-outside"), ({"sequence_length": 4}, "domain-not-in-store")):
        with pytest.raises(StoreError) as caught:
            list(rows_in_order(store, "b", **options))
        assert caught.value.code == code
