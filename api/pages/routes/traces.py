"""/mixtures/{ref}/trace: where a document or a token is read, and what was read before a step."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.caching import Lifetime
from api.pages.catalog_facts import store_of
from api.pages.render import page_answer
from api.pages.trace import Asked, trace_view
from api.queries import FormNumber
from api.security import Reads
from api.services import AskedMixture

router = APIRouter(tags=["pages"], dependencies=[Reads])

Text = Annotated[str | None, Query(max_length=10_000)]


@router.get("/mixtures/{ref}/trace")
def trace(
    asked: AskedMixture,
    request: Request,
    document: Text = None,
    domain: Text = None,
    token: FormNumber = None,
    from_step: FormNumber = None,
    until: FormNumber = None,
    by: Text = None,
) -> Response:
    """The page of a trace."""
    mixture, store = asked.mixture, store_of(asked.mixture)
    wanted = Asked(
        document=document or None,
        domain=domain or None,
        token=token,
        from_step=from_step or 0,
        until=until,
        by=by or None,
    )
    return page_answer(
        request,
        "trace.html",
        of=f"{mixture.digest} {store.digest if store else None}",
        lifetime=Lifetime.SHORT,
        make=lambda: trace_view(mixture, wanted, ref=str(asked.ref), store=store),
    )
