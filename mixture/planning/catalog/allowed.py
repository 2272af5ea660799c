"""The allow-list of conditions. What is on it is written anew as SQL, so nothing of a user's own text is ever run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from mixture.errors import CatalogError, Place, nearest
from mixture.planning.catalog.condition import Node, too_large
from mixture.units import LARGEST_COUNT, format_exact, quote

ALLOWED = (
    "allowed are columns, numbers, 'text', true, false, null, = <> < <= > >=, and, or, not, in (…), between, is null, "
    "like, + - * / // %, lower, upper and starts_with"
)


MOST_DEEP = 100
MOST_PATTERN_CHARACTERS = 1_000


class Kind(StrEnum):
    """What an expression gives."""

    BOOLEAN = "true or false"
    NUMBER = "a number"
    TEXT = "text"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Column:
    """A column as a condition sees it: the SQL that reads it, its kind, and what gives a remark on why it has that."""

    sql: str
    kind: Kind
    remark: Callable[[], str | None] = lambda: None


@dataclass(frozen=True, slots=True)
class _Expression:
    sql: str
    kind: Kind
    shown: str
    remark: Callable[[], str | None] = lambda: None


_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_CONJUNCTIONS = {"CONJUNCTION_AND": "AND", "CONJUNCTION_OR": "OR"}
_IS_NULL = {"OPERATOR_IS_NULL": "IS NULL", "OPERATOR_IS_NOT_NULL": "IS NOT NULL"}


@dataclass(frozen=True, slots=True)
class _Signature:
    """A function or an operator: how it is written, how many arguments it takes, their kind and what it gives."""

    sql: str
    counts: tuple[int, ...]
    takes: Kind
    gives: Kind


_LIKE = {"~~": "", "!~~": "NOT "}
_OPERATORS = {
    "+": _Signature(" + ", (1, 2), Kind.NUMBER, Kind.NUMBER),
    "-": _Signature(" - ", (1, 2), Kind.NUMBER, Kind.NUMBER),
    "*": _Signature(" * ", (2,), Kind.NUMBER, Kind.NUMBER),
    "/": _Signature(" / ", (2,), Kind.NUMBER, Kind.NUMBER),
    "//": _Signature(" // ", (2,), Kind.NUMBER, Kind.NUMBER),
    "%": _Signature(" % ", (2,), Kind.NUMBER, Kind.NUMBER),
}
_FUNCTIONS = {
    "lower": _Signature("lower", (1,), Kind.TEXT, Kind.TEXT),
    "upper": _Signature("upper", (1,), Kind.TEXT, Kind.TEXT),
    "starts_with": _Signature("starts_with", (2,), Kind.TEXT, Kind.BOOLEAN),
}
_NUMBER = re.compile(r"(-?)([0-9]*)\.?([0-9]*)(?:[eE]([-+]?[0-9]{1,2}))?")
_MOST_DIGITS = 18

_INSTEAD = {
    "~~*": "lower(column) like '…'",
    "!~~*": "lower(column) not like '…'",
    "^@": "starts_with(column, '…')",
    "contains": "a list stands in parentheses: in ('a', 'b')",
}

# What DuckDB's tree calls a thing, and what people call it.
_NAMES = {
    "SUBQUERY": "a subquery",
    "CAST": "a cast",
    "STAR": "* or COLUMNS(…)",
    "LAMBDA": "a lambda or ->",
    "PARAMETER": "a parameter",
    "WINDOW": "a window function",
    "CASE": "CASE",
    "COLLATE": "a collation",
    "POSITIONAL_REFERENCE": "# and a position",
    "DEFAULT": "DEFAULT",
}


def write_condition(node: Node, columns: Mapping[str, Column], *, place: Place | None = None) -> str:
    """A boolean expression as SQL over these columns. Raises CatalogError where something is not on the allow-list."""
    return _Writer(columns, place).truth(node)


class _Writer:
    """Goes through a tree, leaves first."""

    def __init__(self, columns: Mapping[str, Column], place: Place | None) -> None:
        self._columns = columns
        self._place = place
        self._depth = 0
        self._pattern_characters = 0

    def _write(self, node: Node) -> _Expression:
        """One node and all below it."""
        if self._depth == MOST_DEEP:
            raise too_large(f"it nests more than {MOST_DEEP} deep", self._place)
        self._depth += 1
        expression = self._write_kind(node)
        self._depth -= 1
        return expression

    def _write_kind(self, node: Node) -> _Expression:
        if node.get("alias"):
            raise self._forbidden(f"a name for a result ({quote(node['alias'])})")
        match node["class"]:
            case "COLUMN_REF":
                return self._column(node["column_names"])
            case "CONSTANT":
                return self._literal(node["literal"]["kind"], node["literal"]["text"])
            case "COMPARISON" if node["type"] in _COMPARISONS:
                return self._comparison(_COMPARISONS[node["type"]], node["left"], node["right"])
            case "CONJUNCTION" if node["type"] in _CONJUNCTIONS:
                joined = f" {_CONJUNCTIONS[node['type']]} "
                return self._boolean(joined.join(self.truth(child) for child in node["children"]))
            case "BETWEEN" if node["type"] == "COMPARE_BETWEEN":
                parts = self._alike([node["input"], node["lower"], node["upper"]])
                return self._boolean(f"{parts[0].sql} BETWEEN {parts[1].sql} AND {parts[2].sql}")
            case "OPERATOR":
                return self._operator(node["type"], node["children"])
            case "FUNCTION":
                return self._function(node)
        raise self._forbidden(_NAMES.get(node["class"], str(node["type"]).lower().replace("_", " ")))

    def truth(self, node: Node) -> str:
        """The SQL of an expression that is true or false."""
        return self._of_kind(node, Kind.BOOLEAN).sql

    def _of_kind(self, node: Node, kind: Kind) -> _Expression:
        """An expression that gives this kind, or null."""
        expression = self._write(node)
        if expression.kind not in (kind, Kind.NULL):
            hint = "compare it: quality >= 3" if kind is Kind.BOOLEAN else expression.remark()
            raise self._mismatch(f"{expression.shown} is {expression.kind}, where {kind} is needed", hint)
        return expression

    def _column(self, path: Sequence[str]) -> _Expression:
        name = path[0]
        if len(path) > 1:
            raise self._forbidden(
                f"a dot in a column ({quote('.'.join(path))})", hint='a name with a dot stands in quotes: "a.b"'
            )
        column = self._columns.get(name)
        if column is None:
            hint = nearest(name, self._columns) or f"columns: {', '.join(self._columns)}"
            raise CatalogError(
                f"unknown column {quote(name)}", code="unknown-column", place=self._place, hint=hint, name=name
            )
        return _Expression(column.sql, column.kind, name, column.remark)

    def _literal(self, kind: str, text: str) -> _Expression:
        if kind == "STRING":
            if "\0" in text:
                raise self._forbidden("a zero byte in a text")
            sql = "'" + text.replace("'", "''") + "'"
            return _Expression(sql, Kind.TEXT, quote(text))
        if kind == "BOOLEAN" and text in ("true", "false"):
            return _Expression(text, Kind.BOOLEAN, text)
        if kind == "NULL_LITERAL":
            return _Expression("NULL", Kind.NULL, "null")
        if kind in ("INTEGER", "NUMERIC"):
            return _Expression(self._number(text), Kind.NUMBER, text)
        raise self._forbidden(f"a literal of the kind {kind.lower()}")

    def _number(self, text: str) -> str:
        """A number in plain digits, so that it is exact and never a float."""
        match = _NUMBER.fullmatch(text.replace("_", ""))
        if match is not None and len(text) <= 60 and (match[2] or match[3]):
            sign = -1 if match[1] else 1
            exponent = int(match[4] or "0") - len(match[3])
            value = sign * Fraction(int(match[2] + match[3])) * Fraction(10) ** exponent
            if value.denominator == 1 and abs(value) <= LARGEST_COUNT:
                # 128 bits, as all integers here: sums and products of token counts do not overflow.
                return f"({value})::HUGEINT"
            plain = format_exact(value)
            if "." in plain and sum(character.isdigit() for character in plain) <= _MOST_DIGITS:
                return f"({plain})"
        raise CatalogError(
            f"the number {quote(text)} is too long",
            code="condition-not-allowed",
            place=self._place,
            hint=f"integers up to {LARGEST_COUNT}, decimals of up to {_MOST_DIGITS} digits",
        )

    def _comparison(self, symbol: str, left: Node, right: Node) -> _Expression:
        parts = self._alike([left, right])
        return self._boolean(f"{parts[0].sql} {symbol} {parts[1].sql}")

    def _operator(self, name: str, children: Sequence[Node]) -> _Expression:
        if name == "OPERATOR_NOT" and len(children) == 1:
            return self._boolean(f"NOT {self.truth(children[0])}")
        if name in _IS_NULL and len(children) == 1:
            return self._boolean(f"{self._write(children[0]).sql} {_IS_NULL[name]}")
        if name == "COMPARE_IN" and len(children) > 1:
            parts = self._alike(children)
            return self._boolean(f"{parts[0].sql} IN ({', '.join(part.sql for part in parts[1:])})")
        raise self._forbidden(name.lower().removeprefix("operator_").replace("_", " "))

    def _function(self, node: Node) -> _Expression:
        name, is_operator = node["function_name"], node["is_operator"]
        arguments = [argument["expression"] for argument in node["arguments"] if not argument["name"]]
        if is_operator and name in _LIKE and len(arguments) == 2:
            return self._boolean(_LIKE[name] + self._like(*arguments))
        signature = (_OPERATORS if is_operator else _FUNCTIONS).get(name)
        if signature is None:
            hint = _INSTEAD.get(name) or nearest(name, _FUNCTIONS)
            raise self._forbidden(f"the {'operator' if is_operator else 'function'} {name}", hint=hint)
        extras = ("schema", "catalog", "filter", "distinct")
        if (
            any(node[extra] for extra in extras)
            or node["order_bys"]["orders"]
            or len(arguments) < len(node["arguments"])
        ):
            raise self._forbidden(f"{name} with more than plain arguments")
        if len(arguments) not in signature.counts:
            raise self._forbidden(f"{name} with {len(arguments)} arguments")
        parts = [self._of_kind(argument, signature.takes).sql for argument in arguments]
        if is_operator:
            sql = signature.sql.join(parts) if len(parts) > 1 else f"{signature.sql}{parts[0]}"
        else:
            sql = f"{signature.sql}({', '.join(parts)})"
        return _Expression(f"({sql})", signature.gives, f"the result of {name}")

    def _like(self, node: Node, pattern: Node) -> str:
        """A text that is like a pattern, in time that grows with the text's length and with the pattern's, no more."""
        text = self._of_kind(node, Kind.TEXT).sql
        self._of_kind(pattern, Kind.TEXT)
        if pattern["class"] != "CONSTANT":
            raise self._forbidden("like with a pattern that is not a text in quotes")
        wanted = pattern["literal"]["text"] if pattern["literal"]["kind"] == "STRING" else None
        if wanted is None or "_" not in wanted:
            return f"({text} LIKE {self._write(pattern).sql})"
        # DuckDB tries each place for each % of a pattern with _, so that ten of them take for ever: RE2 does not.
        self._pattern_characters += len(wanted)
        if self._pattern_characters > MOST_PATTERN_CHARACTERS:
            why = f"its patterns with _ have more than {MOST_PATTERN_CHARACTERS:,} characters together"
            raise too_large(why, self._place)
        expression = "".join(_WILDCARDS.get(character) or _literally(character) for character in wanted)
        return f"regexp_full_match({text}, '{expression}', 's')"

    def _alike(self, nodes: Sequence[Node]) -> list[_Expression]:
        """Expressions that are compared: of one kind, or null."""
        parts = [self._write(node) for node in nodes]
        first = next((part for part in parts if part.kind is not Kind.NULL), None)
        for part in parts:
            if first is not None and part.kind not in (first.kind, Kind.NULL):
                hint = first.remark() or part.remark() or _how_to_write(first, part)
                raise self._mismatch(f"{first.shown} is {first.kind} and {part.shown} is {part.kind}", hint)
        return parts

    def _boolean(self, sql: str) -> _Expression:
        return _Expression(f"({sql})", Kind.BOOLEAN, "a comparison")

    def _mismatch(self, message: str, hint: str | None) -> CatalogError:
        return CatalogError(message, code="condition-kinds-differ", place=self._place, hint=hint)

    def _forbidden(self, what: str, *, hint: str | None = None) -> CatalogError:
        return CatalogError(
            f"a condition may not have {what}",
            code="condition-not-allowed",
            place=self._place,
            hint=hint or ALLOWED,
            found=what,
        )


_WILDCARDS = {"%": ".*", "_": "."}


def _literally(character: str) -> str:
    """A character as a regular expression in SQL has it."""
    escaped = character if character.isalnum() or not character.isascii() else f"\\{character}"
    return escaped.replace("'", "''")


def _how_to_write(first: _Expression, second: _Expression) -> str | None:
    """How a literal would be written to be of the other side's kind."""
    if {first.kind, second.kind} != {Kind.TEXT, Kind.NUMBER}:
        return None
    return "text stands in single quotes: cluster = '08'; numbers in none: quality >= 3"
