"""A catalog's digest is of what it says, not of how."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.planning.catalog import read_catalog

ROWS = [
    {"domain": "web", "tokens": 2**60 + 1, "cluster": "08", "quality": 3, "share": 0.5},
    {"domain": "code", "tokens": 7, "cluster": "8", "quality": 0, "share": 0.25},
    {"domain": "papers", "tokens": 0, "cluster": "x", "quality": None, "share": 0.25},
]


def as_csv(rows: list[dict[str, object]], columns: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@given(st.permutations(ROWS), st.permutations(list(ROWS[0])))
@settings(max_examples=examples(30), deadline=None)
def test_the_order_of_rows_and_columns_does_not_matter(tmp_path_factory, rows, columns):
    path = tmp_path_factory.mktemp("tables") / "a.csv"
    path.write_text(as_csv(rows, columns))
    first = path.with_name("first.csv")
    first.write_text(as_csv(ROWS, list(ROWS[0])))
    catalog = read_catalog(path)
    assert catalog.digest == read_catalog(first).digest
    assert catalog.domains == read_catalog(first).domains


def test_the_format_and_the_spelling_do_not_matter(tmp_path: Path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(ROWS))
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "a.csv").write_text(as_csv(ROWS, list(ROWS[0])))
    (tmp_path / "b.csv").write_text(as_csv(ROWS, list(ROWS[0])).replace(",7,", ",0.007K,").replace("\r\n", "\n"))
    (tmp_path / "c.csv").write_text(as_csv(ROWS, list(ROWS[0])).replace("domain,", "cell,"))
    (tmp_path / "d.json").write_text(json.dumps([row | {"note": None} for row in ROWS]))
    others = [read_catalog(tmp_path / name) for name in ("a.json", "a.jsonl", "a.csv", "b.csv", "d.json")]
    others.append(read_catalog(tmp_path / "c.csv", domain="cell"))
    assert {catalog.digest for catalog in others} == {read_catalog(tmp_path / "a.parquet").digest}


@pytest.mark.parametrize(
    ("old", "new"),
    [("web", "wet"), (",7,", ",8,"), ("08", "8"), ("0.25", "0.250"), (",3,", ",4,"), ("quality", "grade"), ("x,", ",")],
)
def test_whatever_it_says_otherwise_changes_it(tmp_path: Path, old, new):
    text = as_csv(ROWS, list(ROWS[0]))
    assert old in text
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text(text.replace(old, new))
    assert read_catalog(tmp_path / "a.csv").digest != read_catalog(tmp_path / "b.csv").digest


def test_it_is_the_same_on_every_machine(tmp_path: Path):
    (tmp_path / "a.csv").write_text("domain,tokens,cluster\nweb,2,08\ncode,1,ü\n")
    says = '{"columns":{"cluster":["ü","08"],"tokens":["1","2"]},"domains":["code","web"]}'
    import hashlib

    assert read_catalog(tmp_path / "a.csv").digest == hashlib.sha256(says.encode()).hexdigest()
