"""A sample with its tokens, as a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mixture.data.store import Store, decoder, require_agreement
from mixture.errors import Place, StreamError
from mixture.schedule import Rows
from mixture.stream.masks import masks_for
from mixture.stream.sample.sample import Sample
from mixture.whole_file import whole_file

GROUP_TOKENS = 1 << 22
"""Tokens of a row group, which is what is held at once: 16 MiB where a token has 4 bytes."""


def write_sample(
    sample: Sample,
    store: Store,
    path: Path,
    *,
    with_text: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a sample, by rename, in row groups of about four million tokens. Its tokens are never all in memory.

    Columns: position, step int64 · phase, domain string · epoch, first_token, tokens int64 · input_ids, a list of the
    store's dtype · of a lock with masks `masked`, a list of bool as long: where text is taken down, from whatever step
    on, which stands as the store's end of document · and `text`, a string, where it is asked for. The file's metadata
    has the mixture and the digest of the lock.

    progress: called with rows written, and all

    Raises StoreError where the store is not the lock's, StreamError `file-not-written`.
    """
    require_agreement(store, sample.lock)
    schema = _schema(sample, store, with_text=with_text)
    done, total = 0, len(sample.rows)
    try:
        with (
            whole_file(path) as beside,
            pq.ParquetWriter(beside, schema, compression="zstd", use_dictionary=["phase", "domain"]) as writer,
        ):
            for batch in _batches(sample, store, schema):
                writer.write_batch(batch)
                done += batch.num_rows
                if progress is not None:
                    progress(done, total)
    except OSError as error:
        raise StreamError(
            f"can not be written: {error.strerror or error}", code="file-not-written", place=Place(file=str(path))
        ) from error


def _schema(sample: Sample, store: Store, *, with_text: bool) -> pa.Schema:
    fields = [
        ("position", pa.int64()),
        ("step", pa.int64()),
        ("phase", pa.string()),
        ("domain", pa.string()),
        ("epoch", pa.int64()),
        ("first_token", pa.int64()),
        ("tokens", pa.int64()),
        ("input_ids", pa.list_(pa.from_numpy_dtype(store.dtype))),
        *([("masked", pa.list_(pa.bool_()))] if sample.lock.masks else []),
        *([("text", pa.string())] if with_text else []),
    ]
    about = {"mixture": sample.lock.mixture, "mixture.lock": sample.lock.digest, "mixture.tokenizer": store.tokenizer}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields], metadata=about)


def _batches(sample: Sample, store: Store, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    lock, rows = sample.lock, sample.rows
    names = lock.schedule().names
    used = np.unique(rows.domain)
    reader = store.reader([names[d] for d in used.tolist()])
    numbers = np.searchsorted(used, rows.domain)
    masks, end = masks_for(lock), lock.schedule().steps
    decode = decoder(store) if "text" in schema.names else None
    phases = np.array([phase.name for phase in sample.phases], dtype=object)
    for part in _parts(rows):
        length = int(rows.tokens[part.start])
        ids = reader.rows(numbers[part], rows.first_token[part], length)
        offsets = pa.array(np.arange(len(ids) + 1, dtype=np.int32) * length)
        columns = [
            pa.array(rows.position[part]),
            pa.array(sample.step[part]),
            pa.array(phases[sample.phase[part]], pa.string()),
            pa.array([names[d] for d in rows.domain[part].tolist()], pa.string()),
            pa.array(rows.epoch[part]),
            pa.array(rows.first_token[part]),
            pa.array(rows.tokens[part]),
        ]
        masked = []
        if masks is not None:
            down = masks.hide(end, rows.domain[part], rows.first_token[part], ids, store.end_of_document)
            masked = [pa.ListArray.from_arrays(offsets, pa.array(down.reshape(-1)))]
        columns += [pa.ListArray.from_arrays(offsets, pa.array(ids.reshape(-1))), *masked]
        if decode is not None:
            columns.append(pa.array([decode(row) for row in ids], pa.string()))
        yield pa.record_batch(columns, schema=schema)


def _parts(rows: Rows) -> Iterator[slice]:
    """Rows of one length, and of at most as many tokens as are held at once."""
    ends = [*(np.flatnonzero(np.diff(rows.tokens)) + 1).tolist(), len(rows)]
    start = 0
    for end in ends:
        most = max(1, GROUP_TOKENS // int(rows.tokens[start]))
        for begin in range(start, end, most):
            yield slice(begin, min(begin + most, end))
        start = end
