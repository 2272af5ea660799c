"""Arrays of tokens whose documents end where end-of-document stands: searched where the sources ask for it, only."""

from __future__ import annotations

import numpy as np
import pytest
from data.token_files.token_files import catalog, documents_of, write_raw

from mixture.data.linking import add_domain, build_catalog, refresh_catalog
from mixture.data.store import open_store, verify_store

DOCUMENTS = [[1, 2, 0], [0], [3, 4, 5, 0], [6, 7]]
PLAIN = "format: npy, files: ['*.npy'], dtype: {}"
ASKED = PLAIN + ", documents: end_of_document"


@pytest.mark.parametrize("dtype", ["uint16", "int32", "uint64"])
def test_documents_end_behind_each_end_of_document_and_the_last_with_its_file(tmp_path, dtype):
    write_raw(tmp_path / "a.npy", DOCUMENTS, dtype=dtype, beside=None)
    write_raw(tmp_path / "b.npy", [[8, 0], [9, 0]], dtype=dtype, beside=None)
    store = catalog(tmp_path, {"web": ASKED.format(dtype)})
    assert documents_of(store, "web") == [*DOCUMENTS, [8, 0], [9, 0]]
    ids = store.documents_from("web", 0, 99)["id"].to_pylist()
    assert ids == ["a.npy#0", "a.npy#1", "a.npy#2", "a.npy#3", "b.npy#0", "b.npy#1"]
    assert [error.code for error in verify_store(tmp_path / "catalog")] == ["digest-missing"]


def test_a_numpy_file_is_searched_behind_its_header(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, 2, 0, 3, 0], np.uint16))
    assert documents_of(catalog(tmp_path, {"web": ASKED.format("uint16")}), "web") == [[1, 2, 0], [3, 0]]


def test_documents_across_the_parts_that_are_read_together_are_whole(tmp_path):
    part = 1 << 20
    ends = [5, part - 1, part, part + 1, 2 * part + 7, 3 * part]  # the first tokens behind them
    tokens = np.ones(3 * part + 4, np.uint16)
    tokens[np.array(ends) - 1] = 0
    tokens.tofile(tmp_path / "a.npy")
    table = catalog(tmp_path, {"web": ASKED.format("uint16")}).documents_from("web", 0, len(tokens))
    assert table["first_token"].to_pylist() == [0, *ends]
    assert table["tokens"].to_pylist() == np.diff([0, *ends, len(tokens)]).tolist()


def test_a_file_without_the_id_is_one_document_and_an_empty_one_has_none(tmp_path):
    write_raw(tmp_path / "a.npy", [[1, 2, 3]], beside=None)
    (tmp_path / "b.npy").write_bytes(b"")
    assert documents_of(catalog(tmp_path, {"web": ASKED.format("uint16")}), "web") == [[1, 2, 3]]


def test_boundaries_are_not_searched_unasked_and_a_file_beside_is_not_read_where_they_are(tmp_path):
    write_raw(tmp_path / "a.npy", DOCUMENTS, beside=None)
    assert len(documents_of(catalog(tmp_path, {"web": PLAIN.format("uint16")}, name="plain"), "web")) == 1
    write_raw(tmp_path / "a.npy", [[1, 2], [0, 0, 3, 4, 5, 0, 6, 7]])
    assert documents_of(catalog(tmp_path, {"web": ASKED.format("uint16")}), "web") == DOCUMENTS


def test_which_id_ends_documents_is_part_of_what_a_domain_is_called_where_it_is_searched(tmp_path):
    write_raw(tmp_path / "a.npy", DOCUMENTS, beside=None)

    def content(keys: str, end: int) -> str:
        head = f"tokenizer: t\nvocabulary_size: 1000\nend_of_document: {end}\n"
        domains = f"domains: {{web: {{{keys.format('uint16')}}}}}\n"
        (tmp_path / "sources.yaml").write_text(head + domains, encoding="utf-8")
        made = tmp_path / f"catalog-{len(list(tmp_path.iterdir()))}"
        (domain,) = build_catalog(tmp_path / "sources.yaml", made).manifest.domains
        return domain.content

    assert content(PLAIN, 1) == content(PLAIN, 2)
    assert len({content(PLAIN, 1), content(ASKED, 1), content(ASKED, 2)}) == 3


def test_a_refresh_and_an_added_domain_search_as_well(tmp_path, monkeypatch):
    write_raw(tmp_path / "a.npy", DOCUMENTS, beside=None)
    catalog(tmp_path, {"web": ASKED.format("uint16")})
    write_raw(tmp_path / "b.npy", [[8, 0], [9]], beside=None)
    refresh_catalog(tmp_path / "catalog", accept=True)
    write_raw(tmp_path / "c.raw", [[8, 0], [9]], beside=None)
    monkeypatch.chdir(tmp_path)
    keys = {"format": "npy", "files": ["c.raw"], "dtype": "uint16", "documents": "end_of_document"}
    add_domain(tmp_path / "catalog", "more", keys)
    store = open_store(tmp_path / "catalog")
    assert documents_of(store, "web") == [*DOCUMENTS, [8, 0], [9]]
    assert documents_of(store, "more") == [[8, 0], [9]]
