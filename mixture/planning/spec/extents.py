"""How long a phase is, or where it ends."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial

from mixture.errors import UnitError
from mixture.planning.spec.models import Extent, Form
from mixture.planning.yamlfile import Node, Schema, any_of, count, number, quantity, read_number
from mixture.units import Unit, format_exact, parse_quantity, quote, whole_number

_UNITS: dict[Form, tuple[Unit, ...]] = {
    Form.SHARE: (Unit.PERCENT,),
    Form.TOKENS: (Unit.TOKENS,),
    Form.STEPS: (Unit.STEPS,),
    Form.UNTIL: (Unit.STEPS, Unit.PERCENT, Unit.TOKENS),
}

_RATIO = re.compile("([0-9]{1,40})/([0-9]{1,40})")
"""A part of the budget that no percentage says exactly: `until: 108000/390251`."""

_PARTS = (
    number([Unit.PERCENT], exclusiveMinimum=0, maximum=1),
    {"type": "string", "pattern": f"^{_RATIO.pattern}$"},
)
_COUNTS = count([Unit.STEPS, Unit.TOKENS], bare=False)
_STEP: Schema = {"type": "string", "pattern": r"^step\s+[+.0-9]"}

EXTENTS: dict[Form, Schema] = {
    Form.SHARE: any_of(*_PARTS),
    Form.TOKENS: count([Unit.TOKENS]),
    Form.STEPS: count([Unit.STEPS]),
    # A plain number has to say what it counts.
    Form.UNTIL: any_of(quantity([Unit.PERCENT], bare=False), _PARTS[1], _COUNTS, _STEP),
}
"""What `read_extent` takes."""


def read_extent(node: Node, *, form: Form) -> Extent:
    """The extent that stands at the key `share`, `tokens`, `steps` or `until`. It is never nothing."""
    return read_number(node, partial(_parse_extent, form=form))


def _parse_extent(text: str, *, form: Form) -> Extent:
    units = _UNITS[form]
    ratio = _RATIO.fullmatch(text) if Unit.PERCENT in units else None
    if ratio and int(ratio[2]):
        part = _part(text, Fraction(int(ratio[1]), int(ratio[2])))
        return Extent(form=form, amount=part, unit=Unit.PERCENT)
    bare = units[0] if len(units) == 1 else None
    number = text
    if form is Form.UNTIL and text.startswith("step "):
        number, units, bare = text.removeprefix("step "), (Unit.STEPS,), Unit.STEPS
    quantity = parse_quantity(number, units=units, bare=bare)
    value = quantity.value
    match quantity.unit:
        case Unit.PERCENT:
            return Extent(form=form, amount=_part(text, value), unit=Unit.PERCENT)
        case Unit.TOKENS:
            return Extent(form=form, amount=whole_number(text, value), unit=Unit.TOKENS)
        case _:
            return Extent(form=form, amount=whole_number(text, value), unit=Unit.STEPS)


def _part(text: str, share: Fraction) -> Fraction:
    if not 0 < share <= 1:
        message = f"{quote(text)} is {format_exact(100 * share)}% of the budget"
        raise UnitError(message, code="out-of-range", hint="above 0 and at most 100% is right here")
    return share
