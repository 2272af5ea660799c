"""Irrational figures to 50 digits that are the same on every machine, by the standard library's `decimal`."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction

# `divide`, `multiply`, `ln` and `exp` are rounded correctly in every implementation of decimal, `power` is not said to
# be. What is below 10^-9999 is 0.
CONTEXT = Context(
    prec=50, rounding=ROUND_HALF_EVEN, Emin=-9999, Emax=9999, traps=[InvalidOperation, DivisionByZero, Overflow]
)


def quotient(x: Fraction) -> Decimal:
    """A fraction as a decimal; its numerator and denominator may have any number of digits."""
    return CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))


def power(base: Fraction, exponent: Fraction) -> Decimal:
    """base^exponent as exp(exponent · ln(base)); base is above 0."""
    scaled = CONTEXT.multiply(CONTEXT.ln(quotient(base)), Decimal(exponent.numerator))
    return CONTEXT.exp(CONTEXT.divide(scaled, Decimal(exponent.denominator)))
