"""What requests may send: every body is a `RequestBody`, strict about its fields and about numbers.

Bodies are decoded and checked in threads of their own, in linear time: a large or an odd one keeps nobody waiting.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any, cast

import anyio.to_thread
from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from starlette.responses import Response
from starlette.types import Message

from mixture.api.middleware import InvalidBodyError, Problem, Work, first_errors, threads_of
from mixture.json_text import JsonError, parse_json
from mixture.names import is_blank, odd_character

LONGEST_SHOWN = 100
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""One that is not closed goes to the end: else each quote within it would begin another search."""


def _visible(text: str) -> str:
    odd = odd_character(text)
    if odd is not None:
        raise ValueError(f"it holds the control character {odd!r}")
    if is_blank(text):
        raise ValueError("it has no visible character")
    return text


VisibleText = Annotated[str, AfterValidator(_visible)]
"""A text on one line that people can see: a name, a key."""


class RequestBody(BaseModel):
    """A JSON body. An unknown field is refused, and so is NaN, Infinity or 1e999 where a number stands, by name.

    Python's JSON reader takes those for numbers, which JSON does not have; kept, they would come out as answers that no
    other reader takes.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class BodyRoute(APIRoute):
    """The class of every route that takes a body, which is read before its function is called.

    most_body_bytes: where less is taken than the service takes at all
    most_body_texts: names and values; a body with more is not decoded, which would take the interpreter from the loop
        for a tenth of a second
    """

    most_body_bytes: int | None = None
    most_body_texts: int | None = None
    most_body_values: int = 500_000
    """Names and values outside of texts: decoding millions of them takes seconds, and gigabytes."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of a request. Raises what `turn` does."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def in_turn(asked: Request) -> Response:
            request = BodyRequest(asked.scope, asked.receive)
            async with self.turn(request):
                return await handle(request)

        return in_turn

    @asynccontextmanager
    async def turn(self, request: BodyRequest) -> AsyncIterator[None]:
        """Read a request's body; what is around its function may then do more. Raises what `read` does."""
        await request.read(self)
        yield


class BodyRequest(Request):
    """A request that has its body decoded and checked before FastAPI asks for its JSON."""

    async def read(self, route: APIRoute) -> None:
        """Read the body that a route takes.

        Raises InvalidBodyError (422), and Problem: 413 where the body is larger than the route takes, 422 where an
        object in it has a key twice.
        """
        assert isinstance(route, BodyRoute)
        body = await self._whole(route.most_body_bytes)
        most, most_values = route.most_body_texts, route.most_body_values
        if most is not None and body.count(b'"') > 2 * most:
            raise _too_many(f"{most:,} texts", "names and values")
        if not await anyio.to_thread.run_sync(_has_few, body, most_values, limiter=threads_of(Work.BODIES)):
            raise _too_many(f"{most_values:,} values", "names counted")
        if body:
            assert route.body_field is not None
            model = cast(type[BaseModel], route.body_field.field_info.annotation)
            # FastAPI takes an instance of the model as it is.
            self._json = await anyio.to_thread.run_sync(_decoded, body, model, limiter=threads_of(Work.BODIES))

    async def _whole(self, most: int | None) -> bytes:
        if most is None or hasattr(self, "_body"):
            return await self.body()
        taken, receive = 0, self._receive

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise Problem(413, f"a body has at most {most:,} bytes here", facts={"max_body_bytes": most})
            return message

        self._receive = bounded
        return await self.body()


def _too_many(most: str, counted: str) -> Problem:
    detail = f"a body has at most {most} here, {counted}"
    return Problem(422, detail, errors=[{"in": "body", "detail": detail}])


def _has_few(body: bytes, most: int) -> bool:
    """Whether a body has no more names and values than that; what is within texts does not count."""
    return _marks(body) <= most or _marks(_TEXT.sub(b"", body)) <= most


def _marks(body: bytes) -> int:
    return sum(body.count(mark) for mark in (b",", b":", b"[", b"{"))


def _decoded(body: bytes, model: type[BaseModel]) -> BaseModel:
    try:
        return model.model_validate(parse_json(body.removeprefix(BOM_UTF8)))
    except ValidationError as error:
        errors = [{**one, "loc": ("body", *one["loc"])} for one in first_errors(error)]
        raise InvalidBodyError(errors, error.error_count()) from error
    except JsonError as error:
        if error.key is None:
            reason = {"type": "json_invalid", "loc": ("body",), "ctx": {"error": error.reason}}
            raise InvalidBodyError([reason], 1) from error
        key = error.key[:LONGEST_SHOWN]
        detail = f"the key {key!r} is given more than once in an object"
        raise Problem(422, detail, errors=[{"in": "body", "detail": detail}], facts={"key": key}) from error
