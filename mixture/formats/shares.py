"""Token shares in the unit that a trainer counts, and back.

A fixed-length sequence has as many tokens as any other, so shares of sequences are shares of tokens. Documents differ:
a domain of short ones gives more of them for the same tokens. Its share of the documents is its share of the tokens
divided by its mean length in tokens, all divided by their sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Never

from mixture.errors import FormatError
from mixture.formats.format import WeightUnit
from mixture.planning.catalog import Catalog
from mixture.schedule import WHOLE
from mixture.units import decimal, format_exact, quote

_DIGITS = Context(prec=50)
FLOAT_DIGITS = 17
"""Digits that a float keeps. Weights over 10**15 have at most 15, and come back from a float as they were written."""


def texts_of(
    weights: Sequence[int], names: Sequence[str], unit: WeightUnit, catalog: Catalog | None
) -> tuple[str, ...]:
    """Integer token shares over 10**15 as decimals in a unit.

    Tokens and sequences: exact, and they sum to 1. Documents: to 17 digits, so near that reading them back with the
    same catalog gives the same integers. Raises FormatError `missing-column`.
    """
    if unit is not WeightUnit.DOCUMENTS:
        return tuple(plain(format_exact(Fraction(weight, WHOLE))) for weight in weights)
    lengths = {d: mean_length(names[d], catalog) for d, weight in enumerate(weights) if weight}
    counts = [_near(weight / lengths[d]) if weight else Fraction(0) for d, weight in enumerate(weights)]
    total = sum(counts, Fraction(0))
    return tuple(plain(decimal(count / total, digits=FLOAT_DIGITS)) for count in counts)


def token_weights(weights: Mapping[str, Fraction], catalog: Catalog) -> Mapping[str, Fraction]:
    """Weights of documents by domain as weights of tokens; they sum to whatever they sum to."""
    return {name: _near(weight * mean_length(name, catalog)) if weight else weight for name, weight in weights.items()}


def mean_length(name: str, catalog: Catalog | None) -> Fraction:
    """A domain's tokens a document, exact. Raises FormatError `missing-column`, CatalogError `unknown-domain`."""
    if catalog is None:
        _refuse("a lock does not say how many documents its domains have", "give the table of its domains: --catalog")
    domain = catalog.domains[catalog.index(name)]
    if not domain.documents or not domain.tokens:
        _refuse(
            f"the catalog does not say how many documents domain {quote(name)} has",
            "add a column `documents`; or use --unit sequences if samples are rows of one length",
        )
    return Fraction(domain.tokens, domain.documents)


def _near(x: Fraction) -> Fraction:
    """The same to 50 digits: exact ratios of thousands of sizes would have a common denominator of as many digits."""
    return Fraction(_DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)))


def plain(text: str) -> str:
    """A decimal that every YAML and JSON reader takes for a float: it has a point."""
    return text if "." in text else f"{text}.0"


def _refuse(message: str, hint: str) -> Never:
    raise FormatError(f"weights that count documents: {message}", code="missing-column", hint=hint)
