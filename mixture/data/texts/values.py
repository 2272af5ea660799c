"""What counts as a text, an id, an attribute, the name of a domain."""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import pyarrow as pa

from mixture.data.texts.report import Reason
from mixture.names import LONGEST_NAME, is_blank, is_held_out, odd_character
from mixture.units import format_exact

_EXACT = 2**53
"""Up to this every whole number is a float64."""


class Kind(StrEnum):
    """What a value of an attribute is. LARGE: a whole number of 64 bits that a float64 may not hold."""

    WHOLE = "whole"
    LARGE = "large"
    NUMBER = "number"
    TRUTH = "truth"
    TEXT = "text"


class NestedValueError(ValueError):
    """An attribute is a list or an object."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def column_type(kinds: Set[Kind]) -> pa.DataType:
    """The type of an attribute's column: the one that all of its values are of, exactly, else text.

    Whole numbers of 64 bits are int64; with others among them all are float64, where that holds each of them.
    """
    if kinds and kinds <= {Kind.WHOLE, Kind.LARGE}:
        return pa.int64()
    if kinds and kinds <= {Kind.WHOLE, Kind.NUMBER}:
        return pa.float64()
    return pa.bool_() if kinds == {Kind.TRUTH} else pa.string()


def are_mixed(kinds: Set[Kind]) -> bool:
    """Whether values are text for no type holds all of them."""
    return column_type(kinds) == pa.string() and not kinds <= {Kind.TEXT}


def document_text(value: object) -> str | Reason:
    """The text of a document, or why it has none. Bytes are UTF-8. Nothing is replaced or stripped."""
    if value is None:
        return Reason.NULL_TEXT
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return Reason.INVALID_UTF8
    if not isinstance(value, str):
        return Reason.NOT_TEXT
    if not value:
        return Reason.EMPTY_TEXT
    if is_blank(value):
        return Reason.BLANK_TEXT
    try:
        value.encode()
    except UnicodeEncodeError:
        return Reason.LONE_SURROGATE
    return value


def joined_text(values: Sequence[object]) -> str | Reason:
    """The text of a document that several columns have: those that are not empty, with a blank line between them."""
    texts = [document_text(value) for value in values]
    empty = (Reason.NULL_TEXT, Reason.EMPTY_TEXT, Reason.BLANK_TEXT)
    damaged = [text for text in texts if isinstance(text, Reason) and text not in empty]
    if damaged:
        return damaged[0]
    return "\n\n".join(text for text in texts if not isinstance(text, Reason)) or texts[0]


def domain_name(value: object) -> str | Reason:
    """The name of a domain as a column has it: a text as written, or an integer's digits; else why it is none."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return Reason.DOMAIN_ILLEGAL
    if isinstance(value, Decimal) and _is_whole(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if value.bit_length() < 1 << 10 else "0" * (LONGEST_NAME + 1)
    if value is None or (isinstance(value, str) and not value.strip(" \t\n")):
        return Reason.DOMAIN_MISSING
    if not isinstance(value, str) or len(value) > LONGEST_NAME or odd_character(value) or is_held_out(value):
        return Reason.DOMAIN_ILLEGAL
    return value


def attribute(value: object, name: str) -> tuple[str | None, Kind | None]:
    """An attribute as text that has all of it, and what it is; None: it has none. Errors: NestedValueError."""
    match value:
        case None:
            return None, None
        case bool():
            return ("true" if value else "false"), Kind.TRUTH
        case int():
            kind = Kind.WHOLE if -_EXACT <= value <= _EXACT else Kind.LARGE
            return str(value), kind if -(2**63) <= value < 2**63 else Kind.TEXT
        case float():
            return repr(value), Kind.NUMBER
        case Decimal() if _is_whole(value):
            return attribute(int(value), name)
        case Decimal():
            is_exact = value.is_finite() and Fraction(repr(float(value))) == Fraction(value)
            return value_text(value), Kind.NUMBER if is_exact else Kind.TEXT
        case str() | bytes():
            return value_text(value), Kind.TEXT
        case list() | dict() | tuple():
            raise NestedValueError(name)
        case _:
            return value_text(str(value)), Kind.TEXT


def value_text(value: object) -> str | None:
    """An id or an attribute as text: itself, a decimal in plain digits, or as JSON writes it.

    What UTF-8 cannot hold is written as an escape.
    """
    match value:
        case None:
            return None
        case bytes():
            return value.decode(errors="backslashreplace")
        case str():
            text = value
        case Decimal() if value.is_finite():
            text = format_exact(Fraction(value))
        case bool() | int() | float() | list() | dict() | tuple():
            text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=value_text)
        case _:
            text = str(value)  # a UUID, a date
    return text.encode(errors="backslashreplace").decode()


def _is_whole(value: Decimal) -> bool:
    return value.is_finite() and Fraction(value).denominator == 1
