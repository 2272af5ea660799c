"""/mixtures/{ref}/what-if: a mixture with the changes that the query says, and the spec that gives them as a file."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError
from starlette.responses import Response

from mixture.api.answers import LONGEST_SHOWN, OWN_NAMES, check_names, wrong_query
from mixture.api.dependencies import AppServices, AskedMixture, Reads, Services
from mixture.api.middleware import Lifetime, Problem, first_errors, invalid, problem_of
from mixture.api.pages.mixture.columns import asked_column
from mixture.api.pages.mixture.page import Listing
from mixture.api.pages.mixture.what_if import asked_of, field_names, what_if_view
from mixture.api.pages.render import asked_page_format, page_answer, page_known
from mixture.api.registry import LoadedMixture, overview_of
from mixture.api.routes.mixtures import SPEC_MEDIA_TYPE
from mixture.api.routes.what_if import WhatIfAsked, answer_what_if, changes_of
from mixture.api.what_if import WhatIfAnswer, check_whole
from mixture.errors import MixtureError
from mixture.planning.catalog import Overview
from mixture.planning.whatif import changed_name

router = APIRouter(tags=["pages"], dependencies=[Reads])
SHOWN_STATUS = 422
"""Of what the page itself says is wrong; other problems are the answer."""


@router.get("/mixtures/{ref}/what-if", openapi_extra={OWN_NAMES: True})
async def what_if(asked: AskedMixture, services: AppServices, request: Request) -> Response:
    """The form, and under it what its changes would come to."""
    mixture, query = asked.mixture, dict(request.query_params)
    check_whole(mixture)
    overview = await run_in_threadpool(overview_of, mixture)
    of = f"{mixture.digest} {mixture.spec_text} {overview}"
    known = page_known(request, of=of, lifetime=Lifetime.SHORT)
    if known is not None:
        return known
    by = await run_in_threadpool(_checked, mixture, request, overview)
    answer, refused = None, None
    # Planned here and not in the thread that makes the page: who waits for a place waits without one.
    try:
        answer = await _answer(services, asked, request, by)
    except Problem as problem:
        if problem.status_code != SHOWN_STATUS or asked_page_format(request) is not None:
            raise
        refused = problem
    return await run_in_threadpool(
        page_answer,
        request,
        "mixture_what_if.html",
        of=of,
        lifetime=Lifetime.SHORT,
        make=lambda: what_if_view(
            mixture,
            query,
            by=by,
            asked=str(asked.ref),
            overview=overview,
            answer=answer,
            refused=refused,
            whole=True if query.get("rows") else None,
        ),
    )


@router.get("/mixtures/{ref}/what-if.yaml", openapi_extra={OWN_NAMES: True})
async def changed_spec(asked: AskedMixture, services: AppServices, request: Request) -> Response:
    """The changed spec, to be saved."""
    mixture = asked.mixture
    check_whole(mixture)
    overview = await run_in_threadpool(overview_of, mixture)
    by = await run_in_threadpool(_checked, mixture, request, overview)
    answer = await _answer(services, asked, request, by)
    text = mixture.spec_text if answer is None else answer.spec
    named = quote(f"{changed_name(mixture.name)}.yaml", safe="")  # not as the file of the mixture itself is called
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{named}", "Cache-Control": "no-cache"}
    return Response(text.encode(), media_type=SPEC_MEDIA_TYPE, headers=headers)


def _checked(mixture: LoadedMixture, request: Request, overview: Overview | None) -> str:
    """The column that rows of the form are of.

    Raises Problem 422: `unknown-column`; `unknown-parameter` where the form has no such field; `invalid-request`.
    """
    by = asked_column(mixture.catalog, mixture.domain_column, request.query_params.get("by"), overview)
    check_names(request.query_params, {name: {} for name in field_names(mixture, by)})
    rows = request.query_params.get("rows")
    if rows and rows not in list(Listing):
        raise wrong_query(
            "rows", f"there are no rows {rows[:LONGEST_SHOWN]!r}", "invalid-request", hint=f"rows={Listing.ALL}"
        )
    return by


async def _answer(services: Services, asked: AskedMixture, request: Request, by: str) -> WhatIfAnswer | None:
    """What the query's changes come to; None where it has none. Raises Problem."""
    mixture = asked.mixture
    phases = [phase.name for phase in mixture.lock.phases]
    body = asked_of(request.query_params.multi_items(), phases, by=by, domain_column=mixture.domain_column)
    if not body:
        return None
    try:
        return await answer_what_if(request, services, mixture, changes_of(WhatIfAsked(**body)))
    except ValidationError as error:
        faults = first_errors(error)
        raise invalid([{**fault, "loc": ("body", *fault["loc"])} for fault in faults], error.error_count()) from error
    except MixtureError as error:
        raise problem_of(error) from error
