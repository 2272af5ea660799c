"""/mixtures/{ref}: a mixture, over its steps and by its domains."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.overviews import overview_of
from api.pages.catalog_made import MoveView
from api.pages.mixture import mixture_view
from api.pages.render import page_answer
from api.repository import RepositoryError
from api.security import Reads
from api.services import AppServices, AskedMixture, Services

router = APIRouter(tags=["pages"], include_in_schema=False, dependencies=[Reads])
SHOWN_MOVES = 50
ALL = "all"

Text = Annotated[str | None, Query(max_length=1000)]


@router.get("/mixtures/{ref}")
def mixture(
    asked: AskedMixture,
    services: AppServices,
    request: Request,
    by: Text = None,
    sort: Text = None,
    domains: Text = None,
) -> Response:
    """The page of a mixture."""
    shown, overview = asked.mixture, overview_of(asked.mixture)
    moves = _moves(services, shown.name)
    return page_answer(
        request,
        "mixture.html",
        of=f"{shown.digest} {shown.spec_text} {moves} {overview}",
        lifetime=asked.lifetime,
        make=lambda: mixture_view(
            shown, by=by, sort=sort, whole=True if domains == ALL else None, overview=overview, moves=moves
        ),
    )


def _moves(services: Services, name: str) -> list[MoveView]:
    """What a name leads to and led to before, the newest first; nothing where nobody can say it now."""
    try:
        kept = services.repository.name_history(name, limit=1000)
    except RepositoryError:
        return []
    return [MoveView(digest=one.to_digest, at=one.at, by=one.by) for one in reversed(kept)][:SHOWN_MOVES]
