"""What conditions select, checked by hand and against three-valued logic written anew in Python."""

from __future__ import annotations

import json
import operator
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.errors import CatalogError
from mixture.planning.catalog import Catalog, read_catalog

ROWS = [
    {"domain": "arxiv", "tokens": 9007199254740993, "cluster": "c14", "quality": 3, "open": True, "score": 0.1},
    {"domain": "code", "tokens": 9007199254740992, "cluster": "C14", "quality": 0, "open": False, "score": 2.5},
    {"domain": "empty", "tokens": 0, "cluster": "", "quality": -7, "open": True, "score": None},
    {"domain": "it's", "tokens": 5, "cluster": "it's 100%", "quality": None, "open": None, "score": -1.0},
    {"domain": "large", "tokens": 2**63 - 1, "cluster": None, "quality": 12, "open": False, "score": 0.0},
    {"domain": "web_é", "tokens": 7, "cluster": "c1_é\n", "quality": 3, "open": True, "score": 3.0},
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory) -> Catalog:
    path = tmp_path_factory.mktemp("catalog") / "cells.json"
    path.write_text(json.dumps(ROWS))
    return read_catalog(path)


def selected(catalog: Catalog, where: str) -> list[str]:
    return [catalog.names[index] for index in catalog.select(where)]


def test_decimals_that_a_wide_column_fills_with_zeros_are_compared_as_what_they_are(tmp_path):
    prices = pa.array([Decimal("1.5"), Decimal("2.5"), None], pa.decimal256(76, 40))
    pq.write_table(pa.table({"domain": ["a", "b", "c"], "tokens": [1, 1, 1], "price": prices}), tmp_path / "a.parquet")
    assert selected(read_catalog(tmp_path / "a.parquet"), "price > 1.5") == ["b"]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("cluster = 'c14' and quality >= 3", ["arxiv"]),
        ("lower(cluster) = 'c14'", ["arxiv", "code"]),
        ("upper(cluster) LIKE 'C1%'", ["arxiv", "code", "web_é"]),
        ("cluster like 'c1_'", ["arxiv"]),
        ("cluster not like 'c%'", ["code", "empty", "it's"]),
        ("starts_with(cluster, 'c1')", ["arxiv", "web_é"]),
        ("cluster = 'it''s 100%'", ["it's"]),
        ("domain in ('code', 'it''s', 'nowhere')", ["code", "it's"]),
        ("domain not in ('code', 'arxiv') and quality > 0", ["large", "web_é"]),
        ("tokens = 9007199254740993", ["arxiv"]),
        ("tokens > 9007199254740992.5", ["arxiv", "large"]),
        ("tokens * tokens >= tokens and tokens + tokens > 9223372036854775807", ["large"]),
        ("tokens between 5 and 7", ["it's", "web_é"]),
        ("tokens not between 5 and 1e18", ["empty", "large"]),
        ("tokens / quality > 1e15", ["arxiv", "large"]),
        ("quality % 2 = 1 or quality // 2 = -3", ["arxiv", "empty", "web_é"]),
        ("score = 0.1", ["arxiv"]),
        ("score >= quality", ["code", "web_é"]),
        ("open", ["arxiv", "empty", "web_é"]),
        ("not open", ["code", "large"]),
        ("open = false", ["code", "large"]),
        ("quality is null", ["it's"]),
        ("cluster is not null and not quality = 3", ["code", "empty"]),
        ("quality = null", []),
        ("null", []),
        ("true", [row["domain"] for row in ROWS]),
        ("\"domain\" = 'code'", ["code"]),
        ("(((quality)) = (3))", ["arxiv", "web_é"]),
        ("-quality = 7", ["empty"]),
    ],
)
def test_a_condition_selects_the_domains_it_is_true_for(catalog, where, names):
    assert selected(catalog, where) == names


def test_columns_are_told_apart_by_case_and_may_have_any_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('domain,tokens,A,a,select,"a ""b"" c",row\nx,1,1,2,3,4,5\ny,1,2,1,3,0,6\n')
    catalog = read_catalog(path)
    assert selected(catalog, "A = 1 and a = 2") == ["x"]
    assert selected(catalog, '"select" = 3 and "a ""b"" c" = 4 and row = 5') == ["x"]


def test_thousands_of_names_fit_into_one_list(tmp_path):
    path = tmp_path / "a.csv"
    names = [f"domain-{number:05}" for number in range(5_000)]
    path.write_text("domain,tokens\n" + "".join(f"{name},1\n" for name in names))
    where = f"domain in ({', '.join(repr(name) for name in names[::2])})"
    assert selected(read_catalog(path), where) == names[::2]


# An expression is its text and what it gives for a row; None is NULL.
COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truncated(left: int, right: int) -> int | None:
    return None if right == 0 else abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def remainder(left: int, right: int) -> int | None:
    return None if right == 0 else left - right * truncated(left, right)


def lifted(function):
    """The same function, NULL where an argument is."""
    return lambda *values: None if None in values else function(*values)


def both(left, right):
    return False if False in (left, right) else None if None in (left, right) else True


def either(left, right):
    return True if True in (left, right) else None if None in (left, right) else False


def like(text: str, pattern: str) -> bool:
    parts = {"%": ".*", "_": "."}
    return re.fullmatch("".join(parts.get(char, re.escape(char)) for char in pattern), text, re.DOTALL) is not None


def joined(template, function, *parts):
    """A strategy for an expression made of others."""
    return st.tuples(*parts).map(
        lambda chosen: (
            template.format(*(text for text, _ in chosen)),
            lambda row: function(*(value(row) for _, value in chosen)),
        )
    )


def column(*names):
    return st.sampled_from(names).map(lambda name: (name, lambda row: row[name]))


def literal(value, text):
    return (text, lambda row: value)


SMALL = st.integers(-20, 20).map(lambda number: literal(number, str(number)))
LARGE = st.integers(-(2**63) + 1, 2**63 - 1).map(lambda number: literal(number, str(number)))
DECIMAL = st.decimals(-100, 100, places=2).map(lambda number: literal(Fraction(number), f"{number:f}"))
WHOLE = st.recursive(
    column("quality", "tokens") | SMALL | LARGE,
    lambda inner: (
        joined("({} + {})", lifted(operator.add), inner, SMALL)
        | joined("({} - {})", lifted(operator.sub), inner, SMALL)
        | joined("{} * {}", lifted(operator.mul), SMALL, column("quality", "tokens"))
        | joined("(- {})", lifted(operator.neg), inner)
        | joined("({} // {})", lifted(truncated), inner, SMALL)
        | joined("({} % {})", lifted(remainder), inner, SMALL)
    ),
    max_leaves=4,
)


def texts(characters: str, *, most: int):
    return st.text(characters, max_size=most).map(lambda text: literal(text, "'" + text.replace("'", "''") + "'"))


TEXTS = texts("cC14é_%' \n\\", most=4)
PATTERNS = texts("cC14é_%' \n\\", most=4) | texts("_%c1*.+?()[]{}|^$&-~#é𝄞\\\n\t'", most=12)
TEXT = st.recursive(
    column("domain", "cluster") | TEXTS,
    lambda inner: joined("lower({})", lifted(str.lower), inner) | joined("upper({})", lifted(str.upper), inner),
    max_leaves=2,
)
NULL = st.just(literal(None, "null"))


def compared(kind):
    return st.sampled_from(sorted(COMPARISONS)).flatmap(
        lambda symbol: joined("{} " + symbol + " {}", lifted(COMPARISONS[symbol]), kind, kind)
    )


def listed(value, *choices):
    if value is None:
        return None
    return True if value in [choice for choice in choices if choice is not None] else None if None in choices else False


CONDITION = st.recursive(
    compared(WHOLE | DECIMAL | NULL)
    | compared(TEXT | NULL)
    | joined(
        "{} between {} and {}",
        lambda value, low, high: both(at_least(value, low), at_least(high, value)),
        WHOLE,
        WHOLE | NULL,
        SMALL,
    )
    | joined("{} in ({}, {}, {})", listed, TEXT, TEXT, TEXT | NULL, TEXT)
    | joined("{} like {}", lifted(like), TEXT, PATTERNS | NULL)
    | joined("{} not like {}", lifted(lambda *texts: not like(*texts)), TEXT, PATTERNS)
    | joined("starts_with({}, {})", lifted(str.startswith), TEXT, TEXT)
    | joined("{} is null", lambda value: value is None, WHOLE | TEXT)
    | joined("{} is not null", lambda value: value is not None, WHOLE | TEXT)
    | column("open")
    | st.sampled_from([literal(True, "true"), literal(False, "false"), literal(None, "null")]),
    lambda inner: (
        joined("({} and {})", both, inner, inner)
        | joined("(({}) OR ({}))", either, inner, inner)
        | joined("not ({})", lifted(operator.not_), inner)
    ),
    max_leaves=5,
)
at_least = lifted(operator.ge)


@given(CONDITION)
@settings(max_examples=examples(100), deadline=None)
def test_any_condition_selects_what_three_valued_logic_says(catalog, condition):
    where, value = condition
    assert selected(catalog, where) == [row["domain"] for row in ROWS if value(row) is True]


@pytest.mark.parametrize(
    ("cells", "where", "expected"),
    [
        (["0.1", "0.3", ""], "score < 0.2", ["a"]),
        (["0.10", "0.3", "1"], "score >= 0.3", ["b", "c"]),
        (["0.00001", "2500.5", "-0.5"], "score < 0.001", ["a", "c"]),
        (["0.1", "0.2", "0.30000000000000004"], "score = 0.3", []),
        (["0.1234567890123456789", "0.1234567890123456788", "0"], "score > 0.12345678901234567", ["a", "b"]),
        (["9007199254740993", "0.5", "1"], "score >= 9007199254740993", ["a"]),
        (["1.10", "1.1", "v2"], "score = '1.10'", ["a"]),
        (["2024.10", "2024.1", "2023.9"], "score = '2024.10'", ["a"]),
        (["1e-05", "0.3", ""], "score < 0.2", ["a"]),
        (["1.5e+20", "1e-07", "150000000000000000001"], "score > 0.2", ["a", "c"]),
        (["1e3", "5e2", "1000"], "score = '1e3'", ["a"]),
        (["08", "0.5", "1"], "score = '08'", ["a"]),
        (["1e300", "0.1234567890123456789", "1"], "score = '1e300'", ["a"]),
    ],
)
def test_numbers_of_csv_compare_as_numbers(tmp_path: Path, cells: list[str], where: str, expected: list[str]):
    rows = [f"{name},1,{cell}" for name, cell in zip("abc", cells, strict=True)]
    (tmp_path / "c.csv").write_text("\n".join(["domain,tokens,score", *rows]), encoding="utf-8")
    catalog = read_catalog(tmp_path / "c.csv")
    assert [catalog.names[index] for index in catalog.select(where)] == expected


def test_a_number_is_one_in_csv_json_and_parquet(tmp_path: Path):
    (tmp_path / "c.csv").write_text("domain,tokens,score\na,1,0.5\nb,2,0.001\n", encoding="utf-8")
    (tmp_path / "c.json").write_text(
        '[{"domain": "a", "tokens": 1, "score": 0.5}, {"domain": "b", "tokens": 2, "score": 0.001}]', encoding="utf-8"
    )
    pq.write_table(pa.table({"domain": ["a", "b"], "tokens": [1, 2], "score": [0.5, 0.001]}), tmp_path / "c.parquet")
    decimals = pa.array([Decimal("0.500"), Decimal("0.001")])
    pq.write_table(pa.table({"domain": ["a", "b"], "tokens": [1, 2], "score": decimals}), tmp_path / "d.parquet")
    tables = [read_catalog(tmp_path / name) for name in ("c.csv", "c.json", "c.parquet", "d.parquet")]
    assert len({table.digest for table in tables}) == 1
    assert [table.select("score < 0.4") for table in tables] == [(1,)] * 4


def test_decimals_without_places_name_domains(tmp_path: Path):
    names = pa.array([Decimal(101), Decimal(-7)], pa.decimal128(38, 0))
    pq.write_table(pa.table({"domain": names, "tokens": [1, 2]}), tmp_path / "c.parquet")
    assert read_catalog(tmp_path / "c.parquet").names == ("-7", "101")
    pq.write_table(pa.table({"domain": [Decimal("1.5")], "tokens": [1]}), tmp_path / "d.parquet")
    with pytest.raises(CatalogError, match=r"is 1\.5, not a text"):
        read_catalog(tmp_path / "d.parquet")
