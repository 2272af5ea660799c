"""What a JSON Schema says of single values: beside each reader of `values`, what a validator can know of it.

A reader sees the text that stands in the file; a validator sees what YAML 1.2 makes of it: 8 is a number, 80% a text,
and `no` a text, but `true` none. So names may be numbers and booleans, and numbers with units are texts of a pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mixture.names import DIGEST_MARK, HELD_OUT_ENDING, LONGEST_NAME
from mixture.planning.yamlfile.keys import Schema, any_of
from mixture.units import LARGEST_COUNT, LONGEST_TEXT, Unit, quantity_pattern

_UNSEEN = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"

TEXT: Schema = {"type": ["string", "number", "boolean"], "pattern": rf"^(?=.*[^ ])[^{_UNSEEN}]+$"}
"""What `read_text` and `read_path` take. It refuses null, which is what an empty value is to a validator."""

NAME: Schema = {**TEXT, "maxLength": LONGEST_NAME}
"""What `read_name` takes."""

CONDITION: Schema = {"type": ["string", "number", "boolean"], "pattern": r"[^ \t\n]"}
"""What `read_condition` takes."""

DOMAINS: Schema = {"pattern": TEXT["pattern"], "not": {"pattern": rf"{HELD_OUT_ENDING}$|{DIGEST_MARK}"}}
"""What `read_domain` takes, for the keys of a mapping."""


def words(known: Iterable[str]) -> Schema:
    """What `read_word` takes."""
    return {"enum": [str(word) for word in known]}


def quantity(units: Sequence[Unit], *, bare: bool) -> Schema:
    """A number with one of these units, as a text; bare: it may name none."""
    return {"type": "string", "pattern": quantity_pattern(units, bare=bare), "maxLength": LONGEST_TEXT}


def count(units: Sequence[Unit], *, bare: bool = True, least: int = 1, most: int = LARGEST_COUNT) -> Schema:
    """What `read_count` takes: a whole number of one of these units, which may be left out where it is bare."""
    # A validator's numbers are floats, and the largest count is 2^63 to them.
    number = {"type": "integer", "minimum": least, "maximum": most if most < 2**53 else most + 1}
    text = quantity(units, bare=bare)
    return any_of(number, text) if bare else text


def number(units: Sequence[Unit], **limits: float) -> Schema:
    """A number of one of these units, which may be left out; limits are those of a schema, for a plain number."""
    return any_of({"type": "number", **(limits or {"minimum": 0})}, quantity(units, bare=True))


SHARE: Schema = number([Unit.PERCENT])
"""What `read_share` takes."""

WEIGHT: Schema = any_of(
    {"type": "number", "minimum": 0}, quantity([Unit.PERCENT], bare=True), quantity([Unit.TOKENS], bare=True)
)
"""What a map of domains has: a share, or an amount of tokens."""

EPOCHS: Schema = number([Unit.EPOCHS], exclusiveMinimum=0)
"""What `read_epochs` takes."""

FACTOR: Schema = number([], exclusiveMinimum=0)
"""What `read_factor` takes."""

RULE: Schema = {"$ref": "#/definitions/rule"}
"""What `read_rule` takes; the whole schema defines it."""
