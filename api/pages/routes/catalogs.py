"""/catalogs/{ref}: a catalog's map, a panel for a cell, and how it was made."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from mixture.api.answers import wrong_query
from mixture.api.dependencies import AppServices, AskedMixture, Reads, Services
from mixture.api.middleware import Lifetime
from mixture.api.pages.catalog.facts import catalog_facts, is_over
from mixture.api.pages.catalog.order import Measure
from mixture.api.pages.catalog.page import CatalogAsked, CatalogView, catalog_view
from mixture.api.pages.catalog.panel import PanelPage, PanelView
from mixture.api.pages.catalog.parts import cell_panel, found_texts
from mixture.api.pages.catalog.provenance import MoveView
from mixture.api.pages.moves import moves_of
from mixture.api.pages.render import page_answer
from mixture.api.registry import LoadedMixture
from mixture.api.texts import ExampleKind

router = APIRouter(tags=["pages"], dependencies=[Reads])

MOST_MOVES = 20
"""Earlier versions that the page names."""
Text = Annotated[str | None, Query(max_length=200)]
Name = Annotated[str | None, Query(max_length=1000)]


class Part(StrEnum):
    """The part of the page that a script asks for: what is shown in place of what stood there."""

    PAGE = "page"
    PANEL = "panel"


@router.get("/catalogs/{ref}")
def catalog(
    asked: AskedMixture,
    services: AppServices,
    request: Request,
    rows: Text = None,
    columns: Text = None,
    measure: Measure = Measure.SHARE,
    mixture: Text = None,
    phase: Text = None,
    sort: Text = None,
    q: Text = None,
    first_row: Annotated[int, Query(alias="from", ge=0)] = 0,
    cell: Name = None,
    examples: ExampleKind | None = None,
    at: Annotated[int, Query(ge=0, lt=1 << 63)] = 0,
    seed: Annotated[int, Query(ge=0, lt=1 << 63)] = 0,
    part: Part = Part.PAGE,
) -> Response:
    """The page of a catalog."""
    shown, texts = asked.mixture, services.settings.examples
    overlay = shown if not mixture else _overlay(services, shown, mixture)
    overlays = [one for one in services.builtin.all().values() if is_over(one, shown)]
    # Where nobody can say what the name led to, it leads to this one at least.
    moves = moves_of(services, shown.name, most=MOST_MOVES) or (MoveView(digest=shown.digest, at=None, by=None),)
    facts = catalog_facts(shown, ref=str(asked.ref), overlay=overlay, overlays=overlays, moves=moves)
    if phase and phase not in facts.planned.phases:
        hint = facts.planned.near(phase)
        raise wrong_query("phase", f"{overlay.name} has no phase {phase!r}", "unknown-phase", hint=hint)
    wanted = CatalogAsked(
        rows=rows or None,
        columns=columns or None,
        measure=measure,
        phase=phase or None,
        sort=sort or "name",
        q=q or "",
        first_row=first_row,
    )

    def panel() -> PanelView | None:
        if not cell:
            return None
        facts_of = services.document_facts.of
        return cell_panel(facts, wanted, cell, texts, kind=examples, at=at, seed=seed, facts_of=facts_of)

    def page() -> CatalogView:
        found = found_texts(facts, wanted.q, texts, services.typical_texts)
        return catalog_view(facts, wanted, texts=found, panel=panel())

    def alone() -> PanelPage:
        made = panel()
        if made is None:
            raise wrong_query("cell", "a panel is of a cell", "invalid-request")
        return PanelPage(name=facts.name, ref=facts.ref, panel=made)

    is_panel = part is Part.PANEL
    return page_answer(
        request,
        "catalog_panel.html" if is_panel else "catalog.html",
        of=str((facts.digest, facts.made.model_dump_json(), overlay.digest, facts.overlays, texts)),
        lifetime=Lifetime.SHORT,  # pinned or not: versions, and what the store holds, are on it too
        make=alone if is_panel else page,
    )


def _overlay(services: Services, shown: LoadedMixture, name: str) -> LoadedMixture:
    """The mixture whose plan is shown on a catalog. Raises Problem 404 `unknown-mixture`, 422 `other-catalog`."""
    found = services.mixture(name)
    if not is_over(found, shown):
        detail = f"the mixture {name!r} does not draw from the domains of {shown.name!r}"
        raise wrong_query("mixture", detail, "other-catalog")
    return found
