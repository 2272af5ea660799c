"""/mixtures/{ref}/trace: where a document or a token is read, and what was read before a step."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.caching import Lifetime
from api.lists import LARGEST_NUMBER
from api.pages.catalog_facts import store_of
from api.pages.render import page_answer
from api.pages.trace import Asked, trace_view
from api.queries import PageFields
from api.security import Reads
from api.services import AskedMixture

router = APIRouter(tags=["pages"], include_in_schema=False, dependencies=[Reads])

Text = Annotated[str | None, Query(max_length=10_000)]
Number = Annotated[str | None, Query(max_length=20, pattern="^[0-9]*$")]
"""A form sends fields that were left empty."""


@router.get("/mixtures/{ref}/trace", dependencies=[PageFields])
def trace(
    asked: AskedMixture,
    request: Request,
    document: Text = None,
    domain: Text = None,
    token: Number = None,
    from_step: Number = None,
    until: Number = None,
    by: Text = None,
) -> Response:
    """The page of a trace."""
    mixture, store = asked.mixture, store_of(asked.mixture)
    wanted = Asked(
        document=document or None,
        domain=domain or None,
        token=_number(token),
        from_step=_number(from_step) or 0,
        until=_number(until),
        by=by or None,
    )
    return page_answer(
        request,
        "trace.html",
        of=f"{mixture.digest} {store.digest if store else None}",
        lifetime=Lifetime.SHORT,
        make=lambda: trace_view(mixture, wanted, ref=str(asked.ref), store=store),
    )


def _number(text: str | None) -> int | None:
    return min(int(text), LARGEST_NUMBER) if text else None
