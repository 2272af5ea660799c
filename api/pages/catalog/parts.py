"""Parts of a catalog's page that are read from its store: the panel of a cell, and texts that a search finds."""

from __future__ import annotations

from collections.abc import Callable

from mixture.api.figures import domain_shown
from mixture.api.middleware import Problem
from mixture.api.pages.catalog.page import CatalogAsked, CatalogFacts, figures_of
from mixture.api.pages.catalog.panel import PanelView, examples_view, panel_view
from mixture.api.pages.catalog.search import Hit, hits
from mixture.api.settings import ExampleTexts
from mixture.api.texts import (
    DocumentFacts,
    DomainExamples,
    ExampleKind,
    TypicalTexts,
    document_facts,
    is_decodable,
    reading_store,
)
from mixture.data.store import Store


def cell_panel(
    facts: CatalogFacts,
    asked: CatalogAsked,
    key: str,
    texts: ExampleTexts,
    *,
    kind: ExampleKind | None = None,
    at: int = 0,
    seed: int = 0,
    facts_of: Callable[[Store, str], DocumentFacts | None] = document_facts,
) -> PanelView:
    """The panel of a cell. facts_of: gives the facts of a domain, kept or not.

    Raises Problem 404 `unknown-domain`, 503 `store-unreadable`; StoreError.
    """
    figures, store = figures_of(facts, asked), facts.store
    with reading_store():
        documents = facts_of(store, key) if store is not None and key in store.domains else None
        shown = domain_shown(figures, key, documents)
        if shown is None:
            raise Problem(404, f"there is no cell or domain {key!r}", code="unknown-domain", facts={"domain": key})
        some = None
        if store is not None and documents is not None:
            of = DomainExamples(store, facts.overview, key, texts, facts.masks)
            some = examples_view(of, texts, kind=kind, number=at, seed=seed)
    return panel_view(figures, shown, some)


def found_texts(facts: CatalogFacts, q: str, texts: ExampleTexts, kept: TypicalTexts) -> list[Hit] | None:
    """The texts that a search finds; None where there are none to be searched."""
    store, overview = facts.store, facts.overview
    if store is None or overview is None or texts is ExampleTexts.NONE or not is_decodable(store):
        return None
    if not q.strip():
        return []
    with reading_store():
        return list(hits(kept.of(store, overview, texts, facts.masks), q))
