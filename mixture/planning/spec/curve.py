"""The rule `curve`: a factor that grows with quality, and the keys that bound and shape it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from mixture.errors import UnitError
from mixture.planning.spec.models import QualityCurve
from mixture.planning.yamlfile import FACTOR, SHARE, TEXT, Key, Keys, Node, number, read_factor, read_number, read_text
from mixture.units import Unit, parse_number, parse_quantity, quote

# What Olmo 3 was made with (arXiv 2512.13961).
MAX_FACTOR = Fraction(7)
START = Fraction(40, 100)

LARGEST_PARAMETER = 100
"""Of p and lambda. Far smaller ones already read little but the best bucket."""


def read_curve(node: Node) -> QualityCurve:
    """The rule's keys. A curve that is searched for has a bound; where p and lambda are given, only a written one."""
    fields = CURVE.read(node)
    p, lam = fields.get("p"), fields.get("lambda")
    bound = MAX_FACTOR if p is None or lam is None else None
    return QualityCurve(
        by=fields["by"],
        max_factor=fields.get("max_factor", bound),
        start=fields.get("from", START),
        p=p,
        lam=lam,
    )


def _parse_start(text: str) -> Fraction:
    start = parse_quantity(text, units=(Unit.PERCENT,), bare=Unit.PERCENT).value
    if start >= 1:
        hint = "below 100% is right here: the best bucket is always read"
        raise UnitError(f"{quote(text)} is out of range", code="out-of-range", hint=hint)
    return start


def _parse_parameter(text: str) -> Fraction:
    parameter = parse_number(text)
    if parameter > LARGEST_PARAMETER:
        hint = f"at most {LARGEST_PARAMETER} is right here"
        raise UnitError(f"{quote(text)} is out of range", code="out-of-range", hint=hint)
    return parameter


_PARAMETER = number([], minimum=0, maximum=LARGEST_PARAMETER)

CURVE = Keys(
    {
        "by": Key(
            read_text,
            TEXT,
            "The catalog's column that orders buckets, worst first: numbers, or texts that end in one.",
            ("quality",),
        ),
        "max_factor": Key(
            read_factor,
            FACTOR,
            "How often the phase may read a bucket. Default: 7, unless p and lambda are given.",
            (7,),
        ),
        "from": Key(
            partial(read_number, parse=_parse_start),
            SHARE,
            "Buckets that lie wholly in this worst part of the tokens are not read. Default: 40%.",
            ("40%", 0),
        ),
        "p": Key(
            partial(read_number, parse=_parse_parameter),
            _PARAMETER,
            "The curve's power. Default: the largest up to 2 that keeps to max_factor.",
            (2,),
        ),
        "lambda": Key(
            partial(read_number, parse=_parse_parameter),
            _PARAMETER,
            "The curve's rate. Default: the largest up to 2 that keeps to max_factor.",
            (0, 0.2),
        ),
    },
    required=("by",),
)
"""The keys of the rule."""
