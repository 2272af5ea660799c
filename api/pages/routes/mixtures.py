"""/mixtures/{ref}: a mixture, over its steps and by its domains."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from mixture.api.answers import wrong_query
from mixture.api.dependencies import AppServices, AskedMixture, Reads, lineage_known
from mixture.api.middleware import Lifetime
from mixture.api.pages.catalog.facts import store_of
from mixture.api.pages.mixture.compare import compare_view
from mixture.api.pages.mixture.page import Listing, mixture_view
from mixture.api.pages.moves import moves_of
from mixture.api.pages.render import page_answer
from mixture.api.registry import overview_of

router = APIRouter(tags=["pages"], dependencies=[Reads])
SHOWN_MOVES = 50
SHOWN_OTHERS = 200
"""Mixtures whose names are proposed to compare with; any other can be typed."""

Text = Annotated[str | None, Query(max_length=1000)]


@router.get("/mixtures/{ref}")
def mixture(
    asked: AskedMixture,
    services: AppServices,
    request: Request,
    by: Text = None,
    sort: Text = None,
    domains: Listing | None = None,
    with_: Annotated[str | None, Query(alias="with", max_length=200)] = None,
    phase: Text = None,
    with_phase: Text = None,
) -> Response:
    """The page of a mixture, or of two."""
    shown, overview, whole = asked.mixture, overview_of(asked.mixture), True if domains is Listing.ALL else None
    if with_phase and not with_:
        hint = "with=NAME names the other mixture"
        raise wrong_query(
            "with_phase", "this is a phase of another mixture, and none is named", "invalid-request", hint=hint
        )
    if with_:
        if sort:
            raise wrong_query("sort", "two mixtures are compared in one order, by what changed most", "unknown-sort")
        other = services.mixture(with_)
        other_overview = overview_of(other)
        return page_answer(
            request,
            "mixture_compare.html",
            of=f"{shown.digest} {other.digest} {overview} {other_overview}",
            lifetime=Lifetime.SHORT,
            make=lambda: compare_view(
                shown,
                other,
                asked=str(asked.ref),
                other_asked=with_,
                phase=phase,
                other_phase=with_phase,
                by=by,
                whole=whole,
                overview=overview,
                other_overview=other_overview,
            ),
        )
    moves, has_text = moves_of(services, shown.name, most=SHOWN_MOVES), store_of(shown) is not None
    lineage = lineage_known(services, shown) if shown.lock.amends else None
    refs = lineage and sorted(lineage.refs.items())
    others = [str(head.name) for head in services.heads(after=None, limit=SHOWN_OTHERS) if head.name != shown.name]
    return page_answer(
        request,
        "mixture.html",
        of=f"{shown.digest} {shown.spec_text} {moves} {others} {overview} {refs} {has_text}",
        lifetime=Lifetime.SHORT,  # pinned or not: versions, and what it can be compared with, are on it too
        make=lambda: mixture_view(
            shown,
            asked=str(asked.ref),
            by=by,
            sort=sort,
            whole=whole,
            phase=phase,
            overview=overview,
            has_text=has_text,
            lineage=lineage,
            moves=moves,
            others=others,
        ),
    )
