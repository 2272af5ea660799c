"""/mixtures/{ref}/trace: where a document or a token is read, and what was read before a step."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from mixture.api.answers import FormNumber
from mixture.api.dependencies import AskedMixture, Reads
from mixture.api.middleware import Lifetime, Problem, problem_of
from mixture.api.pages.catalog.facts import store_of
from mixture.api.pages.render import asked_page_format, page_answer
from mixture.api.pages.trace import Asked, TraceView, trace_view
from mixture.errors import MixtureError

router = APIRouter(tags=["pages"], dependencies=[Reads])

Text = Annotated[str | None, Query(max_length=10_000)]


@router.get("/mixtures/{ref}/trace")
def trace(
    asked: AskedMixture,
    request: Request,
    document: Text = None,
    domain: Text = None,
    token: FormNumber = None,
    first_step: FormNumber = None,
    step: FormNumber = None,
    by: Text = None,
) -> Response:
    """The page of a trace."""
    mixture, store = asked.mixture, store_of(asked.mixture)
    wanted = Asked(
        document=document or None,
        domain=domain or None,
        token=token,
        first_step=first_step or 0,
        step=step,
        by=by or None,
    )

    def make() -> TraceView:
        try:
            return trace_view(mixture, wanted, ref=str(asked.ref), store=store)
        except (Problem, MixtureError) as error:
            problem = error if isinstance(error, Problem) else problem_of(error)
            is_typed = problem.status_code in (404, 422) and problem.code != "unknown-column"  # a form offers columns
            if not is_typed or asked_page_format(request) is not None:
                raise
            return trace_view(mixture, wanted, ref=str(asked.ref), store=store, refused=problem)

    return page_answer(
        request,
        "trace.html",
        of=f"{mixture.digest} {store.digest if store else None}",
        lifetime=Lifetime.SHORT,
        make=make,
    )
