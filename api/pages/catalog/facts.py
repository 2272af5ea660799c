"""What a catalog's page is made of, gathered from a loaded mixture."""

from __future__ import annotations

from collections.abc import Iterable

from mixture.api.figures import PlannedDomains
from mixture.api.pages.catalog.page import CatalogFacts
from mixture.api.pages.catalog.provenance import MoveView, made_view
from mixture.api.registry import LoadedMixture, overview_of
from mixture.data.store import Store
from mixture.errors import MixtureError
from mixture.names import DIGEST_MARK
from mixture.stream import masks_for


def catalog_facts(
    mixture: LoadedMixture,
    *,
    ref: str | None = None,
    overlay: LoadedMixture | None = None,
    overlays: Iterable[LoadedMixture] = (),
    moves: tuple[MoveView, ...] = (),
) -> CatalogFacts:
    """The facts of a mixture's catalog.

    ref:      how the page names the mixture; None: by its name
    overlay:  the mixture whose plan is shown; None: this one. overlays: those that may be one
    """
    store, overview = store_of(mixture), overview_of(mixture)
    catalog = mixture.catalog
    tokenizers = {domain.tokenizer for domain in catalog.domains if domain.tokenizer is not None}
    if mixture.lock.tokenizer is not None:
        tokenizers.add(mixture.lock.tokenizer)
    return CatalogFacts(
        name=mixture.name,
        ref=ref or mixture.name,
        digest=mixture.digest,
        catalog=catalog,
        overview=overview,
        planned=PlannedDomains((overlay or mixture).plan_json),
        overlay=(overlay or mixture).name,
        overlays=tuple(one.name for one in overlays if is_over(one, mixture)),
        store=store,
        masks=masks_for(mixture.lock),
        tokenizer=next(iter(sorted(tokenizers)), None),
        made=made_view(
            lock=mixture.digest,
            catalog=catalog.digest,
            store=None if store is None else store.digest,
            tokenizers=tuple(sorted(tokenizers)),
            overview=overview,
            moves=moves,
        ),
    )


def store_of(mixture: LoadedMixture) -> Store | None:
    """The store of a mixture; None where it can not be read now: the page has figures without it."""
    try:
        return mixture.store
    except MixtureError:
        return None


def is_over(loaded_mixture: LoadedMixture, other: LoadedMixture) -> bool:
    """Whether a mixture draws from the same domains as another: of the same names and sizes."""
    return loaded_mixture.domains_digest == other.domains_digest


def pinned(mixture: LoadedMixture) -> str:
    """The reference that never changes."""
    return f"{mixture.name}{DIGEST_MARK}{mixture.digest}"
