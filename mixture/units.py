"""Quantities as people write them, and back: "18.75T tokens" is exactly 18,750,000,000,000. No floats anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Never

from mixture.errors import UnitError, nearest

LARGEST_COUNT = 2**63 - 1

SUFFIXES = {"K": 3, "M": 6, "B": 9, "T": 12}

LONGEST_TEXT = 80
"""Characters of a quantity."""

_LARGEST_EXPONENT = 60  # so that nobody's typing error fills the memory
_DIGITS = "[0-9](?:_?[0-9])*"
_WRITTEN = re.compile(
    rf"(?P<sign>[-+]?)(?P<whole>{_DIGITS})?(?:\.(?P<decimals>{_DIGITS})?)?(?:[eE](?P<exponent>[-+]?[0-9]+))?"
    r"(?P<attached>\S*)(?:\s+(?P<word>\S.*))?",
)
_NOT_FINITE = re.compile(r"[-+]?\.?(nan|inf|infinity)", re.IGNORECASE)


def quote(text: str) -> str:
    """What was found, in quotes, control characters escaped, cut where it is long."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


class Unit(StrEnum):
    """What a quantity counts. The value is the word that a spec uses."""

    TOKENS = "tokens"
    SEQUENCES = "sequences"
    STEPS = "steps"
    BLOCKS = "blocks"
    EPOCHS = "epochs"
    PERCENT = "%"


_WORDS = {word: unit for unit in Unit for word in {unit.value, unit.value.removesuffix("s")}}


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact value and its unit. A share is a fraction of 1 with the unit PERCENT, written as 80% or as 0.8."""

    value: Fraction
    unit: Unit


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number of something."""

    amount: int
    unit: Unit


def parse_quantity(text: str, *, units: Sequence[Unit], bare: Unit | None = None) -> Quantity:
    """Reads a number with one of these units; `bare` is the unit of a number that names none, or None to refuse it.

    K M B T are decimal and follow the digits at once. Raises UnitError for anything else, and for a value below 0.
    """
    written = _read(text, units)
    unit = written.unit or bare
    if unit is None:
        words = " or ".join(f"{text.strip()}%" if unit is Unit.PERCENT else f"{text.strip()} {unit}" for unit in units)
        _refuse("missing-unit", f"{quote(text)} names no unit", f"write {words}")
    if unit is Unit.PERCENT and written.suffix:
        _refuse("wrong-unit", f"{quote(text)} is no share: {written.suffix} counts", _right_units(units))
    return Quantity(written.value, unit)


def parse_weight(text: str) -> Quantity:
    """Reads a share (0.3, 30%) or an amount of tokens (4.51T, 4.51T tokens): a suffix without a unit counts tokens."""
    written = _read(text, (Unit.PERCENT, Unit.TOKENS))
    return Quantity(written.value, written.unit or (Unit.TOKENS if written.suffix else Unit.PERCENT))


def parse_count(
    text: str, *, units: Sequence[Unit], bare: Unit | None = None, least: int = 1, most: int = LARGEST_COUNT
) -> Count:
    """Reads a whole number from least to most, as `parse_quantity` does. Raises UnitError."""
    quantity = parse_quantity(text, units=units, bare=bare)
    return Count(whole_number(text, quantity.value, least=least, most=most), quantity.unit)


def parse_whole(text: str, *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """Reads a whole number that counts nothing, such as a seed. Raises UnitError."""
    return whole_number(text, _read(text, ()).value, least=least, most=most)


def parse_number(text: str) -> Fraction:
    """Reads a number that counts nothing, such as a temperature. Raises UnitError."""
    return _read(text, ()).value


def whole_number(text: str, value: Fraction, *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """The value, read from this text, as an integer from least to most. Raises UnitError."""
    if value.denominator != 1:
        _refuse("not-whole", f"{quote(text)} is {format_exact(value)}, not a whole number", None)
    if not least <= value <= most:
        limit = f"at least {least:,}" if value < least else f"at most {most:,}"
        _refuse("out-of-range", f"{quote(text)} is out of range", f"{limit} is right here")
    return value.numerator


def format_count(count: int) -> str:
    """All digits, in thousands, as prose has them: 18,005,144,633,344."""
    return f"{count:,}"


def format_written(count: int) -> str:
    """All digits as a spec and a command read them, for what is to be written there: 18_005_144_633_344."""
    return f"{count:_}"


def format_short(count: int) -> str:
    """A count to four digits, rounded half up, with a suffix from 10,000 on: 18.01T, 390.3K, 4096."""
    scale = 10 ** max(0, len(str(abs(count))) - 4)
    rounded = (2 * abs(count) + scale) // (2 * scale) * scale
    suffix, power = next(((s, p) for s, p in reversed(SUFFIXES.items()) if rounded >= max(10**p, 10_000)), ("", 0))
    return f"{'-' if count < 0 else ''}{format_exact(Fraction(rounded, 10**power))}{suffix}"


def format_exact(value: Fraction) -> str:
    """A decimal with all of its digits, 0.99; where it has no end, as a fraction, 1/3."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
        if places > LONGEST_TEXT + _LARGEST_EXPONENT:
            return str(value)
    digits = str(abs((value * 10**places).numerator)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if value < 0 else text


def decimal(x: Fraction, *, digits: int = 12) -> str:
    """A fraction in plain decimal notation, rounded half up to so many significant digits: 1561004/5 is 312200.8.

    No trailing zeros, no exponent, and no digit before the point is rounded away. To compute, take the exact ratio.
    """
    whole = len(str(abs(int(x))))
    context = Context(prec=max(digits, whole), rounding=ROUND_HALF_UP)
    text = f"{context.divide(Decimal(x.numerator), Decimal(x.denominator)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: Fraction | None, *, digits: int = 12) -> str:
    """A share as a percentage of so many significant digits, as `decimal` has them: 1/3 is 33.33%; nothing for None."""
    return "" if share is None else f"{decimal(share * 100, digits=digits)}%"


def quantity_pattern(units: Sequence[Unit], *, bare: bool) -> str:
    """A regular expression, as JSON Schema has them, for the texts that `parse_quantity` takes for these units.

    bare: a number may name none. What YAML takes for a number itself is no text: a text has a suffix, or `_`, `e` or a
    space, which some readers of YAML know in numbers. How large a value may be is not in the pattern.
    """
    whole = "(?:0|[1-9](?:_?[0-9])*)"
    digits = rf"\+?(?:{whole}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})"
    exponent = "[eE][-+]?[0-9]{1,4}"
    suffix = f"[{''.join(SUFFIXES)}]"
    # A percentage has no suffix; what is counted has one or an exponent.
    forms = [rf"{digits}(?:{exponent})?\s*%"] if Unit.PERCENT in units else []
    words = "|".join(word for word, unit in sorted(_WORDS.items()) if unit in units and unit is not Unit.PERCENT)
    if words:
        forms.append(rf"{digits}(?:{suffix}|{exponent})?\s+(?:{words})")
    if bare:
        forms.append(rf"(?=.*[_eE\s]){digits}(?:{exponent})?")
        if list(units) != [Unit.PERCENT]:
            forms.append(f"{digits}{suffix}")
    return rf"^\s*(?:{'|'.join(forms)})\s*$"


@dataclass(frozen=True, slots=True)
class _Written:
    value: Fraction
    suffix: str
    unit: Unit | None


def _read(text: str, units: Sequence[Unit]) -> _Written:
    """The number, the suffix and the unit that a text has, the unit one of `units`."""
    if len(text) > LONGEST_TEXT:
        _refuse("not-a-number", f"{quote(text)} is {len(text):,} characters long", _right_units(units))
    match = _WRITTEN.fullmatch(text.strip())
    if match is None or not (match["whole"] or match["decimals"]):
        code = "not-finite" if _NOT_FINITE.fullmatch(text.strip()) else "not-a-number"
        _refuse(code, f"{quote(text)} is not a {'finite ' if code == 'not-finite' else ''}number", _right_units(units))
    suffix, unit = _suffix_and_unit(text, match, units)
    value = _value(text, match, suffix)
    return _Written(value / 100 if unit is Unit.PERCENT else value, suffix, unit)


def _value(text: str, match: re.Match[str], suffix: str) -> Fraction:
    whole, decimals = (match["whole"] or "").replace("_", ""), (match["decimals"] or "").replace("_", "")
    exponent = match["exponent"] or "0"
    if len(whole) > 1 and whole.startswith("0"):
        _refuse("not-a-number", f"{quote(text)} begins with 0, which some read as octal", "leave the zeros out")
    if match["exponent"] and suffix:
        _refuse("exponent-and-suffix", f"{quote(text)} has an exponent and a suffix", "one of them is right")
    if len(exponent) > 4 or abs(int(exponent)) > _LARGEST_EXPONENT:
        _refuse("out-of-range", f"{quote(text)} is out of range", f"exponents go to {_LARGEST_EXPONENT}")
    if match["sign"] == "-":
        _refuse("negative", f"{quote(text)} is negative", "a number without a minus is right here")
    power = int(exponent) - len(decimals) + SUFFIXES.get(suffix, 0)
    return Fraction(int(whole + decimals)) * Fraction(10) ** power


def _suffix_and_unit(text: str, match: re.Match[str], units: Sequence[Unit]) -> tuple[str, Unit | None]:
    attached, word = match["attached"], match["word"]
    if attached == "%" and word is None:
        attached, word = "", "%"
    if attached and attached not in SUFFIXES:
        if attached.upper() in SUFFIXES:
            _refuse("unknown-unit", f"{quote(text)}: the suffix {quote(attached)} is in lower case", attached.upper())
        if attached.startswith(","):
            _refuse("not-a-number", f"{quote(text)} has a comma", "digits are grouped by '_', as in 15_000_000")
        if attached in _WORDS:
            _refuse("unknown-unit", f"{quote(text)}: no space before {quote(attached)}", _right_units(units))
        suffixes = "" if not units else f"; {', '.join(SUFFIXES)} stand for 10^3, 10^6, 10^9, 10^12"
        _refuse("unknown-unit", f"{quote(text)}: {quote(attached)} is not a unit", _right_units(units) + suffixes)
    if word is None:
        return attached, None
    unit = _WORDS.get(word)
    if unit is None or (unit is Unit.PERCENT and attached):
        near = nearest(word, [known for known, meant in _WORDS.items() if meant in units])
        hint = f"{near} {_right_units(units)}" if near else _right_units(units)
        _refuse("unknown-unit", f"{quote(text)}: {quote(word)} is not a unit", hint)
    if unit not in units:
        _refuse("wrong-unit", f"{quote(text)} is in {unit.value}", _right_units(units))
    return attached, unit


_EXAMPLES = {
    Unit.TOKENS: "100B tokens",
    Unit.SEQUENCES: "512 sequences",
    Unit.STEPS: "10000 steps",
    Unit.BLOCKS: "64 blocks",
    Unit.EPOCHS: "4 epochs",
    Unit.PERCENT: "80%",
}


def _right_units(units: Sequence[Unit]) -> str:
    """A hint that shows what would be right."""
    if not units:
        return "a plain number is right here"
    return f"right here: {' or '.join(_EXAMPLES[unit] for unit in units)}"


def _refuse(code: str, message: str, hint: str | None) -> Never:
    raise UnitError(message, code=code, hint=hint)
