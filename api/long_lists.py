"""Lists that are long, or asked for often.

pydantic writes JSON an order of magnitude faster than `json` does. A table of any length is made, written and sent in
chunks: one of them is in memory, however slow the client is.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.to_thread
import pyarrow as pa
from anyio.lowlevel import RunVar
from fastapi import Request
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from api.caching import Freshness, Lifetime, not_modified, tag_of
from api.formats import Format
from api.limits import StreamPlaces, client_of

if TYPE_CHECKING:
    from typing_extensions import Buffer


MAKERS = 2
"""Pieces of long tables that are made at a time. Each takes some 25 MB while it is made."""
JSON_ROWS = 1 << 12
"""Rows of a piece of JSON: while it is written, the interpreter is not let go (2 ms)."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("makers of long tables")


class Listed(BaseModel):
    """A list as it is answered, its items plain values."""

    items: list[Any]
    next: str | None = None
    next_url: str | None = None


class _Writer(Protocol):
    """What writes a table to a sink, record batch by record batch."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


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
    fresh = Freshness(tag_of(of, f"{request.scope['path']}?{request.url.query}", form.value), lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    pieces, headers = _pieces(form, schema, chunks), fresh.headers(request)
    if places is None:
        return Response(b"".join(pieces), headers=headers, media_type=form.value)
    return _Sent(pieces, places, headers=headers, media_type=form.value)


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
    while (piece := await anyio.to_thread.run_sync(next, pieces, None, limiter=_makers())) is not None:
        yield piece


def _makers() -> anyio.CapacityLimiter:
    """Of this event loop."""
    try:
        return _limiter.get()
    except LookupError:
        made = anyio.CapacityLimiter(MAKERS)
        _limiter.set(made)
        return made


def _pieces(form: Format, schema: pa.Schema, chunks: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """The table as bytes: a piece for each chunk, more in JSON, with what stands before and behind them."""
    sink = _Sink()
    writer = _writer(form, sink, schema)
    for chunk in chunks:
        size = JSON_ROWS if form is Format.JSON else max(1, chunk.num_rows)
        for start in range(0, chunk.num_rows, size):
            writer.write_batch(chunk.slice(start, size))
            yield sink.taken()
    writer.close()
    yield sink.taken()


def _writer(form: Format, sink: _Sink, schema: pa.Schema) -> _Writer:
    made: _Writer
    match form:
        case Format.JSON:
            made = _JsonWriter(sink)
        case Format.CSV:
            made = _CsvWriter(sink, schema)
        case Format.PARQUET:
            import pyarrow.parquet as pq

            made = pq.ParquetWriter(sink, schema, compression="zstd")
        case Format.ARROW:
            made = pa.ipc.new_stream(sink, schema)
    return made


class _Sink(io.RawIOBase):
    """A file to write to; what was written is taken out of it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Buffer) -> int:
        self._parts.append(bytes(data))
        self._written += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """What was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _plain(column: pa.Array[Any]) -> pa.Array[Any]:
    """The column with its dictionary written out."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


class _JsonWriter:
    """`{items, next, next_url}`, as all lists are; rows of plain columns."""

    def __init__(self, sink: _Sink) -> None:
        self._sink, self._between = sink, b'{"items":['

    def write_batch(self, batch: pa.RecordBatch) -> None:
        names = batch.schema.names
        columns = (_plain(column).to_pylist() for column in batch.columns)
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        if rows:
            self._sink.write(self._between + to_json(rows, inf_nan_mode="null")[1:-1])
            self._between = b","

    def close(self) -> None:
        self._sink.write((self._between if self._between != b"," else b"") + b'],"next":null,"next_url":null}')


class _CsvWriter:
    """CSV has no dictionaries."""

    def __init__(self, sink: _Sink, schema: pa.Schema) -> None:
        from pyarrow import csv

        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in schema.types]
        self._schema = pa.schema(list(zip(schema.names, kinds, strict=True)))
        self._writer = csv.CSVWriter(sink, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(pa.record_batch([_plain(column) for column in batch.columns], schema=self._schema))

    def close(self) -> None:
        self._writer.close()
