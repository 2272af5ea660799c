"""/v1/mixtures/{ref}/diff/{other}: two mixtures compared, as `mixture diff` does."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from mixture.api.answers import (
    NOT_MODIFIED,
    Format,
    TableFormat,
    json_answer,
    only,
    table_answer,
    table_responses,
    text_answer,
    wrong_query,
)
from mixture.api.dependencies import AppServices, Asked, AskedMixture, AskedOther, Reads, Services
from mixture.api.figures import moves_table
from mixture.api.middleware import Lifetime, Problem, problems
from mixture.errors import CatalogError
from mixture.planning.compare import ComparisonReport, Diff, diff, diff_json, diff_markdown, side_of

router = APIRouter(prefix="/v1/mixtures", tags=["mixtures"], dependencies=[Reads])

MOST_ROWS = 100_000
"""Domains times phases that are compared at once."""
MARKDOWN = "text/markdown"
AS_MARKDOWN: dict[str, Any] = {
    "schema": {"type": "string"},
    "example": "**`demo` → `demo-2`** They read the same before step 15,259; from there they differ. …\n",
}
CSV = '"domain","weight_a","weight_b","weight_change","tokens_drawn_a","tokens_drawn_b","tokens_drawn_change",…\n'

By = Annotated[
    str | None,
    Query(max_length=1000, description="A column of both catalogs to group domains by.", examples=["cluster"]),
]


@router.get(
    "/{ref}/diff/{other}",
    response_model=None,
    responses={**table_responses(ComparisonReport, CSV), **problems.documented(404)},
)
def compare_mixtures(
    asked: AskedMixture, other: AskedOther, services: AppServices, form: TableFormat, request: Request, by: By = None
) -> Response:
    """From which step two mixtures part, and by domain and phase what moved: {other}'s figures less {ref}'s.

    In JSON whole, as `mixture diff --json` prints it, with exact fractions; in other formats the moves alone, as rows.
    """
    of, lifetime = _of(asked, other), _lifetime(asked, other)

    def compared() -> Diff:
        return _compared(services, asked, other, by)

    if form is Format.JSON:
        return json_answer(request, of=of, lifetime=lifetime, make=lambda: diff_json(compared()))
    return table_answer(request, form, of=of, lifetime=lifetime, make=lambda: moves_table(compared()))


@router.get(
    "/{ref}/diff/{other}/markdown",
    dependencies=[only(MARKDOWN)],
    response_class=Response,
    responses={200: {"content": {MARKDOWN: AS_MARKDOWN}}, **NOT_MODIFIED, **problems.documented(404)},
)
def compare_mixtures_as_markdown(
    asked: AskedMixture, other: AskedOther, services: AppServices, request: Request, by: By = None
) -> Response:
    """The same for a pull request, as `mixture diff --markdown` prints it."""
    text = diff_markdown(_compared(services, asked, other, by))
    return text_answer(request, text, of=_of(asked, other), lifetime=_lifetime(asked, other), media_type=MARKDOWN)


def _compared(services: Services, asked: Asked, other: Asked, by: str | None) -> Diff:
    """The comparison. Raises Problem 422: `unknown-column`, `too-many-rows`."""
    a, b = (side_of(one.mixture.lock, name=str(one.ref), catalog=one.mixture.catalog) for one in (asked, other))
    rows = len(a.sizes | b.sizes) * (1 + len(a.phases) + len(b.phases))
    most = min(MOST_ROWS, services.settings.max_rows)
    if rows > most:
        detail = f"their domains times their phases are {rows:,}, more than {most:,}"
        raise Problem(422, detail, code="too-many-rows", hint="`mixture diff` compares them", facts={"max_rows": most})
    try:
        return diff(a, b, by=by or None)
    except CatalogError as error:
        raise wrong_query("by", error.message, error.code, hint=error.hint) from error


def _of(asked: Asked, other: Asked) -> str:
    """What the two addresses lead to."""
    return f"{asked.mixture.digest} {other.mixture.digest}"


def _lifetime(asked: Asked, other: Asked) -> Lifetime:
    """For good where both are pinned."""
    return asked.lifetime if other.lifetime is Lifetime.FOR_GOOD else other.lifetime
