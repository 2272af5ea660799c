"""Traces as Arrow IPC files: a row for each part of a document, each read, or each value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixture.cli.output import output_file

if TYPE_CHECKING:
    import pyarrow as pa

    from mixture.stream import ReadSoFar, Trace, TracedSequence

SEQUENCE = ("position", "slot", "domain", "draw", "epoch", "sequence", "first_token", "tokens")
PART = ("from_token", "to_token", "masked_tokens")
READ = (
    "position", "step", "slot", "epoch", "draw", "sequence", "first_token", "tokens", "from_token", "to_token",
    "masked_tokens",
)  # fmt: skip
SUMS = ("documents", "tokens", "tokens_with_repeats", "tokens_masked")
ROWS_AT_ONCE = 1 << 14
ROW = (*SEQUENCE, "document", "document_first_token", "document_tokens", *PART)
PLACE = ("domain", "document", *READ)
TEXT = frozenset({"domain", "document"})


def write_sequences(path: Path, sequences: Iterable[TracedSequence], attributes: Sequence[str]) -> None:
    """A row for each document of each sequence. An attribute with the name of a column has an underscore behind it."""
    import pyarrow as pa

    names = {name: f"{name}_" if name in ROW else name for name in attributes}
    schema = _schema(ROW)
    for name in names.values():
        schema = schema.append(pa.field(name, pa.string()))
    _write(path, (row for sequence in sequences for row in _parts(sequence, names)), schema)


def _parts(traced_sequence: TracedSequence, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    from mixture.data.layout import attribute_text

    own = {name: getattr(traced_sequence, name) for name in SEQUENCE}
    for part in traced_sequence.documents:
        yield own | {
            "document": part.document.id,
            "document_first_token": part.document.first_token,
            "document_tokens": part.document.tokens,
            **{name: getattr(part, name) for name in PART},
            **{names[name]: attribute_text(value) for name, value in part.document.attributes.items()},
        }


def write_traces(path: Path, traces: Iterable[Trace], limit: int | None) -> None:
    """A row for each read of each document or range, at most that many of each."""
    rows = (
        {"domain": trace.domain, "document": None if trace.document is None else trace.document.id}
        | {name: getattr(read, name) for name in READ}
        for trace in traces
        for read in islice(trace.reads(), limit)
    )
    _write(path, rows, _schema(PLACE))


def write_sums(path: Path, found: ReadSoFar) -> None:
    """A row for each value."""
    import pyarrow as pa

    kind = pa.array([value.value for value in found.values if value.value is not None] or [""]).type
    rows = ({"value": value.value} | {name: getattr(value, name) for name in SUMS} for value in found.values)
    _write(path, rows, pa.schema([pa.field("value", kind), *_schema(SUMS)]))


def _schema(names: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(name, pa.string() if name in TEXT else pa.int64()) for name in names])


def _write(path: Path, rows: Iterator[Mapping[str, Any]], schema: pa.Schema) -> None:
    """Some thousand rows at a time. What is refused is refused before there is a file."""
    import pyarrow as pa

    part = list(islice(rows, ROWS_AT_ONCE))
    with output_file(path) as beside, pa.OSFile(str(beside), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        while part:
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            part = list(islice(rows, ROWS_AT_ONCE))
