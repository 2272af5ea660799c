"""Exact figures for people and for programs: fractions as decimals of a stated precision, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, overload

from pydantic import Field
from typing_extensions import TypedDict

from mixture.units import decimal


class Exact(TypedDict):
    """A fraction: a decimal to read, and the exact ratio."""

    decimal: Annotated[str, Field(examples=["9.99"], description="Rounded to 12 significant digits.")]
    ratio: Annotated[
        str | None, Field(examples=["999/100"], description="Null where it is too long for anyone to read.")
    ]


LONGEST_RATIO = 2048
"""Bits of an exact ratio's numerator or denominator: some 616 digits, which every Python writes out, however it is set.

Chains of phases that replay each other have longer ones.
"""


@overload
def json_value(value: Fraction) -> Exact: ...
@overload
def json_value(value: Fraction | None) -> Exact | None: ...
@overload
def json_value(value: object) -> object: ...
def json_value(value: object) -> object:
    """A figure or name as JSON has it; an exact fraction as ``{"decimal": "9.99", "ratio": "999/100"}``.

    The ratio is null where it is longer than anyone could read; a lock then has the integers that decide.
    """
    match value:
        case Fraction():
            return {"decimal": decimal(value), "ratio": _ratio(value)}
        case Mapping():
            return {str(name): json_value(held) for name, held in value.items()}
        case list() | tuple():
            return [json_value(held) for held in value]
        case bool() | int() | str() | None:
            return value
    raise TypeError(f"a fact can not be a {type(value).__name__}")


def fraction_of(figure: Exact) -> Fraction:
    """The fraction that `json_value` wrote: exact, but where its ratio is too long, and the decimal is all there is."""
    return Fraction(figure["ratio"] or figure["decimal"])


def _ratio(x: Fraction) -> str | None:
    if max(x.numerator.bit_length(), x.denominator.bit_length()) > LONGEST_RATIO:
        return None
    return f"{x.numerator}/{x.denominator}"
