"""The allow-list of conditions. What is on it is written anew as SQL, so nothing of a user's own text is ever run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from mixture.catalog.condition import Node
from mixture.errors import CatalogError, Place, nearest
from mixture.units import LARGEST_COUNT, format_exact, quote

ALLOWED = (
    "allowed are columns, numbers, 'text', true, false, null, = <> < <= > >=, and, or, not, in (…), between, is null, "
    "like, + - * / // %, lower, upper and starts_with"
)


class Kind(StrEnum):
    """What an expression gives."""

    BOOLEAN = "true or false"
    NUMBER = "a number"
    TEXT = "text"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Column:
    """A column as a condition sees it: the SQL that reads it, its kind, and a remark on why it has that kind."""

    sql: str
    kind: Kind
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class _Expression:
    sql: str
    kind: Kind
    shown: str
    remark: str | None = None


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
_TEXT_OPERATORS = {"~~": "LIKE", "!~~": "NOT LIKE"}
_ARITHMETIC = ("+", "-", "*", "/", "//", "%")
_TEXT_FUNCTIONS = {"lower": (1, Kind.TEXT), "upper": (1, Kind.TEXT), "starts_with": (2, Kind.BOOLEAN)}

_INTEGER = re.compile(r"-?[0-9]+(_[0-9]+)*")
_DECIMAL = re.compile(r"(-?)([0-9]*)\.?([0-9]*)(?:[eE]([-+]?[0-9]{1,2}))?")
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

    def _write(self, node: Node) -> _Expression:
        """One node and all below it."""
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
            hint = "compare it: quality >= 3" if kind is Kind.BOOLEAN else expression.remark
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
        if kind == "INTEGER" and _INTEGER.fullmatch(text) and len(text) < 40 and abs(int(text)) <= LARGEST_COUNT:
            # 128 bits, as all integers here: sums and products of token counts do not overflow.
            return _Expression(f"({int(text)})::HUGEINT", Kind.NUMBER, text)
        if kind in ("INTEGER", "NUMERIC"):
            return _Expression(self._decimal(text), Kind.NUMBER, text)
        raise self._forbidden(f"a literal of the kind {kind.lower()}")

    def _decimal(self, text: str) -> str:
        """A decimal in plain digits, so that it is exact and never a float."""
        match = _DECIMAL.fullmatch(text.replace("_", ""))
        if match is not None and len(text) <= 60 and (match[2] or match[3]):
            sign = -1 if match[1] else 1
            exponent = int(match[4] or "0") - len(match[3])
            plain = format_exact(sign * Fraction(int(match[2] + match[3])) * Fraction(10) ** exponent)
            if sum(character.isdigit() for character in plain) <= _MOST_DIGITS:
                return f"({plain})::HUGEINT" if "." not in plain else f"({plain})"
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
        name = node["function_name"]
        plain = not (
            node["schema"] or node["catalog"] or node["filter"] or node["distinct"] or node["order_bys"]["orders"]
        )
        arguments = [argument["expression"] for argument in node["arguments"] if not argument["name"]]
        if not plain or len(arguments) != len(node["arguments"]):
            raise self._forbidden(f"{name} with more than plain arguments")
        if node["is_operator"] and name in _TEXT_OPERATORS and len(arguments) == 2:
            left, right = (self._of_kind(argument, Kind.TEXT) for argument in arguments)
            return self._boolean(f"{left.sql} {_TEXT_OPERATORS[name]} {right.sql}")
        if node["is_operator"] and name in _ARITHMETIC and len(arguments) in ((1, 2) if name in ("+", "-") else (2,)):
            numbers = [self._of_kind(argument, Kind.NUMBER) for argument in arguments]
            sql = f"({name} {numbers[0].sql})" if len(numbers) == 1 else f"({numbers[0].sql} {name} {numbers[1].sql})"
            return _Expression(sql, Kind.NUMBER, f"the result of {name}")
        if not node["is_operator"] and name in _TEXT_FUNCTIONS and len(arguments) == _TEXT_FUNCTIONS[name][0]:
            texts = [self._of_kind(argument, Kind.TEXT).sql for argument in arguments]
            return _Expression(f"{name}({', '.join(texts)})", _TEXT_FUNCTIONS[name][1], f"{name}(…)")
        if name in _TEXT_FUNCTIONS:
            raise self._forbidden(f"{name} with {len(arguments)} arguments", hint=f"it has {_TEXT_FUNCTIONS[name][0]}")
        what = f"the operator {name}" if node["is_operator"] else f"the function {name}"
        raise self._forbidden(what, hint=_INSTEAD.get(name) or nearest(name, _TEXT_FUNCTIONS))

    def _alike(self, nodes: Sequence[Node]) -> list[_Expression]:
        """Expressions that are compared: of one kind, or null."""
        parts = [self._write(node) for node in nodes]
        first = next((part for part in parts if part.kind is not Kind.NULL), None)
        for part in parts:
            if first is not None and part.kind not in (first.kind, Kind.NULL):
                hint = first.remark or part.remark or _how_to_write(first, part)
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


def _how_to_write(first: _Expression, second: _Expression) -> str | None:
    """How a literal would be written to be of the other side's kind."""
    if {first.kind, second.kind} != {Kind.TEXT, Kind.NUMBER}:
        return None
    return "text stands in single quotes: cluster = '08'; numbers in none: quality >= 3"
