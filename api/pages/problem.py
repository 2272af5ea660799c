"""What a page that can not be shown says: the problem in words, for people who came by a browser."""

from __future__ import annotations

import re

from fastapi import Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from mixture.api.answers import Format
from mixture.api.middleware import MEDIA_TYPE, Problem, best_of, own_path, title_of
from mixture.api.pages.render import HTML, POLICY, links_of, render

TITLES = {404: "Not found", 422: "This address is not valid"}
"""For people, who have not read RFC 9110."""
_PARAMETER = re.compile(r"^query /([^:]+):")


class ProblemView(BaseModel):
    """A problem as its page shows it. mixture: the one that the page is about, where it is there."""

    model_config = ConfigDict(frozen=True)

    status: int
    title: str
    detail: str
    hint: str | None
    code: str
    trace_id: str | None
    mixture: str | None


def problem_page(request: Request, problem: Problem, answer: Response) -> Response:
    """The answer that a problem is, as a page where a browser asked for one; else as it is."""
    state = request.scope.get("state", {})
    # To programs, which take anything, it is JSON.
    kinds = [MEDIA_TYPE, Format.JSON.value, HTML]
    is_page = state.get("format") is None and best_of(request.headers.get("accept"), kinds) == HTML
    if not is_page or own_path(request.scope).startswith("/v1/"):
        return answer
    view = ProblemView(
        status=problem.status_code,
        title=TITLES.get(problem.status_code) or title_of(problem.status_code),
        detail=_PARAMETER.sub(r"parameter '\1':", problem.detail),
        hint=problem.hint,
        code=problem.code,
        trace_id=state.get("trace_id"),
        mixture=None if problem.code == "unknown-mixture" else request.scope.get("path_params", {}).get("ref"),
    )
    kept = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
    headers = kept | {"Content-Security-Policy": POLICY}
    return Response(render("problem.html", links_of(request), view), answer.status_code, headers, HTML)
