"""Tables as answers: whole, a page of them, or as they are made.

A table of any length is made, written and sent in chunks: one of them is in memory, however slow the client is.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import anyio.to_thread
import pyarrow as pa
from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mixture.api.answers.formats import NOT_MODIFIED, Format, json_answer, json_bytes
from mixture.api.answers.lists import Listed, link, next_url
from mixture.api.answers.table_writers import table_bytes, table_pieces
from mixture.api.middleware import (
    PARTS,
    Freshness,
    Lifetime,
    Problem,
    StreamPlaces,
    TooLongForPartsError,
    Whole,
    Work,
    address_of,
    asks_for_parts,
    client_of,
    joined,
    not_modified,
    ranged_answer,
    tag_of,
    threads_of,
)

WHOLE_ROWS = 1 << 14
"""A table of more rows is sent in chunks of so many."""


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
    fresh = _freshness(request, form, of, lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known

    def whole() -> Whole:
        made = make()
        part = made if isinstance(made, TablePart) else TablePart(made)
        url = next_url(request, part.next)
        beside = "".join(f",{json.dumps(name)}:{json_bytes(value).decode()}" for name, value in part.beside.items())
        ends = f'"next":{json.dumps(part.next)},"next_url":{json.dumps(url)}{beside}'.encode()
        return Whole(table_bytes(form, part.table, ends=ends), link(url))

    return ranged_answer(request, fresh, whole, headers=fresh.headers(request), media_type=form.value)


def whole_answer(
    request: Request, form: Format, *, of: str, lifetime: Lifetime, make: Callable[[], TablePart]
) -> Response:
    """All rows of a table that is in memory, or 304: a long table is sent in chunks.

    Raises Problem 422 `too-many-rows`: a table is never cut.
    """
    services = request.app.state.services

    def table() -> pa.Table:
        made = make().table
        check_rows(made.num_rows, most=services.settings.max_rows)
        return made

    fresh = _freshness(request, form, of, lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    if asks_for_parts(request):  # made once for all of its parts
        return table_answer(request, form, of=of, lifetime=lifetime, make=table)
    rows = table()
    return chunked_answer(
        request,
        form,
        of=of,
        lifetime=lifetime,
        schema=rows.schema,
        chunks=rows.to_batches(max_chunksize=WHOLE_ROWS),
        places=services.streams if rows.num_rows > WHOLE_ROWS else None,
    )


def check_rows(rows: int, *, most: int) -> None:
    """Raise Problem 422, `too-many-rows`, for a table with more rows than one answer may have."""
    if rows > most:
        detail = f"the table has {rows:,} rows, more than {most:,}"
        hint = "request pages: limit=1000, then the address in each Link header"
        raise Problem(422, detail, code="too-many-rows", hint=hint, facts={"rows": rows, "max_rows": most})


def list_answer(
    request: Request,
    form: Format,
    *,
    of: str,
    lifetime: Lifetime,
    make: Callable[[], Listed],
    table: Callable[[list[Any]], pa.Table],
) -> Response:
    """A list whose items are no rows of a table, or 304: JSON as it is, in other formats what `table` makes of a page.

    of: as `table_answer` has it
    """
    if form is Format.JSON:
        return json_answer(request, of=of, lifetime=lifetime, make=make)

    def part() -> TablePart:
        made = make()
        return TablePart(table(made.items), made.next)

    return table_answer(request, form, of=of, lifetime=lifetime, make=part)


def chunked_answer(
    request: Request,
    form: Format,
    *,
    of: str,
    lifetime: Lifetime,
    schema: pa.Schema,
    chunks: Iterable[pa.RecordBatch],
    places: StreamPlaces | None,
) -> Response:
    """A table in the format asked for, or 304 before any of it is worked out.

    of:     what the address leads to, such as a lock's digest
    chunks: the table, each part made when the one before was sent
    places: where the table is long: it is sent as it is made, and takes a place among the client's streams meanwhile.
            None: it is answered whole
    """
    fresh = _freshness(request, form, of, lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    pieces, headers = table_pieces(form, schema, chunks), fresh.headers(request)
    if places is None:
        return ranged_answer(request, fresh, lambda: Whole(b"".join(pieces)), headers=headers, media_type=form.value)
    if asks_for_parts(request):
        taken: list[bytes] = []

        def whole() -> Whole:
            with places.place(client_of(request.scope)):
                return joined(pieces, taken)

        try:
            return ranged_answer(request, fresh, whole, headers=headers, media_type=form.value)
        except TooLongForPartsError:
            pieces = chain(taken, pieces)
    return _Sent(pieces, places, headers=headers, media_type=form.value)


def _freshness(request: Request, form: Format, of: str, lifetime: Lifetime) -> Freshness:
    """The tag stands for the bytes, of which parts may be asked for: another version of Arrow may write others."""
    return Freshness(tag_of(of, address_of(request), form.value, pa.__version__), lifetime)


class _Sent(StreamingResponse):
    """Pieces sent as they are made. Raises Problem 429 or 503 where too many are sent to the client, or to all."""

    def __init__(
        self, pieces: Iterator[bytes], places: StreamPlaces, *, headers: dict[str, str], media_type: str
    ) -> None:
        super().__init__(_made_in_turn(pieces), headers=headers, media_type=media_type)
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._places.place(client_of(scope)):
            await super().__call__(scope, receive, send)


async def _made_in_turn(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await anyio.to_thread.run_sync(next, pieces, None, limiter=threads_of(Work.TABLES))) is not None:
        yield piece


def table_responses(model: type[object], example: str) -> dict[int | str, dict[str, Any]]:
    """What a data route says of its answers in OpenAPI: the model of its JSON, and the other formats.

    example: the first lines of its CSV
    """
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {
            "model": model,
            "description": "The rows; `Link` leads to the next page, where the answer is one.",
            "content": {
                Format.CSV.value: {"schema": {"type": "string"}, "example": example},
                Format.PARQUET.value: binary,
                Format.ARROW.value: binary,
            },
        },
        **PARTS,
        **NOT_MODIFIED,
    }
