"""What requests may send: every body is a `RequestBody`, strict about its fields and about numbers."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from mixture.names import odd_character


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
