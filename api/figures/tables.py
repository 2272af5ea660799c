"""Lists whose JSON is nested, in the long form that tables have: what stands inside an item gets rows of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from mixture.api.figures.steps import PARTS
from mixture.api.models import Progress
from mixture.data.layout import attribute_text
from mixture.data.store import Store
from mixture.stream import POSITIONS

COUNTS = pa.schema([("step", pa.int64()), ("domain", pa.string()), ("sequences", pa.int64())])
PROGRESS = pa.schema(
    [
        ("seq", pa.int64()),
        ("step", pa.int64()),
        ("domain", pa.string()),
        ("loss", pa.float64()),
        ("key", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("by", pa.string()),
        ("lock", pa.string()),
    ]
)
DOCUMENT = pa.schema([("id", pa.string()), ("first_token", pa.int64()), ("tokens", pa.int64())])
"""A document, where no store says what else is known of it."""


def counts_table(steps: Sequence[int], counts: Sequence[Mapping[str, int]]) -> pa.Table:
    """One row a step and domain, in the order asked: step, domain, sequences."""
    columns = (
        [step for step, one in zip(steps, counts, strict=True) for _ in one],
        [name for by_domain in counts for name in by_domain],
        [sequences for by_domain in counts for sequences in by_domain.values()],
    )
    return _table(COUNTS, columns)


def sequences_table(rows: Sequence[Mapping[str, Any]], store: Store | None, domain: str, *, masked: bool) -> pa.Table:
    """One row a sequence and document that it reads from: the sequence's columns, then the document's, `document_…`.

    Where there is no store, one row a sequence, whose document is null.

    domain: any, which the store is asked for the columns of documents
    masked: whether documents say how many of their tokens are taken down
    """
    document = DOCUMENT
    if store is not None:
        for name in store.documents(domain, 0, 0).column_names[len(DOCUMENT) :]:
            document = document.append(pa.field(name, pa.string()))  # whatever its type: it is said as text
        for name in PARTS:
            document = document.append(pa.field(name, pa.int64()))
    if masked and store is not None:
        document = document.append(pa.field("masked_tokens", pa.int64()))
    pairs = [(row, held) for row in rows for held in ([{}] if row["documents"] is None else row["documents"])]
    schema = pa.schema([*POSITIONS, *(field.with_name(f"document_{field.name}") for field in document)])
    columns = (
        *([row[name] for row, _ in pairs] for name in POSITIONS.names),
        *(
            [
                attribute_text(held.get(field.name)) if field.type == pa.string() else held.get(field.name)
                for _, held in pairs
            ]
            for field in document
        ),
    )
    return _table(schema, columns)


def progress_table(entries: Sequence[Progress]) -> pa.Table:
    """One row a report and domain whose loss it says, whose domain is null where it says none."""
    rows = [
        (
            entry.seq,
            entry.step,
            domain,
            None if loss is None else float(loss),
            entry.key,
            entry.at,
            entry.by,
            entry.lock,
        )
        for entry in entries
        for domain, loss in (entry.loss.items() if entry.loss else [(None, None)])
    ]
    return _table(PROGRESS, list(zip(*rows, strict=True)) or [()] * len(PROGRESS))


def _table(schema: pa.Schema, columns: Sequence[Any]) -> pa.Table:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
