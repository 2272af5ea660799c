"""A `where` as DuckDB's own parser sees it: one expression, bounded in size. It is not run here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from mixture.catalog.sealed import sealed_duckdb
from mixture.errors import CatalogError, Place

Node = Mapping[str, Any]
"""A node of DuckDB's syntax tree, from json_serialize_sql."""

MOST_CHARACTERS = 100_000
MOST_MARKS = 600
"""Words, and characters of operators, not in literals. With more, DuckDB's parser can take seconds and gigabytes."""
MOST_NESTED = 30
MOST_DEEP = 100

# To compare with: a statement that has more than an expression (FROM, DISTINCT, ORDER BY, …) differs from it there.
_BARE_STATEMENT = "SELECT true"


def parse_condition(text: str, *, place: Place | None = None) -> Node:
    """The tree of one expression. Raises CatalogError where the text is too large, is no expression, or is more."""
    _check_text(text, place)
    with sealed_duckdb(max_depth=MOST_DEEP) as connection:
        tree, bare = (
            json.loads(connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()[0][0])
            for statement in (f"SELECT {text}", _BARE_STATEMENT)
        )
    if tree["error"]:
        message = str(tree["error_message"]).split("Use ")[0].strip()
        if "depth" in message:
            raise _too_large(f"it nests more than {MOST_DEEP} deep", place)
        raise CatalogError(f"not a condition: {message}", code="bad-condition", place=place, where=text)
    expressions = _select_list(tree)
    if len(expressions) != 1 or _without_select_list(tree) != _without_select_list(bare):
        hint = "a condition is one expression: no FROM, no semicolon and nothing after it"
        raise CatalogError("more than a condition", code="condition-not-allowed", place=place, hint=hint, where=text)
    return expressions[0]


def _select_list(tree: Node) -> list[Node]:
    node = tree["statements"][0]["node"]
    return list(node.get("select_list", ()))


def _without_select_list(tree: Node) -> object:
    """The statements without what they select, without positions and parameters (which are nodes too)."""
    hidden = {"select_list", "named_param_map", "query_location", "query_location_length"}

    def visible(part: object) -> object:
        if isinstance(part, dict):
            return {key: visible(value) for key, value in part.items() if key not in hidden}
        return [visible(value) for value in part] if isinstance(part, list) else part

    return visible(tree["statements"])


def _check_text(text: str, place: Place | None) -> None:
    """Refuses what the parser should not see. Raises CatalogError."""
    import duckdb

    if not text.strip():
        hint = "such as cluster = 'c14' and quality >= 3"
        raise CatalogError("the condition is empty", code="bad-condition", place=place, hint=hint)
    if len(text) > MOST_CHARACTERS:
        raise _too_large(f"it has {len(text):,} characters of up to {MOST_CHARACTERS:,}", place)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise CatalogError("half of a surrogate pair", code="bad-condition", place=place)
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
        raise _too_large(f"parentheses nest {deepest} deep, of up to {MOST_NESTED}", place)
    if marks > MOST_MARKS:
        raise _too_large(f"it has {marks} words and operators of up to {MOST_MARKS}", place)


def _too_large(why: str, place: Place | None) -> CatalogError:
    hint = "a long list goes into in ('…', '…')"
    return CatalogError(f"the condition is too large: {why}", code="condition-too-large", place=place, hint=hint)
