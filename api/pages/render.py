"""From a view to an answer: HTML by a template, or the view's data, by the ending of the address or by `Accept`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

import jinja2
import pyarrow as pa
from fastapi import Request
from starlette.responses import Response

from mixture._version import __version__
from mixture.api.answers import Format, json_bytes, table_bytes
from mixture.api.middleware import Freshness, Lifetime, Whole, not_modified, own_path, ranged_answer, required, tag_of
from mixture.api.pages import figures, titles
from mixture.api.pages.links import ORIGIN, Links, ServedLinks

HTML = "text/html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""The content policy of pages: the service's own files, and nothing that stands in the page itself."""


class View(Protocol):
    """What a page shows: a pydantic model, whose JSON is the page's `.json`."""

    def model_dump_json(self, *, by_alias: bool = ...) -> str: ...

    def table(self) -> pa.Table:
        """The page's main table: its `.csv` and `.parquet`."""
        ...


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """The templates. What they are given is escaped; a name that is not given is an error."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("mixture.api.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for filter_ in (figures.tokens, figures.integer, figures.percent, figures.epochs, figures.times, figures.loss):
        made.filters[filter_.__name__] = filter_
    made.tests["says_the_same"] = titles.says_the_same
    made.globals |= {"Format": Format, "version": __version__}
    return made


def render(template: str, links: Links, view: object) -> str:
    """The HTML of a page. Templates have `view` and `links`."""
    return environment().get_template(template).render(view=view, links=links)


def links_of(request: Request) -> ServedLinks:
    """The addresses as this request's page writes them."""
    prefix = request.scope.get("root_path", "").rstrip("/")
    return ServedLinks(ORIGIN, prefix, own_path(request.scope), tuple(request.query_params.multi_items()))


def asked_page_format(request: Request) -> Format | None:
    """The format of data that a request for a page asks for; None: the page itself.

    Raises Problem 406 `not-acceptable`.
    """
    ending: Format | None = request.scope.get("state", {}).get("format")
    if ending is not None:
        return ending
    kind = required(request.headers.get("accept"), [HTML, *(form.value for form in Format)])
    return None if kind == HTML else Format(kind)


def page_known(request: Request, *, of: str, lifetime: Lifetime) -> Response | None:
    """304 where the client has this page, or its data, already. of: as for `page_answer`."""
    form = asked_page_format(request)
    known = not_modified(request, _freshness(request, form, of=of, lifetime=lifetime))
    if known is not None:
        # A 304 too: its headers take the place of those that a browser has kept with the page.
        known.headers.update(_policy(form))
    return known


def page_answer(request: Request, template: str, *, of: str, lifetime: Lifetime, make: Callable[[], View]) -> Response:
    """A page, or its data, or 304 before any of it is worked out.

    of: what the address leads to, such as a lock's digest: with path, query and format it makes the entity tag
    """
    known = page_known(request, of=of, lifetime=lifetime)
    if known is not None:
        return known
    form = asked_page_format(request)
    view = make()
    headers = _freshness(request, form, of=of, lifetime=lifetime).headers(request) | _policy(form)
    if form is None:
        return Response(render(template, links_of(request), view), headers=headers, media_type=HTML)
    if form is Format.JSON:
        return Response(json_bytes(view), headers=headers, media_type=form.value)
    fresh = _freshness(request, form, of=of, lifetime=lifetime)
    return ranged_answer(
        request, fresh, lambda: Whole(table_bytes(form, view.table())), headers=headers, media_type=form.value
    )


def _freshness(request: Request, form: Format | None, *, of: str, lifetime: Lifetime) -> Freshness:
    links = links_of(request)
    return Freshness(tag_of(of, links.here(), links.base, form and form.value), lifetime)


def _policy(form: Format | None) -> dict[str, str]:
    return {"Content-Security-Policy": POLICY} if form is None else {}
