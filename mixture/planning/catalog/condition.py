"""A `where` as DuckDB's own parser sees it: one expression, bounded in size. It is not run here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mixture.errors import CatalogError, Place
from mixture.units import quote

if TYPE_CHECKING:
    import duckdb

Node = Mapping[str, Any]
"""A node of DuckDB's syntax tree, from json_serialize_sql."""

MOST_CHARACTERS = 100_000
MOST_MARKS = 600
"""Words, and characters of operators, not in literals. With more, DuckDB's parser can take seconds and gigabytes."""
MOST_NESTED = 30

_NOT_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def parse_condition(connection: duckdb.DuckDBPyConnection, text: str, *, place: Place | None = None) -> Node:
    """The tree of one expression, as this connection's parser reads it.

    Raises CatalogError where the text is too large, is no expression, or is more than one.
    """
    _check_text(text, place)
    tree = _serialized(connection, f"SELECT {text}", place)
    if tree["error"]:
        raise CatalogError(f"not a condition: {tree['error_message']}", code="bad-condition", place=place, where=text)
    expressions = tree["statements"][0]["node"].get("select_list", ())
    # What is an expression stands in parentheses as well; FROM, ORDER BY, `as`, a semicolon do not.
    if len(expressions) != 1 or _serialized(connection, f"SELECT ({text})", place)["error"]:
        hint = "a condition is one expression: no FROM, no semicolon and nothing after it"
        raise CatalogError("more than a condition", code="condition-not-allowed", place=place, hint=hint, where=text)
    expression: Node = expressions[0]
    return expression


def _serialized(connection: duckdb.DuckDBPyConnection, statement: str, place: Place | None) -> Node:
    """A statement's tree, or the parser's error. Raises CatalogError where it nests too deeply to be read."""
    rows = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
    try:
        tree: Node = json.loads(rows[0][0])
    except RecursionError:
        raise too_large("it is nested too deeply", place) from None
    if tree["error"] and "expression depth" in tree["error_message"]:
        raise too_large("it is nested too deeply", place)
    return tree


def _check_text(text: str, place: Place | None) -> None:
    """Refuses what the parser should not see. Raises CatalogError."""
    import duckdb

    if not text.strip():
        hint = "such as cluster = 'c14' and quality >= 3"
        raise CatalogError("the condition is empty", code="bad-condition", place=place, hint=hint)
    if len(text) > MOST_CHARACTERS:
        raise too_large(f"it has {len(text):,} characters of up to {MOST_CHARACTERS:,}", place)
    odd = _NOT_IN_TEXT.search(text)
    if odd is not None:
        raise CatalogError(f"the control character {quote(odd[0])}", code="bad-condition", place=place)
    data = text.encode()
    # Offsets are in bytes, and a token reaches to the next one.
    tokens = [*duckdb.tokenize(text), (len(data), None)]
    nested = deepest = marks = 0
    for (start, kind), (end, _) in pairwise(tokens):
        if kind == duckdb.token_type.comment:
            hint = "put it into the spec, after a #"
            raise CatalogError("a comment", code="condition-not-allowed", place=place, hint=hint, where=text)
        word = data[start:end].strip()
        if kind == duckdb.token_type.operator:
            nested += sum(map(word.count, (b"(", b"[", b"{"))) - sum(map(word.count, (b")", b"]", b"}")))
            deepest = max(deepest, nested)
            marks += len(word) - word.count(b",")
        elif kind in (duckdb.token_type.identifier, duckdb.token_type.keyword):
            marks += 1
    if deepest > MOST_NESTED:
        raise too_large(f"parentheses nest {deepest} deep, of up to {MOST_NESTED}", place)
    if marks > MOST_MARKS:
        raise too_large(f"it has {marks} words and operators of up to {MOST_MARKS}", place)


def too_large(why: str, place: Place | None) -> CatalogError:
    """The error for a condition that is beyond a bound."""
    hint = "a long list goes into in ('…', '…')"
    return CatalogError(f"the condition is too large: {why}", code="condition-too-large", place=place, hint=hint)
