"""/: what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from mixture.api.answers import LISTS, Format, PageAsked, encode_cursor, name_after, table_page_query
from mixture.api.dependencies import AppServices, Reads, Services
from mixture.api.middleware import Lifetime
from mixture.api.pages.index import IndexView, MixtureLine, RunLine
from mixture.api.pages.render import asked_page_format, links_of, page_answer
from mixture.api.routes.mixtures import head
from mixture.errors import MixtureError

router = APIRouter(tags=["pages"], dependencies=[Reads])
SHOWN_RUNS = 20


def _is_table(request: Request) -> bool:
    return asked_page_format(request) not in (None, Format.JSON)


MixturesQuery = Annotated[PageAsked, Depends(table_page_query(limit=100, most=1000, is_table=_is_table))]


@router.get("/")
@router.get("/index")
def index(services: AppServices, page: MixturesQuery, request: Request) -> Response:
    """The mixtures in order of name, and the runs that were registered last."""
    services.check_started()
    heads = [head(one) for one in services.heads(after=name_after(page), limit=page.limit + 1)]
    shown = heads[: page.limit]
    view = IndexView(
        mixtures=tuple(MixtureLine(**one.model_dump(include=set(MixtureLine.model_fields))) for one in shown),
        runs=() if page.after is not None else _runs(services),
        next=encode_cursor(shown[-1].name) if len(heads) > len(shown) else None,
    )
    return page_answer(
        request, "index.html", of=view.model_dump_json(), lifetime=Lifetime.NOT_AT_ALL, make=lambda: view
    )


def lists(request: Request) -> Response:
    """Addresses that people try: all of it is on the first page, or in its data."""
    links = replace(links_of(request), path="/")
    form = request.scope["state"].get("format")
    return RedirectResponse(links.index() if form is None else links.data(form), 307)


for address in LISTS:
    router.get(address)(lists)


def _runs(services: Services) -> tuple[RunLine, ...] | None:
    """The runs that were registered last; None where the database can not be read: mixtures are shown all the same."""
    try:
        runs = services.repository.runs(before=None, limit=SHOWN_RUNS)
    except MixtureError:
        return None
    return tuple(
        RunLine(
            id=run.id,
            name=run.name or run.id,
            mixture=run.mixture,
            registered=run.registered,
            step=0 if run.last is None else run.last.step,
            steps=run.steps,
            reported=None if run.last is None else run.last.at,
        )
        for run in runs
    )
