"""What a first spec for a catalog is made of: the domains that it weighs, its length, batch and steps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from mixture.errors import Place, PlanError
from mixture.planning.catalog import Catalog, CatalogDomain
from mixture.units import quote

LONGEST, SHORTEST = 4096, 128
"""Tokens of a sequence: the first where a catalog is large enough, and not below the second where it has to be."""
LARGEST_BATCH = 1024
FEWEST_STEPS, FEWEST_SEQUENCES = 1000, 256
"""Of a run, where the catalog is large enough."""

_QUALITY = re.compile("quality|score|level|bucket|tier|vigintile|grade", re.IGNORECASE)
_PLAIN_COLUMN = re.compile("quality(_[a-z]+)?|score|tokens|tokenizer|max_epochs")
_LEAST_BEST = Fraction(1, 10)
_COVERED = Fraction(9, 10)


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition that all domains of a run are held to, and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Best:
    """The domains of the highest quality: a column, the least that they have in it, and their tokens."""

    column: str
    least: str
    tokens: int
    all_have: bool

    @property
    def where(self) -> str:
        """The condition that selects them."""
        return f"{self.column} >= {self.least}"

    @property
    def others(self) -> str:
        """The condition that selects all others."""
        return f"{self.column} < {self.least}" + ("" if self.all_have else f" or {self.column} is null")


@dataclass(frozen=True, slots=True)
class Sizes:
    """The domains that a first spec weighs, and what its run is like."""

    domains: tuple[CatalogDomain, ...]
    limits: tuple[Limit, ...]
    tokenizer: str | None
    sequence_length: int
    batch: int
    steps: int
    best: Best | None

    @property
    def tokens(self) -> int:
        """What the weighed domains hold."""
        return sum(domain.tokens for domain in self.domains)

    @property
    def step_tokens(self) -> int:
        """Tokens of a step."""
        return self.batch * self.sequence_length


def sizes_for(catalog: Catalog, domains: Sequence[CatalogDomain], limits: Sequence[Limit], tokens: int | None) -> Sizes:
    """Sizes for a run over some of a catalog's domains, of so many tokens; None: of about one epoch.

    Raises PlanError `catalog-empty` where the domains have no token.
    """
    held = [domain for domain in domains if domain.tokens]
    if not held:
        place = Place(file=str(catalog.source))
        raise PlanError("no domain of the catalog has a token", code="catalog-empty", place=place)
    held, tokenizer, limits = _of_one_tokenizer(held, list(limits))
    length = _length(held, tokens)
    kept = [domain for domain in held if domain.tokens >= length]
    if len(kept) < len(domains) and any(d.tokens < length for d in domains):
        limits.append(Limit(f"tokens >= {length}", "a shorter domain has no whole sequence"))
    budget = tokens or sum(domain.tokens for domain in kept)
    batch = min(LARGEST_BATCH, _power_of_two(budget // (length * FEWEST_STEPS)))
    steps = max(1, budget // (length * batch))
    return Sizes(tuple(kept), tuple(limits), tokenizer, length, batch, steps, _best(catalog, kept))


def column_name(name: str) -> str:
    """A column as a condition names it."""
    return name if _PLAIN_COLUMN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _of_one_tokenizer(
    domains: list[CatalogDomain], limits: list[Limit]
) -> tuple[list[CatalogDomain], str | None, list[Limit]]:
    """The domains that one tokenizer counted: the one of the most tokens. Where none is named, it may be any."""
    tokens = Counter[str]()
    for domain in domains:
        if domain.tokenizer is not None:
            tokens[domain.tokenizer] += domain.tokens
    if len(tokens) < 2:
        return domains, next(iter(tokens), None), limits
    name = min(tokens, key=lambda tokenizer: (-tokens[tokenizer], tokenizer))
    text = name.replace("'", "''")
    where = f"(tokenizer = '{text}' or tokenizer is null)"
    why = f"others were counted with {', '.join(map(quote, sorted(tokens.keys() - {name})[:3]))}"
    return [one for one in domains if one.tokenizer in (None, name)], name, [*limits, Limit(where, why)]


def _length(domains: Sequence[CatalogDomain], tokens: int | None) -> int:
    """The longest power of two of which most of the text, and enough of the run, is whole sequences."""
    whole = sum(domain.tokens for domain in domains)
    length = _power_of_two((tokens or whole) // FEWEST_SEQUENCES)
    length = min(LONGEST, max(SHORTEST, length))
    while length > 1:
        covered = sum(domain.tokens for domain in domains if domain.tokens >= length)
        if covered >= whole * _COVERED and length <= (tokens or whole):
            break
        length //= 2
    return length


def _power_of_two(most: int) -> int:
    return 1 << (max(most, 1).bit_length() - 1)


def _best(catalog: Catalog, domains: Sequence[CatalogDomain]) -> Best | None:
    """The fewest of the highest quality that have a tenth of the tokens, by the first column that says quality."""
    rows = [catalog.index(domain.name) for domain in domains]
    sizes = [domain.tokens for domain in domains]
    for name in catalog.table.column_names:
        column = catalog.table.column(name)
        if not _QUALITY.search(name) or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            continue
        values = column.to_pylist()
        found = [(values[row], size) for row, size in zip(rows, sizes, strict=True) if values[row] is not None]
        tokens = 0
        for least in sorted({value for value, _ in found}, reverse=True):
            tokens += sum(size for value, size in found if value == least)
            if tokens >= _LEAST_BEST * sum(sizes):
                break
        if 0 < tokens < sum(sizes):
            return Best(column_name(name), _number(least), tokens, len(found) == len(rows))
    return None


def _number(value: int | float) -> str:
    """A number as a condition has it: all of its digits, and no exponent."""
    return str(value) if isinstance(value, int) else f"{value:f}" if float(f"{value:f}") == value else repr(value)
