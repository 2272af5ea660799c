"""One table, four formats: JSON, CSV, Parquet, Arrow stream; by `Accept`, or by the ending of the address.

`GET /v1/…/domains.csv` is `GET /v1/…/domains` with `Accept: text/csv`: `Suffixes` takes the ending off before routes
are looked up, so that every route has both. A data route takes `form: TableFormat` and gives `table_answer(…)`; a route
that has JSON only has `JsonOnly` among its dependencies and gives `json_answer(…)`, or a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pyarrow as pa
from fastapi import Depends, Request
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.accept import not_acceptable, required
from api.caching import Freshness, Lifetime, not_modified, tag_of
from api.lists import link, next_url


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
PREFIXES = ("/v1/", "/index.", "/mixtures/", "/catalogs/", "/runs/")
"""Addresses that have forms: those of data, and those of pages."""


class Suffixes:
    """Middleware: takes `.json`, `.csv`, `.parquet` or `.arrow` off addresses and keeps what it asks for.

    In the request's state: `format` (or None), and `asked_path`, the path as it came.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Only what is read has forms: taken off a name that is written to, an ending would write to another name.
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"].startswith(PREFIXES):
            path: str = scope["path"]
            stem, dot, ending = path.rpartition(".")
            form = _BY_SUFFIX.get(f".{ending}") if dot else None
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


@dataclass(frozen=True, slots=True)
class TablePart:
    """A table to be answered: one page of it, the cursor of the next (None on the last), and what else JSON says."""

    table: pa.Table
    next: str | None = None
    beside: Mapping[str, object] = field(default_factory=dict)


def table_answer(
    request: Request, form: Format, *, of: str, lifetime: Lifetime, make: Callable[[], TablePart | pa.Table]
) -> Response:
    """A table in the format asked for, or 304 before any of it is worked out.

    of:   what the address leads to, such as a lock's digest: with path, query and format it makes the entity tag
    make: works the table out. In JSON it is a list, `{items, next, next_url}` with what stands `beside`; in all formats
          the next page is in the Link header.
    """
    fresh = Freshness(tag_of(of, _address(request), form.value), lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    made = make()
    part = made if isinstance(made, TablePart) else TablePart(made)
    url = next_url(request, part.next)
    headers = fresh.headers(request) | link(url)
    if form is Format.JSON:
        return Response(_json_page(part, url), headers=headers, media_type=form.value)
    return Response(table_bytes(form, part.table), headers=headers, media_type=form.value)


def json_answer(
    request: Request,
    *,
    of: str,
    lifetime: Lifetime,
    make: Callable[[], object],
    tag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A JSON value (or pydantic model), or 304. tag: the entity tag where it is not made of `of` and the address."""
    fresh = Freshness(tag or tag_of(of, _address(request)), lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    return Response(
        json_bytes(make()), headers=fresh.headers(request) | dict(headers or {}), media_type=Format.JSON.value
    )


def text_answer(request: Request, text: str, *, of: str, lifetime: Lifetime, media_type: str) -> Response:
    """A text as it is, or 304."""
    fresh = Freshness(tag_of(of, _address(request)), lifetime)
    known = not_modified(request, fresh)
    return known or Response(text.encode(), headers=fresh.headers(request), media_type=media_type)


def json_bytes(value: object) -> bytes:
    """JSON as the command line prints it: integers exact, names as they are. A model by the aliases of its fields."""
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True).encode()
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _address(request: Request) -> str:
    return f"{request.scope['path']}?{request.url.query}"


def _json_page(part: TablePart, url: str | None) -> bytes:
    beside = "".join(f",{json.dumps(name)}:{json_bytes(value).decode()}" for name, value in part.beside.items())
    ends = f'"next":{json.dumps(part.next)},"next_url":{json.dumps(url)}'
    return b'{"items":' + _json_rows(part.table) + f",{ends}{beside}}}".encode()


def _json_rows(table: pa.Table) -> bytes:
    """The rows as a list of JSON objects; integers and decimals exact, what is not a number null."""
    if not any(map(pa.types.is_decimal, table.schema.types)):
        return to_json(table.to_pylist(), inf_nan_mode="null")
    # pydantic, seven times as fast, writes decimals as text.
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    columns = [map(_json_cell, column.to_pylist()) for column in table.columns]
    rows = (
        ",".join(f"{name}:{cell}" for name, cell in zip(names, row, strict=True)) for row in zip(*columns, strict=True)
    )
    return f"[{','.join(f'{{{row}}}' for row in rows)}]".encode()


def _json_cell(cell: object) -> str:
    if isinstance(cell, Decimal):
        return f"{cell:f}" if cell.is_finite() else "null"
    return to_json(cell, inf_nan_mode="null").decode()


def _bytes(sink: pa.BufferOutputStream) -> bytes:
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _csv(table: pa.Table) -> bytes:
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(_plain_columns(table), sink)
    return _bytes(sink)


def _plain_columns(table: pa.Table) -> pa.Table:
    """The table with dictionaries written out: CSV has none."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return _bytes(sink)


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return _bytes(sink)


_WRITERS: Mapping[Format, Callable[[pa.Table], bytes]] = {
    Format.CSV: _csv,
    Format.PARQUET: _parquet,
    Format.ARROW: _arrow,
}


def table_bytes(form: Format, table: pa.Table) -> bytes:
    """A table as a file of a format that is not JSON."""
    return _WRITERS[form](table)


NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "The client has this answer already."}}
"""For `responses=` of a route whose answer has an entity tag; the description then says so of its headers."""


def table_responses(model: type[BaseModel], example: str) -> dict[int | str, dict[str, Any]]:
    """What a data route says of its answers in OpenAPI: the model of its JSON, and the other formats.

    example: the first lines of its CSV
    """
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {
            "model": model,
            "description": "The rows; `Link` leads to the next page.",
            "content": {
                Format.CSV.value: {"schema": {"type": "string"}, "example": example},
                Format.PARQUET.value: binary,
                Format.ARROW.value: binary,
            },
        },
        **NOT_MODIFIED,
    }
