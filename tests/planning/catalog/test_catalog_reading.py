"""What a catalog says, from each kind of file."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mixture.errors import CatalogError
from mixture.planning.catalog import CatalogDomain, read_catalog, read_column

CSV = "domain,cluster,tokens,documents\nweb,08,9007199254740993,12\ncode,8,5,\n"


def test_domains_come_in_order_of_their_names_with_exact_counts(write):
    catalog = read_catalog(write("a.csv", CSV))
    assert catalog.domains == (CatalogDomain("code", 5), CatalogDomain("web", 2**53 + 1, documents=12))
    assert catalog.names == ("code", "web")
    assert catalog.tokens == 2**53 + 6
    assert catalog.table["tokens"].to_pylist() == [5, 2**53 + 1]


def test_order_is_by_code_points_and_not_by_any_language(write):
    catalog = read_catalog(write("a.csv", "domain,tokens\nä,1\nb,1\nZ,1\na,1\n𝄞,1\n￼,1\n"))
    assert catalog.names == ("Z", "a", "b", "ä", "￼", "𝄞")


def test_08_beside_8_stays_two_texts(write):
    catalog = read_catalog(write("a.csv", CSV))
    assert catalog.table["cluster"].to_pylist() == ["8", "08"]
    assert catalog.select("cluster = '08'") == (1,)
    assert catalog.select("cluster = '8'") == (0,)


def test_a_domain_may_have_a_name_that_other_languages_take_for_a_value(write):
    names = ["1e3", "2026-11-29", "08", "no", "null", "true", "8"]
    catalog = read_catalog(write("a.csv", "domain,tokens\n" + "".join(f"{name},1\n" for name in names)))
    assert catalog.names == tuple(sorted(names))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0", "8", "-3", "9007199254740993"], [0, 8, -3, 2**53 + 1]),
        (["8", "", "3"], [8, None, 3]),
        (["8", "08"], ["8", "08"]),
        (["8", "-0"], ["8", "-0"]),
        (["8", "+8"], ["8", "+8"]),
        (["8", "8.0"], ["8", "8.0"]),
        (["2024.1", "2024.10", "2023"], ["2024.1", "2024.10", "2023"]),
        (["2024.1", "2024.1", "2023.10"], [2024.1, 2024.1, 2023.1]),
        (["0.0", "-0.0"], ["0.0", "-0.0"]),
        (["0.1234567890123456789", "0.12345678901234567890"], ["0.1234567890123456789", "0.12345678901234567890"]),
        (["8", "0.50", ""], [8.0, 0.5, None]),
        (["8", "0.12345678901234567890"], [Decimal("8"), Decimal("0.1234567890123456789")]),
        (["8", "08.5"], ["8", "08.5"]),
        (["8", ".5"], ["8", ".5"]),
        (["1e400", "0.5"], ["1e400", "0.5"]),
        (["8", " 8"], ["8", " 8"]),
        (["8", "1e3"], ["8", "1e3"]),
        (["1e3", "5e2"], ["1e3", "5e2"]),
        (["1E-5", "0.5"], [1e-5, 0.5]),
        (["1e-05", "1e+20", "", "-1.5e-07"], [1e-5, 1e20, None, -1.5e-7]),
        (["1.0E-05", "1.5e300", "0", "0.0E+00"], ["1.0E-05", "1.5e300", "0", "0.0E+00"]),
        (["1.0E-05", "1.5e300", "0"], [1e-5, 1.5e300, 0.0]),
        (["1e-05", "1e3"], ["1e-05", "1e3"]),
        (["1e-05", "0.00001"], ["1e-05", "0.00001"]),
        (["1e+400", "0.5"], ["1e+400", "0.5"]),
        (["1e-400", "0.5"], ["1e-400", "0.5"]),
        (["1.23456789012345678901e-05", "8"], [Decimal("0.0000123456789012345678901"), Decimal("8")]),
        (["08e-05", "0.5"], ["08e-05", "0.5"]),
        (["1e-", "1.e-5", "1.5e", "e-05"], ["1e-", "1.e-5", "1.5e", "e-05"]),
        (["8", "1_000"], ["8", "1_000"]),
        (["8", "٨"], ["8", "٨"]),
        (["8", "n/a"], ["8", "n/a"]),
        (["", ""], [None, None]),
    ],
)
def test_a_csv_column_is_of_numbers_only_where_all_its_values_are(write, cells, expected):
    rows = "".join(f'd{number},1,"{cell}"\n' for number, cell in enumerate(cells))
    catalog = read_catalog(write("a.csv", "domain,tokens,label\n" + rows))
    assert catalog.table["label"].to_pylist() == expected


@pytest.mark.parametrize(
    ("cell", "tokens"),
    [("1.5T", 15 * 10**11), ("18_000", 18_000), ("1e12", 10**12), ("9223372036854775807", 2**63 - 1), ("0", 0)],
)
def test_tokens_are_read_as_a_spec_reads_them(write, cell, tokens):
    assert read_catalog(write("a.csv", f"domain,tokens\na,{cell}\n")).domains[0].tokens == tokens


def test_what_a_domain_says_of_itself_is_read(write):
    catalog = read_catalog(write("a.csv", "domain,tokens,tokenizer,max_epochs\na,1,llama,2.5\nb,1,,\n"))
    assert [domain.tokenizer for domain in catalog.domains] == ["llama", None]
    assert [domain.max_epochs for domain in catalog.domains] == [Fraction(5, 2), None]


def test_the_column_of_the_domains_may_have_another_name(write):
    path = write("a.csv", "cell,tokens,share\nx,1,0.25\ny,2,0.75\n")
    assert read_catalog(path, domain="cell").names == ("x", "y")
    assert read_column(path, "share", domain="cell") == {"x": Fraction(1, 4), "y": Fraction(3, 4)}


def test_rfc_4180_is_read_whole(write):
    text = '\ufeffdomain,tokens,note\r\n"a,b",1,"says ""hi"""\r\n\r\n"two\nlines",2,"x\ny"\r\nlast,3,end'
    with pytest.raises(CatalogError) as refused:
        read_catalog(write("a.csv", text))
    assert (refused.value.code, refused.value.place.line) == ("control-character", 4)
    catalog = read_catalog(write("a.csv", text.replace('"two\nlines"', "two")))
    assert catalog.names == ("a,b", "last", "two")
    assert catalog.table["note"].to_pylist() == ['says "hi"', "end", "x\ny"]


def test_json_integers_stay_exact_and_texts_stay_texts(write):
    rows = [{"domain": "b", "tokens": 2**53 + 1, "cluster": "08", "score": 0.5}, {"domain": "a", "tokens": 3}]
    for path in (
        write("a.json", json.dumps(rows)),
        write("a.jsonl", "\n".join(map(json.dumps, rows)) + "\n\n"),
    ):
        catalog = read_catalog(path)
        assert [domain.tokens for domain in catalog.domains] == [3, 2**53 + 1]
        assert catalog.table["cluster"].to_pylist() == [None, "08"]
        assert catalog.table["score"].to_pylist() == [None, 0.5]


def test_parquet_types_are_kept_as_what_they_say(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "domain": pa.array(["b", "a"]).dictionary_encode(),
        "tokens": pa.array([2**53 + 1, 7], pa.uint64()),
        "narrow": pa.array([0.1, None], pa.float32()),
        "wide": pa.array([0.1, float("nan")]),
        "exact": pa.array([Decimal("0.10"), Decimal("2.50")]),
        "flag": [True, False],
        "day": pa.array([0, 1], pa.int32()).cast(pa.date32()),
        "label": pa.array(["8", "9"], pa.large_string()),
        "nothing": pa.nulls(2),
    }
    pq.write_table(pa.table(columns), path)
    table = read_catalog(path).table.to_pydict()
    assert table == {
        "domain": ["a", "b"],
        "tokens": [7, 2**53 + 1],
        "narrow": [None, 0.1],
        "wide": [None, 0.1],
        "exact": [Decimal("2.50"), Decimal("0.10")],
        "flag": [False, True],
        "day": ["1970-01-02", "1970-01-01"],
        "label": ["9", "8"],
        "nothing": [None, None],
    }


def test_a_float_counts_as_its_shortest_decimal(tmp_path, write):
    expected = {"a": Fraction(1, 10), "b": Fraction(3, 10), "c": Fraction("1e-9")}
    narrow, wide = tmp_path / "narrow.parquet", tmp_path / "wide.parquet"
    pq.write_table(pa.table({"domain": ["a", "b", "c"], "w": pa.array([0.1, 0.3, 1e-9], pa.float32())}), narrow)
    pq.write_table(pa.table({"domain": ["a", "b", "c"], "w": [0.1, 0.3, 1e-9]}), wide)
    assert read_column(narrow, "w") == read_column(wide, "w") == expected
    rows = '[{"domain":"a","w":0.1},{"domain":"b","w":0.30000},{"domain":"c","w":1e-9}]'
    assert read_column(write("a.json", rows), "w") == expected
    assert read_column(write("a.csv", "domain,w\na,0.1\nb,30%\nc,1e-9\n"), "w") == expected


def test_a_decimal_in_csv_counts_as_written_beyond_what_a_double_holds(write):
    path = write("a.csv", "domain,w\na,0.1000000000000000000000000001\nb,2\n")
    assert read_column(path, "w") == {"a": Fraction(10**27 + 1, 10**28), "b": Fraction(2)}


def test_a_store_s_catalog_is_the_table_in_its_folder(tmp_path):
    pq.write_table(pa.table({"domain": ["web"], "tokens": [5]}), tmp_path / "domains.parquet")
    with pytest.raises(CatalogError) as refused:
        read_catalog(tmp_path)
    assert refused.value.code == "not-a-store"
    (tmp_path / "store.json").write_text("{}")
    assert read_catalog(tmp_path).domains == (CatalogDomain("web", 5),)


def test_an_unknown_domain_is_refused_with_the_nearest_name(write):
    catalog = read_catalog(write("a.csv", CSV))
    assert catalog.index("web") == 1
    with pytest.raises(CatalogError, match=r"unknown domain 'cod'.*did you mean 'code'") as refused:
        catalog.index("cod")
    assert refused.value.code == "unknown-domain"


def test_held_out_domains_are_listed_and_never_selected(write):
    catalog = read_catalog(write("a.csv", "domain,tokens\nweb,5\nweb@validation,2\nweb@sha256:ab,3\n"))
    assert [domain.held_out for domain in catalog.domains] == [False, True, True]
    assert catalog.select("true") == (0,)


def test_names_in_csv_stay_as_written_where_all_of_them_could_be_numbers(tmp_path):
    for names in (["1e3"], ["1e3", "3.50"], ["0.10", "1"], ["1", "2"]):
        (tmp_path / "cells.csv").write_text("".join(["domain,tokens\n", *(f"{name},1000\n" for name in names)]))
        assert [domain.name for domain in read_catalog(tmp_path / "cells.csv").domains] == sorted(names)


def test_names_and_counts_with_exponents_are_what_the_csv_says(write):
    catalog = read_catalog(
        write(
            "a.csv", "domain,tokens,documents,score\n1e-05,1.5e+16,2e+01,1e-05\n1.50e+20,9007199254740993.0,3.0,0.5\n"
        )
    )
    assert {domain.name: domain.tokens for domain in catalog.domains} == {
        "1.50e+20": 9_007_199_254_740_993,
        "1e-05": 15 * 10**15,
    }
    assert [catalog.names[row] for row in catalog.select("score < 0.2")] == ["1e-05"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "domain,tokens,score\na,1,1e-05\nb,2,1.5e+20\nc,3,\n"),
        (
            "a.json",
            '[{"domain":"a","tokens":1,"score":1e-05},{"domain":"b","tokens":2,"score":1.5e+20},{"domain":"c","tokens":3,"score":null}]',
        ),
        (
            "a.jsonl",
            '{"domain":"a","tokens":1,"score":1e-05}\n{"domain":"b","tokens":2,"score":1.5e+20}\n{"domain":"c","tokens":3}\n',
        ),
    ],
)
def test_small_and_large_floats_as_programs_write_them_compare_as_numbers(write, name, text):
    catalog = read_catalog(write(name, text))
    assert [catalog.names[row] for row in catalog.select("score < 0.2")] == ["a"]
    assert [catalog.names[row] for row in catalog.select("score >= 1e18")] == ["b"]
