"""Single values of a spec: names, paths, words of an enum, numbers with units."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TypeVar

from mixture.data.storage import Address, located
from mixture.errors import StoreError, UnitError, nearest
from mixture.names import DIGEST_MARK, HELD_OUT_ENDING, LONGEST_NAME, is_blank, is_held_out, odd_character
from mixture.planning.yamlfile.errors import refuse
from mixture.planning.yamlfile.nodes import Mapping, Node, Scalar
from mixture.units import LARGEST_COUNT, Unit, parse_count, parse_number, parse_quantity, parse_whole, quote

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def read_scalar(node: Node) -> Scalar:
    """A node that is a single value and not left empty."""
    if not isinstance(node, Scalar):
        found = "a mapping" if isinstance(node, Mapping) else "a list"
        refuse(node.place, f"this is {found}", code="not-a-value", hint="a single value is right here")
    if not node.text.strip(" \t\n"):
        refuse(node.place, "this is empty", code="missing-value", hint="a value is right here")
    return node


def read_text(node: Node) -> str:
    """A text as written, whatever YAML takes it for: `no`, `08`, `1e3` and `null` are names like any other."""
    text = read_scalar(node).text
    _check_characters(node, text)
    if is_blank(text):
        refuse(node.place, "this has no visible character", code="missing-value", hint="a value is right here")
    return text


def read_name(node: Node) -> str:
    """A text that something is called by, and no longer than that needs."""
    text = read_text(node)
    if len(text) > LONGEST_NAME:
        message = f"a name of {len(text):,} characters"
        refuse(node.place, message, code="name-too-long", hint=f"up to {LONGEST_NAME} are right")
    return text


def read_condition(node: Node) -> str:
    """A text that may go over several lines."""
    text = read_scalar(node).text.strip()
    _check_characters(node, text.replace("\n", " ").replace("\t", " "))
    return text


def _check_characters(node: Node, text: str) -> None:
    odd = odd_character(text)
    if odd is not None:
        message = f"{quote(text)} holds the control character {quote(odd)}"
        refuse(node.place, message, code="control-character", hint="names and texts are of visible characters")


def read_domain(node: Node) -> str:
    """The name of a domain that a phase weighs. Held-out documents and digests of content have reserved names."""
    name = read_text(node)
    if is_held_out(name):
        message = f"{quote(name)} is no domain to train on: {HELD_OUT_ENDING} and {DIGEST_MARK} are reserved"
        refuse(node.place, message, code="reserved-name")
    return name


def read_stored_domain(node: Node) -> str:
    """The name of a domain of a store: one that a phase may weigh, or held-out documents of one."""
    name = read_text(node)
    trained = name.removesuffix(HELD_OUT_ENDING)
    if not trained or is_held_out(trained):
        message = f"{quote(name)}: {HELD_OUT_ENDING} stands once behind a domain's name, and {DIGEST_MARK} is reserved"
        refuse(node.place, message, code="reserved-name")
    return name


def read_path(node: Node) -> Path:
    """A path, relative to the folder that the spec lies in, or an address, as `mixture.data.storage` reads them."""
    place = read_located(node)
    return Path(read_text(node)) if isinstance(place, Address) else Path(node.place.file or "").parent / place


def read_located(node: Node) -> Address | Path:
    """A path as it is written, or an address."""
    try:
        return located(read_text(node))
    except StoreError as error:
        told = error.place.file if error.place is not None else None  # without what may be a secret
        refuse(node.place, f"{quote(told or '…')} {error.message}", code=error.code, hint=error.hint)


def read_word(node: Node, words: type[E], *, code: str) -> E:
    """One of an enum's words."""
    text = read_scalar(node).text
    try:
        return words(text)
    except ValueError:
        hint = nearest(text, words) or f"right here: {', '.join(words)}"
        refuse(node.place, f"{quote(text)} is not known", code=code, hint=hint)


def read_share(node: Node) -> Fraction:
    """A share as a fraction of 1, written as 80% or 0.8."""
    return read_number(node, partial(parse_quantity, units=(Unit.PERCENT,), bare=Unit.PERCENT)).value


def read_tokens(node: Node) -> int:
    """An amount of tokens, or 0."""
    return read_count(node, Unit.TOKENS, least=0)


def read_count(node: Node, unit: Unit, *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """A whole number of this unit, which may be left out: the key says it."""
    return read_number(node, partial(parse_count, units=(unit,), bare=unit, least=least, most=most)).amount


def read_whole(node: Node, *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """A whole number without a unit."""
    return read_number(node, partial(parse_whole, least=least, most=most))


def read_epochs(node: Node) -> Fraction:
    """A number of epochs above 0, which need not be whole."""
    return read_number(node, _parse_epochs)


def read_factor(node: Node) -> Fraction:
    """A number above 0 without a unit."""
    return read_number(node, lambda text: _above_zero(text, parse_number(text)))


def _parse_epochs(text: str) -> Fraction:
    return _above_zero(text, parse_quantity(text, units=(Unit.EPOCHS,), bare=Unit.EPOCHS).value)


def _above_zero(text: str, value: Fraction) -> Fraction:
    if not value:
        raise UnitError(f"{quote(text)} is out of range", code="out-of-range", hint="above 0 is right here")
    return value


def read_number(node: Node, parse: Callable[[str], T]) -> T:
    """What a parser of `mixture.units` makes of the value; its UnitError gets the place. A number has no quotes."""
    scalar = read_scalar(node)
    if scalar.quoted and scalar.text.rstrip().endswith(tuple("0123456789.")):
        refuse(
            node.place,
            f"{quote(scalar.text)} in quotes is a text, not a number",
            code="quoted-number",
            hint="take the quotes off",
        )
    try:
        return parse(scalar.text)
    except UnitError as error:
        message = f"{node.place.path}: {error.message}"
        raise UnitError(message, code=error.code, place=node.place, hint=error.hint, **error.facts) from error
