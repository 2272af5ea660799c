"""/mixtures/{ref}/steps/{step}: what a step reads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from mixture.api.answers import LARGEST_NUMBER, FormCount, FormNumber, wrong_query
from mixture.api.dependencies import AskedMixture, Reads
from mixture.api.middleware import Lifetime
from mixture.api.pages.catalog.facts import store_of
from mixture.api.pages.mixture.page import Listing
from mixture.api.pages.render import links_of, page_answer
from mixture.api.pages.step.page import step_view
from mixture.api.registry import overview_of

router = APIRouter(tags=["pages"], dependencies=[Reads])
Text = Annotated[str | None, Query(max_length=1000)]


@router.get("/mixtures/{ref}/steps")
@router.get("/mixtures/{ref}/steps/")
def find(
    asked: AskedMixture,
    request: Request,
    step: FormNumber = None,
    position: FormNumber = None,
    rank: FormNumber = None,
    world_size: FormCount = None,
) -> Response:
    """Where a form leads: to a step, or to the step and slot of a position, whichever rank reads that."""
    slot = None
    if position is not None:
        if step is not None:
            raise wrong_query(
                "position", "step and position are both given", "invalid-request", hint="give one of them"
            )
        schedule = asked.mixture.lock.schedule()
        step = schedule.step_of(position)
        slot = position - schedule.positions_before(step)
        rank = None
    links, form = links_of(request), request.scope["state"].get("format")
    address = links.step(str(asked.ref), step or 0, slot=slot, rank=rank, world_size=world_size)
    if form is not None:
        path, mark, query = address.partition("?")
        return RedirectResponse(path + form.suffix + mark + query, 303)
    return RedirectResponse(address if slot is None else f"{address}#sequences", 303)


@router.get("/mixtures/{ref}/steps/{step}")
def step(
    asked: AskedMixture,
    request: Request,
    step: Annotated[int, Path(ge=0, le=LARGEST_NUMBER)],
    by: Text = None,
    sort: Text = None,
    domains: Listing | None = None,
    slot: FormNumber = None,
    rank: FormNumber = None,
    world_size: FormCount = None,
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
            whole=domains is Listing.ALL,
            first_slot=slot,
            rank=rank,
            world_size=world_size,
            store=store,
            overview=overview,
        ),
    )
