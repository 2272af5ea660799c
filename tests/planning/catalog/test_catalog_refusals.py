"""Tables that are none, or say what can not be: an error with a code and a place, never a traceback."""

from __future__ import annotations

import json
import os
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.errors import CatalogError, Place
from mixture.planning.catalog import read_catalog, read_column
from mixture.planning.catalog.table import MOST_CELL_BYTES


def parquet_bytes(**columns: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


GOOD = parquet_bytes(domain=["a", "b"], tokens=[1, 2])

REFUSED_CSV = {
    "cells are missing": ("domain,tokens,x\na,1,2\nb,1\n", "ragged-row", 3, r"2 cells.*header has 3"),
    "cells are too many": ("domain,tokens\na,1\n\nb,1,2\n", "ragged-row", 4, "a comma inside"),
    "a quote is open": ('domain,tokens\na,1\n"b,2\n', "bad-csv", 3, "quote"),
    "text after a quote": ('domain,tokens\n"a"b,1\n', "bad-csv", 2, "quote"),
    "no column domain": ("domian,tokens\na,1\n", "missing-column", 1, "did you mean 'domian'"),
    "no column tokens": ("domain,token\na,1\n", "missing-column", 1, "did you mean 'token'"),
    "nothing near tokens": ("domain,size\na,1\n", "missing-column", 1, "its columns: 'domain', 'size'"),
    "only a header": ("domain,tokens\n", "no-rows", None, "no rows"),
    "only empty lines": ("\n\n", "no-rows", None, "no header"),
    "a column without a name": (",domain,tokens\n0,a,1\n", "nameless-column", 1, "index=False"),
    "two columns of one name": ("domain,tokens,tokens\na,1,2\n", "duplicate-column", 1, "'tokens'"),
    "a domain twice": ("domain,tokens\na,1\nb,2\na,3\n", "duplicate-domain", 4, "'a' stands here and in line 2"),
    "an empty name": ("domain,tokens\n,1\n", "name-invalid", 2, "is empty"),
    "a name of spaces": ("domain,tokens\n   ,1\n", "name-invalid", 2, "is empty"),
    "a line break in a name": ('domain,tokens\n"a\nb",1\n', "control-character", 2, r"\\n"),
    "a hidden separator in a name": ("domain,tokens\na\u2028b,1\n", "control-character", 2, "2028"),
    "negative tokens": ("domain,tokens\na,-1\n", "negative", 2, "'tokens'.*'-1' is negative"),
    "half a token": ("domain,tokens\na,1\nb,1.5\n", "not-whole", 3, "1.5"),
    "tokens not a number": ("domain,tokens\na,many\n", "not-a-number", 2, "many"),
    "tokens missing": ("domain,tokens\na,1\nb,\n", "not-a-number", 3, "no value"),
    "tokens infinite": ("domain,tokens\na,inf\n", "not-finite", 2, "inf"),
    "tokens in thousands": ('domain,tokens\na,"1,000"\n', "not-a-number", 2, "comma"),
    "tokens in bytes": ("domain,tokens\na,18TB\n", "unknown-unit", 2, "TB"),
    "tokens in percent": ("domain,tokens\na,50%\n", "wrong-unit", 2, "%"),
    "tokens of 2^63": ("domain,tokens\na,9223372036854775808\n", "out-of-range", 2, "9,223,372,036,854,775,807"),
    "tokens beyond all": (f"domain,tokens\na,1{'0' * 70}\n", "out-of-range", 2, "out of range"),
    "tokens of many digits": (f"domain,tokens\na,{'9' * 5000}\n", "not-a-number", 2, "characters long"),
    "an exponent beyond all": ("domain,tokens\na,1e999999999\n", "out-of-range", 2, "exponents"),
    "documents not whole": ("domain,tokens,documents\na,1,0.5\n", "not-whole", 2, "documents"),
    "no epochs allowed": ("domain,tokens,max_epochs\na,1,0\n", "out-of-range", 2, "weight 0"),
    "epochs not a number": ("domain,tokens,max_epochs\na,1,few\n", "not-a-number", 2, "few"),
    "a label beyond 64 bits": ("domain,tokens,hash\na,1,9223372036854775808\n", "integer-too-large", 2, "letter"),
    "a line break in a column's name": ('domain,tokens,"a\nb"\na,1,2\n', "control-character", 1, r"column 3, 'a\\nb'"),
    "epochs beyond all": (f"domain,tokens,max_epochs\na,1,0.{'1' * 39}\n", "bad-cell", None, "'max_epochs'.*38 digits"),
    "a zero byte": ("domain,tokens\na\0,1\n", "not-text", 2, "control character"),
    "too many columns": ("domain,tokens," + ",".join(f"c{n}" for n in range(1000)), "table-too-large", 1, "1,002"),
}


@pytest.mark.parametrize("case", REFUSED_CSV)
def test_a_csv_table_is_refused_where(write, case):
    text, code, line, words = REFUSED_CSV[case]
    path = write("cells.csv", text)
    with pytest.raises(CatalogError) as refused:
        read_catalog(path)
    assert (refused.value.code, refused.value.place.file, refused.value.place.line) == (code, str(path), line)
    assert re.search(words, str(refused.value)), str(refused.value)


REFUSED_FILES = {
    "a CSV file is empty": ("a.csv", b"", "file-empty"),
    "a Parquet file is empty": ("a.parquet", b"", "file-empty"),
    "CSV is not UTF-8": ("a.csv", "domain,tokens\ncafé,1\n".encode("latin-1"), "not-text"),
    "CSV is UTF-16": ("a.csv", "domain,tokens\na,1\n".encode("utf-16"), "not-text"),
    "CSV is Parquet": ("a.csv", GOOD, "not-text"),
    "CSV is compressed": ("a.csv", b"\x1f\x8b\x08\x00abc", "not-text"),
    "Parquet is text": ("a.parquet", b"domain,tokens\na,1\n", "bad-parquet"),
    "Parquet is cut short": ("a.parquet", GOOD[:-100], "bad-parquet"),
    "Parquet has no rows": ("a.parquet", parquet_bytes(domain=[], tokens=[]), "no-rows"),
    "Parquet holds lists": ("a.parquet", parquet_bytes(domain=["a"], tokens=[1], x=[[1]]), "bad-cell"),
    "Parquet holds bytes": ("a.parquet", parquet_bytes(domain=[b"a"], tokens=[1]), "bad-cell"),
    "Parquet holds infinity": ("a.parquet", parquet_bytes(domain=["a"], tokens=[1], x=[float("inf")]), "bad-cell"),
    "Parquet decimals are too wide": (
        "a.parquet",
        parquet_bytes(domain=["a"], tokens=[1], x=pa.array([Decimal("1." + "1" * 40)], pa.decimal256(76, 40))),
        "bad-cell",
    ),
    "Parquet times are of an unknown zone": (
        "a.parquet",
        parquet_bytes(domain=["a"], tokens=[1], x=pa.array([0], pa.timestamp("s", "Mars/Olympus"))),
        "bad-cell",
    ),
    "Parquet tokens are null": (
        "a.parquet",
        parquet_bytes(domain=["a"], tokens=pa.array([None], "int64")),
        "not-a-number",
    ),
    "Parquet tokens are NaN": ("a.parquet", parquet_bytes(domain=["a"], tokens=[float("nan")]), "not-a-number"),
    "Parquet tokens are floats above 2^53": ("a.parquet", parquet_bytes(domain=["a"], tokens=[2.0**60]), "not-whole"),
    "Parquet tokens are above 63 bits": (
        "a.parquet",
        parquet_bytes(domain=["a"], tokens=pa.array([2**63], "uint64")),
        "out-of-range",
    ),
    "Parquet names are null": ("a.parquet", parquet_bytes(domain=["a", None], tokens=[1, 2]), "name-invalid"),
    "Parquet names are floats": ("a.parquet", parquet_bytes(domain=[1.5], tokens=[1]), "name-invalid"),
    "JSON is cut short": ("a.json", b'[{"domain": "a", "tokens": 1}, {"dom', "bad-json"),
    "JSON is an object": ("a.json", b'{"a": 1}', "bad-json"),
    "JSON is one object a line": ("a.json", b'{"domain": "a"}\n{"domain": "b"}', "bad-json"),
    "JSON has no rows": ("a.json", b"[]", "no-rows"),
    "JSON rows are no objects": ("a.json", b"[1, 2]", "bad-json"),
    "JSON says NaN": ("a.json", b'[{"domain": "a", "tokens": NaN}]', "bad-json"),
    "JSON says 1e999": ("a.json", b'[{"domain": "a", "tokens": 1e999}]', "bad-cell"),
    "JSON has a key twice": ("a.json", b'[{"domain": "a", "tokens": 1, "tokens": 2}]', "bad-json"),
    "JSON nests without end": ("a.json", b"[" * 100_000, "bad-json"),
    "JSON integers are endless": ("a.json", b'[{"domain": "a", "tokens": ' + b"9" * 5000 + b"}]", "bad-json"),
    "JSON holds lists": ("a.json", b'[{"domain": "a", "tokens": [1]}]', "bad-cell"),
    "JSON tokens are true": ("a.json", b'[{"domain": "a", "tokens": true}]', "not-a-number"),
    "JSON names are true": ("a.json", b'[{"domain": true, "tokens": 1}]', "name-invalid"),
    "JSON names are half a character": ("a.json", b'[{"domain": "\\ud800", "tokens": 1}]', "control-character"),
    "JSON labels are half a character": ("a.json", b'[{"domain": "a", "tokens": 1, "x": "\\ud800"}]', "bad-cell"),
    "JSON columns are half a character": (
        "a.json",
        b'[{"domain": "a", "tokens": 1, "x\\ud800": 1}]',
        "control-character",
    ),
    "JSON columns mix types": (
        "a.json",
        b'[{"domain": "a", "tokens": 1, "x": 1}, {"domain": "b", "tokens": 1, "x": "1"}]',
        "mixed-column",
    ),
    "JSON integers are too large beside floats": (
        "a.json",
        b'[{"domain": "a", "tokens": 1, "x": 9007199254740993}, {"domain": "b", "tokens": 1, "x": 0.5}]',
        "integer-too-large",
    ),
    "JSON lines are cut short": ("a.jsonl", b'{"domain": "a", "tokens": 1}\n{"dom', "bad-json"),
    "the name says no format": ("a.xlsx", b"PK", "unknown-format"),
}


@pytest.mark.parametrize("case", REFUSED_FILES)
def test_a_table_is_refused_where(write, case):
    name, content, code = REFUSED_FILES[case]
    with pytest.raises(CatalogError) as refused:
        read_catalog(write(name, content))
    assert refused.value.code == code, str(refused.value)
    assert name in str(refused.value.place)


def test_a_cell_has_a_bound_in_every_format_which_the_refusal_says(write):
    def contents(text):
        row = json.dumps({"domain": "a", "tokens": 1, "note": text})
        yield "a.csv", f"domain,tokens,note\na,1,{text}\n"
        yield "a.json", f"[{row}]"
        yield "a.jsonl", row
        yield "a.parquet", parquet_bytes(domain=["a"], tokens=[1], note=[text])

    for text in ("x" * (MOST_CELL_BYTES + 1), "x" * 200_000, "é" * (MOST_CELL_BYTES // 2 + 1)):
        for name, content in contents(text):
            with pytest.raises(CatalogError, match="65,536 bytes") as refused:
                read_catalog(write(name, content))
            assert refused.value.code == "table-too-large", name
    for name, content in contents("é" * (MOST_CELL_BYTES // 2)):
        assert read_catalog(write(name, content)).names == ("a",)


def test_a_row_of_json_lines_is_named_by_its_line_and_one_of_an_array_by_its_number(write):
    rows = ['{"domain": "a", "tokens": 1}', '{"domain": "b", "tokens": -2}']
    with pytest.raises(CatalogError, match=r"a\.jsonl:3: column 'tokens'"):
        read_catalog(write("a.jsonl", "\n\n".join(rows)))
    with pytest.raises(CatalogError, match=r"a\.json: row 2: column 'tokens'"):
        read_catalog(write("a.json", f"[{','.join(rows)}]"))


def test_a_missing_file_is_said_at_the_place_that_asks_for_it_with_the_nearest_name(write):
    path = write("cells.csv", "domain,tokens\na,1\n")
    place = Place(file="mixture.yaml", line=2, column=10)
    for read in (lambda path: read_catalog(path, place=place), lambda path: read_column(path, "x", place=place)):
        with pytest.raises(CatalogError, match=r"^mixture\.yaml:2:10: .*did you mean 'cells\.csv'") as refused:
            read(path.with_name("cell.csv"))
        assert refused.value.code == "file-missing"
    with pytest.raises(CatalogError, match="there is no folder"):
        read_catalog(path.parent / "nowhere" / "cells.csv")


def test_a_missing_column_is_said_at_the_place_that_asks_for_it(write):
    path = write("cells.csv", "domain,main\na,1\n")
    with pytest.raises(CatalogError, match=r"^mixture\.yaml:9: .*'mian' \(did you mean 'main'\?\)"):
        read_column(path, "mian", place=Place(file="mixture.yaml", line=9))


@pytest.mark.parametrize("cell", ["", "-0.1", "nan", "x", "inf", "0.5 steps"])
def test_a_column_of_weights_has_a_number_in_every_row(write, cell):
    with pytest.raises(CatalogError) as refused:
        read_column(write("a.csv", f"domain,w\na,0.5\nb,{cell}\n"), "w")
    assert refused.value.place.line == 3


def test_a_column_of_weights_with_a_domain_twice_is_refused(write):
    with pytest.raises(CatalogError) as refused:
        read_column(write("a.csv", "domain,w\na,0.5\na,0.5\n"), "w")
    assert refused.value.code == "duplicate-domain"


def test_what_is_no_plain_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(CatalogError) as refused:
        read_catalog(tmp_path / "a.csv")
    assert refused.value.code == "file-unreadable"


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "a.csv").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(CatalogError) as refused:
        read_catalog(tmp_path / "a.csv")
    assert refused.value.code == "table-too-large"


@given(
    st.sampled_from(["csv", "json", "jsonl", "parquet"]),
    st.binary(max_size=200) | st.text(max_size=100).map(str.encode),
)
@settings(max_examples=examples(300), deadline=None)
def test_any_bytes_are_a_table_or_an_error_of_ours(tmp_path_factory, ending, content):
    path = tmp_path_factory.mktemp("tables") / f"a.{ending}"
    path.write_bytes(content)
    try:
        places = [Place(file=str(read_catalog(path).source))]
    except CatalogError as error:
        places = [error.place]
    assert [place.file for place in places] == [str(path)]


def test_parquet_cut_at_any_byte_is_refused(write):
    for length in range(0, len(GOOD), 7):
        with pytest.raises(CatalogError):
            read_catalog(write("a.parquet", GOOD[:length]))


def test_json_text_that_is_no_table_of_domains_is_refused_whatever_it_is(write):
    for value in (None, 1, "text", [None], [[]], [{}], [{"domain": None, "tokens": None}]):
        with pytest.raises(CatalogError):
            read_catalog(write("a.json", json.dumps(value)))
