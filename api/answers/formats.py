"""Formats of answers: JSON, and for tables CSV, Parquet and Arrow too; by `Accept`, or by the ending of the address.

`GET /v1/…/domains.csv` is `GET /v1/…/domains` with `Accept: text/csv`: `Suffixes` takes the ending off before routes
are looked up, so that every route has both. A data route takes `form: TableFormat` and gives `table_answer(…)` of
`mixture.api.answers.tables`; a route that has JSON only has `JsonOnly` among its dependencies and gives
`json_answer(…)`, or a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mixture.api.answers.lists import Listed, link
from mixture.api.middleware import (
    Freshness,
    Lifetime,
    address_of,
    not_acceptable,
    not_modified,
    own_path,
    required,
    tag_of,
)


class Format(Enum):
    """A format that tables are given in: its media type, which is also what `Accept` names."""

    JSON = "application/json"
    CSV = "text/csv"
    PARQUET = "application/vnd.apache.parquet"
    ARROW = "application/vnd.apache.arrow.stream"

    @property
    def suffix(self) -> str:
        """The ending of an address that asks for it."""
        return f".{self.name.lower()}"


_BY_SUFFIX = {form.suffix: form for form in Format}
LISTS = ("/mixtures", "/catalogs", "/runs")
"""Addresses that people try where the first page has it all."""
PREFIXES = ("/v1/", "/index.", *(start + end for start in LISTS for end in "./"))
"""Addresses that have forms: those of data, and those of pages."""


_DOMAIN = re.compile(r"/v1/catalogs/[^/]+/domains/")


class Suffixes:
    """Middleware: takes `.json`, `.csv`, `.parquet` or `.arrow` off addresses and keeps what it asks for.

    In the request's state: `format` (or None), and `asked_path`, the path as it came.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Only what is read has forms: taken off a name that is written to, an ending would write to another name.
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if is_read and own_path(scope).startswith(PREFIXES):
            path: str = scope["path"]
            stem, dot, ending = path.rpartition(".")
            # What stands behind /domains/ may be the name of a domain, such as `stack.json`, and there is JSON only.
            form = _BY_SUFFIX.get(f".{ending}") if dot and not _DOMAIN.match(own_path(scope)) else None
            # In place: what stands around this sees the same scope, and later the route in it.
            scope.setdefault("state", {}).update(format=form, asked_path=path)
            if form is not None:
                scope["path"] = stem
        await self.app(scope, receive, send)


def asked_format(request: Request) -> Format:
    """The best of the formats that the request takes; JSON where all are the same to it.

    Raises Problem 406 `not-acceptable` where it takes none.
    """
    form: Format | None = request.scope.get("state", {}).get("format")
    return form or Format(required(request.headers.get("accept"), [one.value for one in Format]))


def asks_for_table(request: Request) -> bool:
    """Whether the answer is a table. Raises as `asked_format` does."""
    return asked_format(request) is not Format.JSON


def only(kind: str) -> Any:  # noqa: ANN401 what Depends gives
    """For `dependencies=[only("application/yaml")]` of routes that answer in one kind only, and have no endings.

    Raises Problem 406 `not-acceptable`.
    """

    async def check(request: Request) -> None:
        form: Format | None = request.scope.get("state", {}).get("format")
        if form is not None and form.value != kind:
            raise not_acceptable(f"there is no {form.suffix} of this", [kind])
        if form is None:
            required(request.headers.get("accept"), [kind])

    return Depends(check)


async def _table_format(request: Request) -> Format:
    return asked_format(request)


TableFormat = Annotated[Format, Depends(_table_format)]
"""The format that a data route answers in."""

JsonOnly = only(Format.JSON.value)
"""For `dependencies=[JsonOnly]` of routes that answer in JSON only."""


def json_answer(
    request: Request, *, of: str, lifetime: Lifetime, make: Callable[[], object], tag: str | None = None
) -> Response:
    """A JSON value (or pydantic model), or 304; of a list, Link leads to its next page.

    tag: the entity tag where it is not made of `of` and the address
    """
    fresh = Freshness(tag or tag_of(of, address_of(request)), lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    made = make()
    headers = fresh.headers(request) | (link(made.next_url) if isinstance(made, Listed) else {})
    return Response(json_bytes(made), headers=headers, media_type=Format.JSON.value)


def text_answer(request: Request, text: str, *, of: str, lifetime: Lifetime, media_type: str) -> Response:
    """A text as it is, or 304."""
    fresh = Freshness(tag_of(of, address_of(request)), lifetime)
    known = not_modified(request, fresh)
    return known or Response(text.encode(), headers=fresh.headers(request), media_type=media_type)


def json_bytes(value: object) -> bytes:
    """JSON as the command line prints it: integers exact, names as they are. A model by the aliases of its fields."""
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True).encode()
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "The client has this answer already."}}
"""For `responses=` of a route whose answer has an entity tag; the description then says so of its headers."""
