"""/runs/{id}: a run, live against its plan."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from mixture.api.dependencies import AppServices, Reads
from mixture.api.middleware import Lifetime
from mixture.api.pages.render import page_answer
from mixture.api.pages.run.page import run_view
from mixture.api.registry import overview_of
from mixture.api.routes.runs import RunId, mixture_of

router = APIRouter(tags=["pages"], dependencies=[Reads])
MOST_CHANGES = 20
"""Of the run's lock, the last."""
READ_ENTRIES = 1000
"""Of the log, the last: what charts of losses are made of. Fewer where their losses are long."""


@router.get("/runs/{run_id}")
def run(
    run_id: RunId, services: AppServices, request: Request, by: Annotated[str | None, Query(max_length=1000)] = None
) -> Response:
    """The page of a run."""
    record = services.repository.run(run_id)
    mixture = mixture_of(services, record)
    overview = None if mixture is None else overview_of(mixture)
    entries = services.repository.newest_progress(run_id, limit=READ_ENTRIES)
    changes = services.repository.lock_changes(run_id, limit=MOST_CHANGES)
    return page_answer(
        request,
        "run.html",
        of=f"{record} {overview}",
        lifetime=Lifetime.NOT_AT_ALL,
        make=lambda: run_view(record, mixture, entries, changes=changes, by=by, overview=overview),
    )
