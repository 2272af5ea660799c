"""What requests may send: every body is a `RequestBody`, strict about its fields and about numbers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class RequestBody(BaseModel):
    """A JSON body. An unknown field is refused, and so is NaN, Infinity or 1e999 where a number stands, by name.

    Python's JSON reader takes those for numbers, which JSON does not have; kept, they would come out as answers that no
    other reader takes.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
