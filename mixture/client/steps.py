"""Whole steps out of what a service sends: a step is given when all of it is there, in its place, and undamaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from mixture.client.body import Body
from mixture.client.service import InterruptedRequestError
from mixture.data.layout import Spans
from mixture.errors import StreamError
from mixture.schedule import Schedule
from mixture.stream import Batch, Checksum, End, Key, Masks, StreamOptions, arrow_schema, rank_slots


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come: the metadata of the schema, the names of domains, the dtype of tokens, and of which rows what.

    masks: the lock's, whose text must be hidden under the id `hidden`; None where it has none
    """

    metadata: Mapping[str, str]
    schedule: Schedule
    dtype: np.dtype[np.unsignedinteger]
    options: StreamOptions
    masks: Masks | None
    hidden: int


def read_steps(body: Body, expected: Expected, steps: range) -> Iterator[Batch]:
    """The steps of a body, which are followed by an ending that says that all of them are there.

    Raises InterruptedRequestError where the body is cut, damaged, or ends in another way: what was not given by then is
    to be asked for again. Raises StreamError `lock-differs`, `content-differs` where it is of another run.
    """
    names = pa.array(expected.schedule.names, pa.string())
    step = steps.start
    try:
        reader = pa.ipc.open_stream(pa.PythonFile(body, mode="r"))
        _check_run(reader.schema, expected)
        rows: _Rows | None = None
        while True:
            record, said = _next(reader)
            if Key.END in said:
                if step == steps.stop and said[Key.END] == End.COMPLETE and said.get(Key.NEXT_STEP) == str(step):
                    return
                raise InterruptedRequestError(_broken_off(step, said))
            if rows is None:
                if step == steps.stop:
                    raise InterruptedRequestError(f"the service sends more than the steps before {step:,}")
                rows = _Rows(expected, step)
            rows.add(record, names)
            del record  # its memory is that of the next one
            if Key.CHECKSUM in said:
                yield rows.whole(said)
                step, rows = step + 1, None
    except (pa.ArrowInvalid, pa.ArrowException, EOFError) as error:
        raise InterruptedRequestError(f"step {step:,} did not arrive as Arrow has it: {error}") from error


def _broken_off(step: int, said: Mapping[str, str]) -> str:
    """Why a body ends before its last step, or behind another."""
    match said[Key.END]:
        case End.STOPPING:
            return f"the service is ending, before step {step}"
        case End.FAILED:
            return f"the service could not read step {step}" + (f": {said[Key.CODE]}" if Key.CODE in said else "")
        case other:
            return f"the service ends before step {step}, and says {other!r}, next {said.get(Key.NEXT_STEP)!r}"


def _next(reader: pa.RecordBatchReader) -> tuple[pa.RecordBatch, dict[str, str]]:
    try:
        record, metadata = reader.read_next_batch_with_custom_metadata()
    except StopIteration:
        raise InterruptedRequestError("the body was cut between two record batches") from None
    record.validate(full=True)
    return record, {key.decode(): value.decode() for key, value in (metadata or {}).items()}


def _check_run(schema: pa.Schema, expected: Expected) -> None:
    said = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    for key, value in expected.metadata.items():
        found = said.get(key)
        if found != value:
            raise StreamError(
                f"the service now serves another run: {key} is {found}, and this stream's is {value}",
                code="content-differs" if key == Key.CONTENT else "lock-differs",
                hint="open the stream anew and load its state: it goes on where what was read before is the same",
                found=found,
                expected=value,
            )
    is_masked = expected.masks is not None
    if not schema.equals(arrow_schema(expected.dtype, documents=expected.options.documents, masked=is_masked)):
        raise StreamError(f"the service sends other columns: {schema.names}", code="answer-invalid")


class _Rows:
    """The rows of a step, as far as they have come."""

    def __init__(self, expected: Expected, step: int) -> None:
        schedule, options = expected.schedule, expected.options
        self._expected = expected
        slots = rank_slots(schedule.batch_of(step), options.rank, options.world_size)
        n, width = len(slots), schedule.length_of(step) + options.next_token
        self._first_position = schedule.positions_before(step) + slots.start
        self._batch = Batch(
            step=step,
            input_ids=np.empty((n, width), expected.dtype),
            domain=np.empty(n, np.int32),
            position=np.empty(n, np.int64),
            epoch=np.empty(n, np.int64),
            first_token=np.empty(n, np.int64),
            masked=None if expected.masks is None else np.empty((n, width), np.bool_),
            next_token=options.next_token,
        )
        self._spans: list[Spans] | None = [] if options.documents else None
        self._there = 0
        self._checksum = Checksum()

    def add(self, record: pa.RecordBatch, names: pa.Array) -> None:
        """Copy the next rows in. Raises InterruptedRequestError where a record batch can not be the next rows."""
        batch, n = self._batch, record.num_rows
        width = batch.input_ids.shape[1]
        tokens = record.column("input_ids").flatten()
        domain = record.column("domain")
        part = slice(self._there, self._there + n)
        if part.stop > len(batch) or len(tokens) != n * width or not domain.dictionary.equals(names):
            raise InterruptedRequestError(f"step {batch.step:,}: {n:,} rows, {len(tokens):,} tokens do not come next")
        columns = {
            "input_ids": tokens.to_numpy().reshape(n, width),
            "domain": domain.indices.to_numpy(),
            **{name: record.column(name).to_numpy() for name in ("position", "epoch", "first_token")},
        }
        if batch.masked is not None:
            masked = record.column("masked").flatten()
            if len(masked) != n * width:
                raise InterruptedRequestError(f"step {batch.step:,}: {n:,} rows, {len(masked):,} tokens masked or not")
            columns["masked"] = masked.to_numpy(zero_copy_only=False).reshape(n, width)
        for name, column in columns.items():
            getattr(batch, name)[part] = column
        self._there = part.stop
        spans = None
        if self._spans is not None:
            spans = _spans(record)
            self._spans.append(spans)
        self._checksum.add(Batch(batch.step, **columns, spans=spans))

    def whole(self, said: Mapping[str, str]) -> Batch:
        """The step. Raises InterruptedRequestError where it is not whole, not in its place, or damaged; StreamError,
        `answer-invalid`, where the service masked other text than the lock does."""
        batch = self._batch
        stated = (said.get(Key.STEP), said.get(Key.ROWS), said.get(Key.CHECKSUM))
        found = (str(batch.step), str(self._there), self._checksum.hex())
        places = np.arange(self._first_position, self._first_position + len(batch))
        if stated != found or self._there != len(batch) or not np.array_equal(batch.position, places):
            raise InterruptedRequestError(f"step {batch.step:,} is damaged: {found}, and the service says {stated}")
        self._check_masks()
        return batch if self._spans is None else replace(batch, spans=_joined(self._spans))

    def _check_masks(self) -> None:
        """What was taken down by the lock is what the service says that it hid, and is hidden here whatever it did."""
        batch, masks = self._batch, self._expected.masks
        if masks is None or batch.masked is None:
            return
        hidden = masks.hide(batch.step, batch.domain, batch.first_token, batch.input_ids, self._expected.hidden)
        if not np.array_equal(hidden, batch.masked):
            raise StreamError(
                f"step {batch.step:,}: the service masks {np.count_nonzero(batch.masked):,} tokens, the lock "
                f"{np.count_nonzero(hidden):,}, or others",
                code="answer-invalid",
            )


def _spans(record: pa.RecordBatch) -> Spans:
    """The documents of the rows of a record batch, in memory of their own."""
    document, end = record.column("document"), record.column("document_end")
    counts = document.value_lengths()
    if not counts.equals(end.value_lengths()):
        raise InterruptedRequestError("documents and their ends are not as many")
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts.to_numpy(), out=offsets[1:])
    closed = record.column("document_closed").to_numpy(zero_copy_only=False)
    return Spans(offsets, document.flatten().to_numpy().copy(), end.flatten().to_numpy().copy(), closed)


def _joined(parts: list[Spans]) -> Spans:
    """The documents of rows that came in parts, of one at least."""
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return Spans(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]),
        np.concatenate([part.document for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.closed for part in parts]),
    )
