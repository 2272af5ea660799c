"""Sequences of a step as the page shows them, with the documents that each reads from, but not their text."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from mixture.api.figures import PARTS, read_sequences
from mixture.api.middleware import Problem
from mixture.data.layout import attribute_text
from mixture.data.store import Store
from mixture.errors import MixtureError
from mixture.schedule import Schedule
from mixture.stream import Masks, slot_rank

SCHEMES = ("http://", "https://")
"""What an attribute begins with to be a link: anything else in its place, such as a script, stays text."""


class StoreState(StrEnum):
    """Whether documents could be looked up."""

    THERE = "there"
    NONE = "none"
    UNREADABLE = "unreadable"


class Attribute(BaseModel):
    """An attribute of a document."""

    model_config = ConfigDict(frozen=True)

    name: str
    value: str

    @property
    def is_link(self) -> bool:
        """Whether it is the address of a web page."""
        return self.value.lower().startswith(SCHEMES)


class DocumentLine(BaseModel):
    """A document that a sequence reads from; first_token: where it begins in the domain's storage.

    from_token, to_token: the part of it that the sequence reads, counted from its first
    masked_tokens: how many of its tokens are taken down at this step
    """

    model_config = ConfigDict(frozen=True)

    id: str
    first_token: int
    tokens: int
    attributes: tuple[Attribute, ...]
    from_token: int
    to_token: int
    masked_tokens: int

    @property
    def is_whole(self) -> bool:
        """Whether the sequence reads all of it."""
        return self.to_token - self.from_token == self.tokens


class SequenceLine(BaseModel):
    """A sequence of a step; rank: who reads it, where a number of ranks is given; documents: None where there is no
    store."""

    model_config = ConfigDict(frozen=True)

    slot: int
    position: int
    rank: int | None
    domain: str
    epoch: int
    draw: int
    sequence: int
    first_token: int
    tokens: int
    documents: tuple[DocumentLine, ...] | None


def sequence_lines(
    schedule: Schedule, step: int, slots: range, store: Store | None, masks: Masks | None, world_size: int | None
) -> tuple[list[SequenceLine], StoreState]:
    """Slots of a step, fewer where they have very many documents. A store that can not be read now counts as none."""
    size = schedule.batch_of(step)
    state = StoreState.NONE if store is None else StoreState.THERE
    try:
        rows = read_sequences(schedule, step, slots, store, masks)
    except (MixtureError, Problem):
        rows, state = read_sequences(schedule, step, slots, None, masks), StoreState.UNREADABLE
    columns = set(SequenceLine.model_fields) - {"rank", "documents"}
    lines = [
        SequenceLine(
            **{name: row[name] for name in columns},
            rank=None if world_size is None else slot_rank(size, row["slot"], world_size),
            documents=None
            if row["documents"] is None
            else tuple(_document(one, is_masked=masks is not None) for one in row["documents"]),
        )
        for row in rows
    ]
    return lines, state


def _document(row: Mapping[str, Any], *, is_masked: bool) -> DocumentLine:
    own = ("id", "first_token", "tokens", *PARTS)
    said = dict(row)
    masked = said.pop("masked_tokens") if is_masked else 0
    texts = ((name, attribute_text(value)) for name, value in said.items() if name not in own)
    attributes = (Attribute(name=name, value=text) for name, text in texts if text)
    return DocumentLine(**{name: row[name] for name in own}, attributes=tuple(attributes), masked_tokens=masked)
