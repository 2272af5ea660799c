"""What requests may send: every body is a `RequestBody`, strict about its fields and about numbers."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict

from api.problems import Problem
from mixture.names import odd_character

LONGEST_SHOWN = 100


def _visible(text: str) -> str:
    odd = odd_character(text)
    if odd is not None:
        raise ValueError(f"it holds the control character {odd!r}")
    return text


VisibleText = Annotated[str, AfterValidator(_visible)]
"""A text on one line that people can see: a name, a key."""


class RequestBody(BaseModel):
    """A JSON body. An unknown field is refused, and so is NaN, Infinity or 1e999 where a number stands, by name.

    Python's JSON reader takes those for numbers, which JSON does not have; kept, they would come out as answers that no
    other reader takes.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class StrictRequest(Request):
    """A request whose JSON has each key of an object once: of two, readers take one or the other."""

    async def json(self) -> Any:  # noqa: ANN401 JSON
        """The body's value. Raises Problem 422 where a key stands twice, and JSONDecodeError."""
        return json.loads(await self.body(), object_pairs_hook=_each_once)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in made if keys.count(key) > 1)[:LONGEST_SHOWN]
        detail = f"the key {twice!r} stands more than once in an object"
        raise Problem(422, detail, errors=[{"in": "body", "detail": detail}], facts={"key": twice})
    return made
