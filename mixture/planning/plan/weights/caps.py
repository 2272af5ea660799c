"""Caps on epochs: which a domain has, and how much of it is drawn past its cap."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from math import floor

from mixture.errors import SpecError, nearest
from mixture.names import is_held_out
from mixture.planning.catalog import CatalogDomain
from mixture.planning.spec import Spec
from mixture.planning.yamlfile import key_path


def max_epochs(spec: Spec, domain: CatalogDomain) -> Fraction | None:
    """How often a domain may be read: by the spec's limit for it, the catalog's, or the spec's for all; None: any."""
    own = spec.domain_max_epochs.get(domain.name, domain.max_epochs)
    return spec.max_epochs if own is None else own


def check_capped(spec: Spec, names: Collection[str]) -> None:
    """Raise SpecError, `unknown-domain`, where the spec has a limit for a domain that is none of these."""
    for name in spec.domain_max_epochs:
        if name not in names:
            raise SpecError(
                f"unknown domain {name!r}",
                code="unknown-domain",
                place=spec.place(key_path("max_epochs.domains", name)),
                hint="it is held out: no run draws from it"
                if is_held_out(name)
                else nearest(name, names) or "the catalog does not have it",
                domain=name,
            )


def tokens_over_cap(drawn: int, tokens: int, cap: Fraction | None) -> int:
    """The tokens that are drawn of a domain past its cap, exact; 0 where it is not read too often.

    drawn: tokens drawn, with repeats; tokens: those that the domain holds; cap: the epochs it may be read, None: any
    """
    return 0 if cap is None else max(0, drawn - floor(cap * tokens))
