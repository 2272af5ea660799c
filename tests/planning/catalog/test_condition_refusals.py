"""Conditions that are not let through: each names what is not allowed, and none is run."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.errors import CatalogError, Place
from mixture.planning.catalog import Catalog, read_catalog
from mixture.planning.catalog.sandbox import sealed_duckdb


@pytest.fixture(scope="module")
def catalog(tmp_path_factory) -> Catalog:
    path = tmp_path_factory.mktemp("catalog") / "cells.csv"
    path.write_text(
        "domain,cluster,quality,tokens,score,zone,version,tiny\na,08,1,5,00.5,7,3.10,1e3\nb,8,2,6,1,n/a,3.1,0.5\n"
    )
    return read_catalog(path)


NOT_ALLOWED = {
    "domain in (select domain from cells)": "a subquery",
    "exists (select 1)": "a subquery",
    "(select true)": "a subquery",
    "quality = all (select 1)": "a subquery",
    "tokens > (from read_csv('/etc/passwd') select count(*))": "a subquery",
    "read_csv('/etc/passwd') is null": "the function read_csv",
    "read_text('/etc/passwd') = ''": "the function read_text",
    "getenv('HOME') = ''": "the function getenv",
    "current_setting('home_directory') = ''": "the function current_setting",
    "query('select 1')": "the function query",
    "json_execute_serialized_sql('{}')": "the function json_execute_serialized_sql",
    "nextval('x') = 1": "the function nextval",
    "random() < 0.5": "the function random",
    "now() is null": "the function now",
    "error('x')": "the function error",
    "sleep_ms(1000) is null": "the function sleep_ms",
    "repeat(cluster, 1000000000) = ''": "the function repeat",
    "regexp_matches(cluster, '(a+)+$')": "the function regexp_matches",
    "cluster ~ '(a+)+$'": "the function regexp_matches",
    "cluster similar to 'x'": "the function regexp_full_match",
    "count(*) > 1": "the function count_star",
    "sum(tokens) > 1": "the function sum",
    "unnest([1]) = 1": "the function unnest",
    "coalesce(quality, 1) = 1": "coalesce",
    "try(quality = 1)": "try",
    "if(true, true, false)": "the function if",
    "row_number() over () = 1": "a window function",
    "quality::varchar = '1'": "a cast",
    "cast(quality as varchar) = '1'": "a cast",
    "try_cast(cluster as integer) = 8": "a cast",
    "date '2020-01-01' is null": "a cast",
    "quality is true": "compare not distinct from",
    "interval 1 day is null": "the function to_days",
    "columns(*) > 1": "COLUMNS",
    "columns('q.*') > 1": "COLUMNS",
    "*": "COLUMNS",
    "list_filter([1], x -> x > 0) is null": "the function list_filter",
    "x -> x": "a lambda",
    "[quality] = [1]": "the function list_value",
    "{'a': quality} is null": "the function struct_pack",
    "(quality, tokens) = (1, 2)": "the function row",
    "cluster[1] = '0'": "array extract",
    "cells.quality = 1": "a dot in a column",
    "main.cells.quality = 1": "a dot in a column",
    "quality.x = 1": "a dot in a column",
    "main.lower(cluster) = 'a'": "more than plain arguments",
    "lower(distinct cluster) = 'a'": "more than plain arguments",
    "lower(cluster order by cluster) = 'a'": "more than plain arguments",
    "lower(cluster) filter (where true) = 'a'": "more than plain arguments",
    "lower(string := cluster) = 'a'": "more than plain arguments",
    "lower(cluster, 'x') = 'a'": "lower with 2 arguments",
    "starts_with(cluster)": "starts_with with 1 arguments",
    "cluster collate nocase = 'A'": "a collation",
    "case when true then true end": "CASE",
    "quality = $1": "a parameter",
    "quality = $quality": "a parameter",
    "quality = ?": "a parameter",
    "#1 = 'a'": "# and a position",
    "quality ** 2 = 1": r"the operator \*\*",
    "quality & 1 = 1": "the operator &",
    "@quality = 1": "the operator @",
    "cluster || 'x' = '8x'": r"the operator \|\|",
    "cluster ilike '8'": r"lower\(column\) like",
    "cluster not ilike '8'": r"lower\(column\) not like",
    "cluster ^@ '8'": r"starts_with\(column",
    "cluster glob '8*'": "the operator ~~~",
    "cluster like '8' escape 'x'": "the operator like_escape",
    "cluster in zone": "parentheses",
    "x'41' = cluster": "a literal of the kind hex",
    "quality = 1 as answer": "more than a condition",
    "answer: quality = 1": "more than a condition",
    "quality = 1;": "more than a condition",
    "quality = 9223372036854775808": "too long",
    "quality = 1e40": "too long",
    "quality = 0.1234567890123456789": "too long",
    "quality = 1e999999999": "too long",
    "quality = 1 -- or true": "a comment",
    "quality = 1 /* or true */": "a comment",
    "quality = 1; select 1": "more than a condition",
    "true from cells": "more than a condition",
    "true from read_csv('/etc/passwd')": "more than a condition",
    "true where true": "more than a condition",
    "true group by 1": "more than a condition",
    "true having true": "more than a condition",
    "true qualify true": "more than a condition",
    "true order by 1": "more than a condition",
    "true limit 1": "more than a condition",
    "true using sample 1": "more than a condition",
    "true union select true": "more than a condition",
    "true, true": "more than a condition",
    "distinct true": "more than a condition",
    "true window w as ()": "more than a condition",
}

NO_CONDITION = [
    "",
    "  \n ",
    "quality =",
    "= 1",
    "quality = 1 and",
    "quality = 'open",
    "(quality = 1",
    "quality = 1)",
    "quality = 1) or (true",
    "1; drop table cells",
    "1; attach 'x.db'",
    "1; copy cells to 'x.csv'",
    "1; install httpfs",
    "1; pragma database_list",
    "1 into x",
    "quality = 1 = 1",
    ":quality = 1",
    "quality = \ud800",
    "quality = 1 \0 and false",
]

KINDS_DIFFER = {
    "cluster = 8": "cluster is text and 8 is a number .*'08' makes it text",
    "zone > 3": "zone is text and 3 is a number .*'n/a' makes it text",
    "version > 3": "version is text and 3 is a number .*'3.10' and '3.1' are one number in two spellings",
    "tiny < 0.4": "tiny is text and 0.4 is a number .*'1e3' makes it text",
    "score > 0.4": "score is text and 0.4 is a number .*'00.5' makes it text",
    "quality = '1'": "quality is a number and '1' is text .*single quotes",
    "quality in (1, '2')": "quality is a number and '2' is text",
    "quality between '1' and 2": "quality is a number and '1' is text",
    "quality like '1'": "quality is a number, where text is needed",
    "lower(quality) = '1'": "quality is a number, where text is needed",
    "cluster + 1 = 9": "cluster is text, where a number is needed",
    "quality": "quality is a number, where true or false is needed",
    "cluster": "cluster is text, where true or false is needed",
    "1": "1 is a number, where true or false is needed",
    "quality and true": "quality is a number, where true or false is needed",
    "not cluster": "cluster is text, where true or false is needed",
    "true = 1": "true is true or false and 1 is a number",
    "(quality = 1) = 1": "a comparison is true or false and 1 is a number",
}


@pytest.mark.parametrize("where", NOT_ALLOWED)
def test_what_is_not_on_the_allow_list_is_refused_by_name(catalog, where):
    with pytest.raises(CatalogError, match=NOT_ALLOWED[where]) as refused:
        catalog.select(where)
    assert refused.value.code == "condition-not-allowed"


@pytest.mark.parametrize("where", NO_CONDITION)
def test_what_is_no_expression_is_refused(catalog, where):
    with pytest.raises(CatalogError) as refused:
        catalog.select(where)
    assert refused.value.code == "bad-condition"


@pytest.mark.parametrize("where", KINDS_DIFFER)
def test_texts_and_numbers_are_not_taken_for_each_other(catalog, where):
    with pytest.raises(CatalogError, match=KINDS_DIFFER[where]) as refused:
        catalog.select(where)
    assert refused.value.code == "condition-kinds-differ"


@pytest.mark.parametrize(
    "where",
    [
        "(" * 100_000,
        "(" * 31 + "true" + ")" * 31,
        "[" * 1_000,
        "- " * 15_000,
        "-" * 15_000 + "1",
        "not " * 40_000 + "true",
        "not " * 120 + "true",
        "-" + " -" * 110 + " quality = 1",
        "quality + " * 110 + "1 = 1",
        "quality + " * 590 + "1 = 1",
        "not " * 590 + "true",
        "true where " + "not " * 490 + "true",
        "case when " * 20_000,
        "lower(" * 50 + "cluster" + ")" * 50 + " = 'a'",
        "quality = 1 or " * 5_000 + "true",
        "cluster in (" + "'x', " * 50_000 + "'y')",
        "'" + "a" * 200_000 + "' = cluster",
    ],
)
def test_a_condition_beyond_all_bounds_is_refused_before_it_costs_anything(catalog, where):
    with pytest.raises(CatalogError) as refused:
        catalog.select(where)
    assert refused.value.code in ("condition-too-large", "condition-not-allowed")


def test_an_overflow_is_an_error_and_not_another_number(catalog):
    with pytest.raises(CatalogError, match="cannot be computed") as refused:
        catalog.select(" * ".join(["(tokens + 9223372036854775807)"] * 3) + " > 1")
    assert refused.value.code == "condition-fails"


def test_an_unknown_column_is_refused_with_the_nearest_and_at_its_place(catalog):
    with pytest.raises(
        CatalogError, match=r"^m\.yaml:7:3: unknown column 'qualty' \(did you mean 'quality'\?\)"
    ) as refused:
        catalog.select("qualty = 1", place=Place(file="m.yaml", line=7, column=3))
    assert refused.value.code == "unknown-column"
    with pytest.raises(CatalogError, match="columns: domain, cluster, quality, tokens"):
        catalog.select("current_date = '2020-01-01'")


VOCABULARY = """
quality cluster domain tokens 1 2.5 1e3 'a' '08' "x" null true not and or in between like is select from where case
when then end cast as ( ) ( ) [ ] { } , . ; :: := -> = <> < <= > >= + - * / // % ** || ^@ ~ @ ! # $1 ? :x lower(
upper( starts_with( getenv( read_csv( columns( unnest( try( row( over () filter distinct order by limit union values
with recursive lambda interval date array map exists all any some escape collate using sample window
"""
WORDS = st.sampled_from(VOCABULARY.split())


@given(st.lists(WORDS, max_size=25).map(" ".join) | st.text(max_size=60))
@example("quality = 1 \u00a0")
@settings(max_examples=examples(150), deadline=None)
def test_any_text_selects_or_is_refused_with_an_error_of_ours(catalog, where):
    try:
        codes = {"selected"} if set(catalog.select(where)) <= {0, 1} else set()
    except CatalogError as error:
        codes = {error.code}
    assert codes & {
        "selected",
        "bad-condition",
        "condition-fails",
        "condition-kinds-differ",
        "condition-not-allowed",
        "condition-too-large",
        "unknown-column",
    }


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM catalog_of_python",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('https://example.com/a.csv')",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "SET lock_configuration = false",
        "RESET threads",
    ],
)
def test_the_database_itself_reaches_nothing_whoever_asks(tmp_path, statement):
    catalog_of_python = {"a": [1]}
    (tmp_path / "in.csv").write_text("a\n1\n")
    with sealed_duckdb() as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(file=tmp_path / "in.csv", folder=tmp_path)).fetchall()
    assert catalog_of_python
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
