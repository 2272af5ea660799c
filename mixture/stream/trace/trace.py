"""Forwards: what a step of a run reads, sequence by sequence, with the documents and the parts of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mixture.data.layout import PADDING, Attribute, attribute_value
from mixture.data.store import Store, require_agreement
from mixture.lock import Lock
from mixture.schedule import Rows, Schedule
from mixture.stream.masks import Masks, masks_for
from mixture.stream.ranks import check_rank, rank_slots

AT_ONCE = 1 << 9
"""Sequences whose documents are looked up together: a row group that several of them need is read once."""
PLACE = ("domain", "id", "first_token", "tokens")


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the store has it. first_token: where it begins in the domain; tokens: its end counted in.

    attributes: as JSON has them: numbers are numbers
    """

    domain: str
    id: str
    first_token: int
    tokens: int
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """The tokens of a document that a sequence reads: from `from_token` up to `to_token`, counted from its first.

    masked_tokens: how many of them the stream hides, since they were taken down before
    """

    document: StoredDocument
    from_token: int
    to_token: int
    masked_tokens: int

    @property
    def is_down(self) -> bool:
        """Whether nothing is read of the text: all of it was taken down, but for the document's end."""
        end = self.to_token - (self.to_token == self.document.tokens)
        return 0 < self.masked_tokens >= end - self.from_token


@dataclass(frozen=True, slots=True)
class TracedSequence:
    """A sequence at its place in the run, and what it reads, in order. first_token: where it begins in the domain."""

    position: int
    slot: int
    domain: str
    draw: int
    epoch: int
    sequence: int
    first_token: int
    tokens: int
    documents: tuple[DocumentPart, ...]

    @property
    def masked_tokens(self) -> int:
        """How many of its tokens the stream hides at the step."""
        return sum(part.masked_tokens for part in self.documents)


def trace_step(lock: Lock, store: Store, step: int, *, rank: int = 0, world_size: int = 1) -> Iterator[TracedSequence]:
    """What a step reads, or a rank's slots of it, in order; looked up when asked for, some hundred at a time.

    Errors: ScheduleError `step-out-of-range`; StreamError `rank-invalid`; StoreError where the store is not the lock's
    or can not be read.
    """
    check_rank(rank, world_size)
    require_agreement(store, lock)
    schedule = lock.schedule()
    slots = rank_slots(schedule.batch_of(step), rank, world_size)
    masks = masks_for(lock)
    return (one for rows in schedule.step_rows(step, 1, slots) for one in _traced(schedule, store, masks, step, rows))


def _traced(schedule: Schedule, store: Store, masks: Masks | None, step: int, rows: Rows) -> Iterator[TracedSequence]:
    first = schedule.positions_before(step)
    for start in range(0, len(rows), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        places = rows.domain[part], rows.first_token[part]
        held = parts_read(store, schedule.names, *places, schedule.length_of(step), step=step, masks=masks)
        columns = (rows.position, rows.domain, rows.draw, rows.epoch, rows.sequence, rows.first_token, rows.tokens)
        of_rows = zip(*(column[part].tolist() for column in columns), strict=True)
        for (position, d, draw, epoch, sequence, first_token, tokens), documents in zip(of_rows, held, strict=True):
            yield TracedSequence(
                position=position,
                slot=position - first,
                domain=schedule.names[d],
                draw=draw,
                epoch=epoch,
                sequence=sequence,
                first_token=first_token,
                tokens=tokens,
                documents=documents,
            )


def parts_read(
    store: Store,
    names: Sequence[str],
    domain: npt.NDArray[np.integer],
    first_token: npt.NDArray[np.int64],
    length: int,
    *,
    step: int,
    masks: Masks | None,
) -> list[tuple[DocumentPart, ...]]:
    """The parts of documents that rows [n] of `length` tokens read, of each row in order.

    domain [n] numbers `names`, of which the store may lack those that no row is of; masks: what is hidden at the step.
    Errors: StoreError.
    """
    used, number = np.unique(domain, return_inverse=True)
    known = [names[d] for d in used.tolist()]
    spans = store.spans(known, number, first_token, length)
    begin = np.roll(spans.end, 1)
    begin[spans.offsets[:-1]] = 0
    held = spans.document != PADDING
    row = np.repeat(np.arange(len(first_token)), np.diff(spans.offsets))[held]
    table = store.documents_at(known, number[row], spans.document[held])
    documents = stored_documents(table.to_pylist())
    ahead = first_token[row] - table["first_token"].to_numpy()
    read = spans.end[held] - begin[held]
    down = np.zeros(len(read), np.int64)
    if masks is not None:
        for n, name in enumerate(known):
            of = number[row] == n
            down[of] = masks.count(step, name, first_token[row[of]] + begin[held][of], read[of])
    columns = ((ahead + begin[held]).tolist(), (ahead + spans.end[held]).tolist(), down.tolist())
    parts = [DocumentPart(document, *of) for document, *of in zip(documents, *columns, strict=True)]
    bounds = np.concatenate([[0], np.cumsum(held)])[spans.offsets].tolist()
    return [tuple(parts[a:b]) for a, b in pairwise(bounds)]


def stored_documents(rows: Sequence[Mapping[str, Any]]) -> list[StoredDocument]:
    """Documents of rows of the store's table."""
    return [
        StoredDocument(
            domain=row["domain"],
            id=row["id"],
            first_token=row["first_token"],
            tokens=row["tokens"],
            attributes={name: attribute_value(value) for name, value in row.items() if name not in PLACE},
        )
        for row in rows
    ]
