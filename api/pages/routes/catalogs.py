"""/catalogs/{ref}: a catalog's map, a panel for a cell, and how it was made."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.library import LoadedMixture
from api.pages.catalog import CatalogAsked, catalog_view
from api.pages.catalog_facts import catalog_facts, is_over
from api.pages.catalog_made import MoveView
from api.pages.catalog_order import Measure
from api.pages.render import page_answer
from api.queries import wrong_query
from api.repository import Source
from api.security import Reads
from api.services import AppServices, AskedMixture, Services

router = APIRouter(tags=["pages"], include_in_schema=False, dependencies=[Reads])

MOST_MOVES = 20
"""Earlier versions that the page names."""
Text = Annotated[str | None, Query(max_length=200)]


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
) -> Response:
    """The page of a catalog."""
    shown = asked.mixture
    overlay = shown if mixture is None else _overlay(services, shown, mixture)
    overlays = [one for one in services.builtin.all().values() if is_over(one, shown)]
    facts = catalog_facts(shown, ref=str(asked.ref), overlay=overlay, overlays=overlays, moves=_moves(services, shown))
    if phase is not None and phase not in facts.planned.phases:
        hint = facts.planned.near(phase)
        raise wrong_query("phase", f"{overlay.name} has no phase {phase!r}", "unknown-phase", hint=hint)
    wanted = CatalogAsked(
        rows=rows or None, columns=columns or None, measure=measure, phase=phase or None, sort=sort or "name",
        q=q or "", first_row=first_row,
    )  # fmt: skip
    of = (facts.digest, facts.made.model_dump_json(), overlay.digest, facts.overlays)
    return page_answer(
        request,
        "catalog.html",
        of=str(of),
        lifetime=asked.lifetime,
        make=lambda: catalog_view(facts, wanted),
    )


def _overlay(services: Services, shown: LoadedMixture, name: str) -> LoadedMixture:
    """The mixture whose plan is shown on a catalog. Raises Problem 404 `unknown-mixture`, 422 `other-catalog`."""
    found = services.mixture(name)
    if not is_over(found, shown):
        detail = f"the mixture {name!r} does not draw from the domains of {shown.name!r}"
        raise wrong_query("mixture", detail, "other-catalog")
    return found


def _moves(services: Services, mixture: LoadedMixture) -> tuple[MoveView, ...]:
    """What the name pointed to, the last first."""
    if mixture.source is Source.BUILTIN:
        return (MoveView(digest=mixture.digest, at=None, by=None),)
    kept = [asdict(one) for one in services.repository.name_history(mixture.name, limit=1000)]
    return tuple(MoveView(digest=one["to_digest"], at=one["at"], by=one["by"]) for one in kept[::-1][:MOST_MOVES])
