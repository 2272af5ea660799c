"""How long a condition may take, and how much room."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from mixture.errors import CatalogError
from mixture.planning.catalog import Catalog, read_catalog
from mixture.planning.catalog.sandbox import sealed_duckdb
from mixture.planning.catalog.table import MOST_CELL_BYTES

SLOW = " or ".join(f"lower(text) like '%a%{i}%a'" for i in range(60))
"""Some half a second over the catalog below: no row has a digit, so that each pattern goes through all of its text."""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    path: Path = tmp_path_factory.mktemp("catalog") / "cells.csv"
    rows = "".join(f"d{i},{1000 + i},{'a' * 300}\n" for i in range(20_000))
    path.write_text(f"domain,tokens,text\n{rows}", encoding="utf-8")
    return read_catalog(path)


def test_a_condition_that_takes_longer_than_it_may_is_stopped_and_the_limit_is_said(catalog: Catalog):
    with pytest.raises(CatalogError, match=r"more than 0\.001 seconds") as refused:
        catalog.select(SLOW, seconds=0.001)
    assert (refused.value.code, refused.value.facts["seconds"]) == ("condition-too-slow", 0.001)


def test_patterns_that_match_in_many_ways_end_in_time(tmp_path: Path):
    """Without a bound that holds within one cell, the first of these runs for longer than anybody lives."""
    long, hidden = "a" * MOST_CELL_BYTES, "%a" * 30
    (tmp_path / "cells.csv").write_text(f"domain,tokens,note\nx,1,{long}\ny,1,{long[:-1]}b\n", encoding="utf-8")
    catalog = read_catalog(tmp_path / "cells.csv")
    assert catalog.select(f"note like '{hidden}_%b'") == (1,)
    assert catalog.select(f"note like '{hidden}_%c' or note not like '%aaaa_b%'") == (0,)
    many = " or ".join(f"note like '{'%a_' * 8}{i}'" for i in range(38))
    assert catalog.select(many) == ()
    for where, code in (
        (f"{many} or note like '{'%a_' * 8}'", "condition-too-large"),
        ("note like domain", "condition-not-allowed"),
    ):
        with pytest.raises(CatalogError) as refused:
            catalog.select(where)
        assert refused.value.code == code


def test_a_limit_changes_nothing_of_what_a_condition_selects(catalog: Catalog):
    assert catalog.select("tokens < 1003", seconds=600) == catalog.select("tokens < 1003")
    assert catalog.select(SLOW, seconds=600) == catalog.select(SLOW) == ()


def test_what_does_not_fit_into_memory_is_not_written_to_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with sealed_duckdb() as connection, pytest.raises(duckdb.OutOfMemoryException, match="temp_directory_size"):
        connection.execute("CREATE TABLE t AS SELECT md5(i::VARCHAR) FROM range(20000000) r(i)")
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []
