"""Domains cut by the length of their documents: disjoint, complete, in the order of storage."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from data.makers import bare_store
from data.token_files.token_files import catalog, write_raw
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples
from stream_helpers import DOMAINS, make_store

from mixture.data.derived import pack_store, split_store
from mixture.data.store import Store, open_store, verify_store
from mixture.errors import IngestError
from mixture.planning.catalog import read_catalog


def texts_in(store: Store, name: str) -> list[tuple[str, list[int]]]:
    """Ids and tokens in order of place."""
    rows = store.documents_from(name, 0, 10**6).to_pylist()
    return [(row["id"], store.read(name, row["first_token"], row["tokens"]).tolist()) for row in rows]


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=30), st.sets(st.integers(1, 70), min_size=1, max_size=3))
def test_every_document_is_in_the_one_domain_of_its_length(tmp_path_factory, sizes, edges):
    folder = tmp_path_factory.mktemp("split")
    bounds = sorted(edges)
    source = make_store(folder / "a", {"web": {str(i): (f"{i}." * size)[:size] for i, size in enumerate(sizes)}})
    report = split_store(source, folder / "split", bounds, processes=1)
    made = open_store(folder / "split")
    expected = texts_in(source, "web")
    names = [f"web@{low}-{high}" for low, high in pairwise([0, *bounds])] + [f"web@{bounds[-1]}-"]
    assert [one.name for one in report.domains] == names
    assert sorted(names) == list(made.domains)
    for one in report.domains:
        most = float("inf") if one.at_most is None else one.at_most
        own = [(i, tokens) for i, tokens in expected if one.longer_than < len(tokens) <= most]
        assert texts_in(made, one.name) == own
        assert (one.documents, one.tokens) == (len(own), sum(len(tokens) for _, tokens in own))
    assert verify_store(folder / "split") == []


def test_the_catalog_says_the_bounds_and_a_spec_can_select_by_them(tmp_path):
    source = make_store(tmp_path / "a", DOMAINS)
    split_store(source, tmp_path / "split", [250, 720])
    rows = {row["domain"]: row for row in open_store(tmp_path / "split").labels.to_pylist()}
    web = [(rows[name]["split_of"], rows[name]["longer_than"], rows[name]["at_most"]) for name in rows if "web" in name]
    assert web == [("web", 0, 250), ("web", 250, 720), ("web", 720, None)]
    read = read_catalog(tmp_path / "split")
    chosen = read.select("split_of = 'web' and at_most <= 720")
    assert [read.names[i] for i in chosen] == ["web@0-250", "web@250-720"]
    assert [read.names[i] for i in read.select("at_most is null")] == ["code@720-", "notes@720-", "web@720-"]


def test_held_out_documents_stay_held_out(tmp_path: Path):
    source = open_store(bare_store(tmp_path / "a", {"web": [2, 30], "web@validation": [30, 2]}))
    split_store(source, tmp_path / "split", [20])
    read = read_catalog(tmp_path / "split")
    held = {domain.name: domain.held_out for domain in read.domains}
    assert held == {
        "web@0-20": False,
        "web@0-20@validation": True,
        "web@20-": False,
        "web@20-@validation": True,
    }


def test_any_number_of_processes_makes_the_same_store(tmp_path):
    source = make_store(tmp_path / "a", DOMAINS)
    digests = {split_store(source, tmp_path / f"s{n}", [250, 720], processes=n).digest for n in (1, 2)}
    assert len(digests) == 1


def test_what_is_split_can_be_packed(tmp_path):
    source = make_store(tmp_path / "a", DOMAINS)
    split_store(source, tmp_path / "split", [250, 720])
    report = pack_store(open_store(tmp_path / "split"), tmp_path / "packed", sequence_length=512)
    assert sum(one.tokens for one in report.domains) == sum(d.tokens for d in source.domains.values())
    assert verify_store(tmp_path / "packed") == []


def test_an_end_that_token_files_lack_is_added_and_counted_into_the_length(tmp_path):
    write_raw(tmp_path / "web.npy", [[1, 2, 3], [4, 5, 0], [6]])
    source = catalog(tmp_path, {"web": "format: npy, files: [web.npy], dtype: uint16, documents: '{stem}.csv.gz'"})
    split_store(source, tmp_path / "split", [3])
    made = open_store(tmp_path / "split")
    assert [tokens for _, tokens in texts_in(made, "web@0-3")] == [[4, 5, 0], [6, 0]]
    assert [tokens for _, tokens in texts_in(made, "web@3-")] == [[1, 2, 3, 0]]
    assert verify_store(tmp_path / "split") == []


@pytest.mark.parametrize("bounds", [[], [0], [5, 5], [5, 3], [-1, 4]])
def test_bounds_that_do_not_ascend_are_refused(tmp_path, bounds):
    source = make_store(tmp_path / "a", {"web": {"a": "x"}})
    with pytest.raises(IngestError) as caught:
        split_store(source, tmp_path / "split", bounds)
    assert caught.value.code == "bounds-invalid"
    assert not (tmp_path / "split").exists()
