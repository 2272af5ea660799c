"""The rule `curve` over domains of a catalog: their buckets in order of quality, and what the phase reads of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite

from mixture.errors import Place, SpecError, nearest
from mixture.planning.catalog import CATALOG_COLUMNS, Catalog, CatalogDomain
from mixture.planning.plan.findings.finding import named
from mixture.planning.plan.weights.curve import Curve, fitted
from mixture.planning.spec import QualityCurve, Spec
from mixture.units import LONGEST_TEXT, decimal, format_count, format_exact, quote

_DIGITS = f"[0-9]{{1,{LONGEST_TEXT}}}"
_DECIMAL = re.compile(rf"-?{_DIGITS}(\.{_DIGITS})?([eE][-+]?[0-9]{{1,3}})?")
_NUMBERED = re.compile(f"(.*[^0-9])({_DIGITS})", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_LABELS = frozenset(
    {
        "c",
        "category",
        "class",
        "cluster",
        "domain",
        "group",
        "id",
        "k",
        "label",
        "lang",
        "language",
        "licence",
        "license",
    }
    | {"name", "shard", "source", "subset", "topic"}
)
"""Words, in the name of a column or before the numbers in its values, of what numbers tell apart and do not order."""
_SPLIT_NUMBER = re.compile(r"[0-9]([.,]|[eE][-+])$")
_EXPECTED = "expected numbers, or texts that begin alike and end in a number, as in vigintile_0007"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Domains of one quality: the value of the column as text, their tokens, and their indices."""

    label: str
    tokens: int
    domains: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PoolCurve:
    """A curve and the buckets that it is over, worst first; those without a token are not there.

    path: of the key `curve` in the spec
    """

    path: str
    by: str
    buckets: tuple[Bucket, ...]
    curve: Curve


def pool_curve(
    rule: QualityCurve,
    catalog: Catalog,
    domains: Mapping[int, CatalogDomain],
    wanted: Fraction,
    *,
    spec: Spec,
    path: str,
) -> PoolCurve:
    """The rule's curve over these domains, of which at least one has tokens, for so many tokens to read.

    Raises SpecError: `unknown-column`, `curve-unordered` where the column's values have no order that is known,
    `curve-over-max` where no curve of the rule's kind keeps to its `max_factor`.
    """
    here = f"{path}.curve"
    buckets = _buckets(rule.by, catalog, domains, spec.place(f"{here}.by"))
    curve = fitted(
        [bucket.tokens for bucket in buckets],
        wanted,
        start=rule.start,
        max_factor=rule.max_factor,
        p=rule.p,
        lam=rule.lam,
    )
    pool = PoolCurve(here, rule.by, buckets, curve)
    if rule.max_factor is not None and curve.factors[-1] > rule.max_factor:
        best = [domains[d].name for d in pool.buckets[-1].domains]
        raise _over_max(rule, pool, best, wanted, spec.place(f"{here}.max_factor"))
    return pool


def domain_shares(pool: PoolCurve, domains: Mapping[int, CatalogDomain]) -> dict[int, Fraction]:
    """The share of each domain, 0 without tokens: a bucket's domains are in proportion to their tokens."""
    shares = dict.fromkeys(domains, Fraction(0))
    for bucket, share in zip(pool.buckets, pool.curve.shares, strict=True):
        for d in bucket.domains:
            shares[d] = share * domains[d].tokens / bucket.tokens
    return shares


def _buckets(by: str, catalog: Catalog, domains: Mapping[int, CatalogDomain], place: Place) -> tuple[Bucket, ...]:
    columns = catalog.table.column_names
    if by not in columns:
        hint = nearest(by, columns) or f"columns: {', '.join(columns)}"
        raise SpecError(f"unknown column {quote(by)}", code="unknown-column", place=place, hint=hint, name=by)
    held = {d: domain for d, domain in domains.items() if domain.tokens}
    rows = [catalog.index(domain.name) for domain in held.values()]
    values = catalog.table.column(by).take(rows).to_pylist()
    grades = _grades(by, values, [domain.name for domain in held.values()], place)
    same: dict[Fraction, list[int]] = {}
    label: dict[Fraction, str] = {}
    for d, grade, value in zip(held, grades, values, strict=True):
        same.setdefault(grade, []).append(d)
        label.setdefault(grade, str(value))
    return tuple(
        Bucket(label[grade], sum(held[d].tokens for d in same[grade]), tuple(same[grade])) for grade in sorted(same)
    )


def _grades(by: str, values: Sequence[object], names: Sequence[str], place: Place) -> list[Fraction]:
    """Numbers that order the values: their own, or those that texts with the same beginning end in."""
    if by in CATALOG_COLUMNS:
        why = f"column {quote(by)} is one of the catalog's own ({', '.join(CATALOG_COLUMNS)})"
        raise _unordered(why, by, place, hint="name a column of quality, as in `by: quality`")
    numbers = [_number(value) for value in values]
    blank = [value is None or (isinstance(value, str) and not value.strip()) for value in values]
    words = set(_WORD.findall(by.lower()))
    if words and words <= _LABELS:
        hint = "if its values are of quality, give the column a name that says so, as in quality"
        raise _unordered(f"column {quote(by)} has labels, by its name", by, place, hint=hint)
    # Numbers of a column such as edu_class are grades as likely as not; its texts are labels.
    if words & _LABELS and any(number is None and not no for number, no in zip(numbers, blank, strict=True)):
        raise _unordered(f"column {quote(by)} has labels, by its name and texts", by, place)
    if True in blank:
        name = names[blank.index(True)]
        raise _unordered(f"column {quote(by)} has no value for domain {name!r}", by, place, domain=name)
    if all(number is not None for number in numbers):
        return [number for number in numbers if number is not None]
    beginning = None
    out = []
    for value, number, name in zip(values, numbers, names, strict=True):
        match = _NUMBERED.fullmatch(value) if isinstance(value, str) and number is None else None
        if match is None or _SPLIT_NUMBER.search(match[1]) or beginning not in (None, match[1]):
            if beginning is None and number is not None:  # most are numbers, and some later value is none
                value, name = next(
                    (value, name) for value, own, name in zip(values, numbers, names, strict=True) if own is None
                )
            known = "" if beginning is None else f", where others are {quote(f'{beginning}…')}"
            why = f"column {quote(by)} has {quote(str(value))} for domain {name!r}{known}"
            raise _unordered(why, by, place, domain=name)
        if _LABELS & set(_WORD.findall(match[1].lower())):
            why = f"column {quote(by)} has labels, as {quote(str(value))} for domain {name!r}"
            raise _unordered(why, by, place, domain=name)
        beginning = match[1]
        out.append(Fraction(match[2]))
    return out


def _unordered(why: str, by: str, place: Place, *, hint: str = _EXPECTED, **facts: object) -> SpecError:
    return SpecError(
        f"{why}: no order of quality is known",
        code="curve-unordered",
        place=place,
        hint=hint,
        column=by,
        **facts,
    )


def _number(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, float):
        return Fraction(str(value)) if isfinite(value) else None
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        return None
    return Fraction(value)


def _over_max(rule: QualityCurve, pool: PoolCurve, best: Sequence[str], wanted: Fraction, place: Place) -> SpecError:
    """best: the domains of the best bucket, which is read most often."""
    curve = pool.curve
    kept = sum(bucket.tokens for bucket in pool.buckets[curve.dropped :])
    what = "the flattest curve"
    if rule.p is not None or rule.lam is not None:
        what = f"a curve with p = {decimal(curve.p, digits=6)}, lambda = {decimal(curve.lam, digits=6)}"
    assert rule.max_factor is not None, "a bound is kept to"
    return SpecError(
        f"{what} reads bucket {pool.buckets[-1].label!r}, {named(best)}, {decimal(curve.factors[-1], digits=6)} times,"
        f" max_factor is {format_exact(rule.max_factor)}: {format_count(round(wanted))} tokens are to be read of the"
        f" {format_count(kept)} that are not below `from`",
        code="curve-over-max",
        place=place,
        hint="a larger max_factor, an earlier `from`, a smaller share, or a flatter curve is right here",
        factor=curve.factors[-1],
        max_factor=rule.max_factor,
        tokens=round(wanted),
        tokens_kept=kept,
        domains=best,
    )
