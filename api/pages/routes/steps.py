"""/mixtures/{ref}/steps/{step}: what a step reads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from api.caching import Lifetime
from api.lists import LARGEST_NUMBER
from api.overviews import overview_of
from api.pages.catalog_facts import store_of
from api.pages.render import links_of, page_answer
from api.pages.step import step_view
from api.security import Reads
from api.services import AskedMixture

router = APIRouter(tags=["pages"], include_in_schema=False, dependencies=[Reads])
MOST_RANKS = 1_000_000
ALL = "all"

Number = Annotated[int | None, Query(ge=0, le=LARGEST_NUMBER)]
WorldSize = Annotated[int | None, Query(ge=1, le=MOST_RANKS)]
Text = Annotated[str | None, Query(max_length=1000)]


@router.get("/mixtures/{ref}/steps")
@router.get("/mixtures/{ref}/steps/")
def find(
    asked: AskedMixture, request: Request, step: Number = None, position: Number = None, world_size: WorldSize = None
) -> Response:
    """Where a form leads: to a step, or to the step and slot of a position."""
    slot = None
    if position is not None:
        schedule = asked.mixture.lock.schedule()
        step = schedule.step_of(position)
        slot = position - schedule.positions_before(step)
    address = links_of(request).step(str(asked.ref), step or 0, slot=slot, world_size=world_size)
    return RedirectResponse(address if slot is None else f"{address}#sequences", 303)


@router.get("/mixtures/{ref}/steps/{step}")
def step(
    asked: AskedMixture,
    request: Request,
    step: Annotated[int, Path(ge=0, le=LARGEST_NUMBER)],
    by: Text = None,
    sort: Text = None,
    domains: Text = None,
    slot: Annotated[int, Query(ge=0, le=LARGEST_NUMBER)] = 0,
    world_size: WorldSize = None,
) -> Response:
    """The page of a step."""
    mixture, store, overview = asked.mixture, store_of(asked.mixture), overview_of(asked.mixture)
    return page_answer(
        request,
        "step.html",
        # Documents follow from the store, which may be there later, or another one.
        of=f"{mixture.digest} {store.digest if store else None} {overview}",
        lifetime=Lifetime.SHORT,
        make=lambda: step_view(
            mixture,
            step,
            ref=str(asked.ref),
            by=by,
            sort=sort,
            whole=domains == ALL,
            first_slot=slot,
            world_size=world_size,
            store=store,
            overview=overview,
        ),
    )
