"""Arrow IPC files and streams with a column of lists of tokens, such as datasets that Hugging Face saved to disk.

Uncompressed, a record batch's tokens lie one behind the other in the file, so they are read like any array.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mixture.data.layout import How
from mixture.data.texts import SPLITS, STATE, listed_files
from mixture.data.token_files.files import opened
from mixture.data.token_files.lists import COLUMN, lengths_of, list_type
from mixture.data.token_files.survey import FoundDocuments, Survey, refused, whole_documents

_FILE_MAGIC = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"  # before each message of a stream
_END = _CONTINUED + bytes(4)


def saved_files(folder: Path) -> list[str] | None:
    """The files of a dataset that Hugging Face saved in a folder, in order; None: none was.

    Errors: StoreError `dataset-unfit`.
    """
    splits = folder / SPLITS
    if splits.is_file():
        raise refused(str(splits), "is of a dataset of several splits", "dataset-unfit", "name the folder of one")
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        files, indices = listed_files(path)
    except ValueError as error:
        raise refused(str(path), f"does not list the files of a dataset: {error}", "dataset-unfit") from error
    if indices:
        hint = "save it again with flatten_indices()"
        raise refused(str(path), "says that rows were chosen or shuffled by an index", "dataset-unfit", hint)
    return list(files)


def survey(path: str, how: How) -> Survey:
    """The tokens of a column, a piece a record batch, and a document a row."""
    column = how.column or COLUMN
    with opened(path) as file:
        if not file.size:
            raise refused(path, "is empty", "file-damaged")
        whole = file.for_arrow().read_buffer()
        places, counts = [], []
        dtype = None
        row = 0
        for batch in _batches(whole, path):
            dtype = dtype or list_type(batch.schema, column, path)
            lists = _column(batch, column)
            if not len(lists):
                continue
            lengths = lengths_of(lists, path, row)
            place, tokens = _place(lists, whole, dtype, path)
            if lengths.sum() != tokens:
                raise refused(path, f"has null rows with tokens, from row {row:,} on", "column-unfit")
            row += len(lists)
            if tokens:
                places.append(place)
                counts.append(tokens)
        if dtype is None:
            dtype = list_type(_schema(whole), column, path)
    return Survey(dtype, np.array(places, np.int64), np.array(counts, np.int64), lambda: _found(path, how))


def _found(path: str, how: How) -> Iterator[FoundDocuments]:
    with opened(path) as file:
        row = 0
        for batch in _batches(file.for_arrow().read_buffer(), path):
            lists = _column(batch, how.column or COLUMN)
            ids = None if how.id is None else _ids(batch, how.id, path)
            yield whole_documents(lengths_of(lists, path, row), row, ids)
            row += len(lists)


def _ids(batch: pa.RecordBatch, column: str, path: str) -> pa.Array[Any]:
    if column not in batch.schema.names:
        raise refused(path, f"has no column '{column}'", "missing-column", f"there are {', '.join(batch.schema.names)}")
    return _column(batch, column)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array[Any]:
    """A column whose offsets and lengths agree. Arrow ends the process where one that was damaged is read unasked."""
    column = batch.column(name)
    column.validate(full=True)
    return column


def _batches(whole: pa.Buffer, path: str) -> Iterator[pa.RecordBatch]:
    """The record batches. Errors: StoreError `file-damaged` where a stream has no end: Arrow gives what is left."""
    if _is_file(whole):
        file = pa.ipc.open_file(whole)
        yield from (file.get_batch(number) for number in range(file.num_record_batches))
        return
    seen = memoryview(whole)
    if bytes(seen[: len(_CONTINUED)]) != _CONTINUED:
        hint = f"a dataset that Hugging Face saved is named by its folder, the one that has {STATE}"
        raise refused(path, "does not begin as a file or stream of Arrow's does", "file-damaged", hint)
    if bytes(seen[-len(_END) :]) != _END:
        raise refused(path, "has no end of stream: it was cut short", "file-damaged")
    with pa.ipc.open_stream(whole) as stream:
        yield from stream


def _schema(whole: pa.Buffer) -> pa.Schema:
    return pa.ipc.open_file(whole).schema if _is_file(whole) else pa.ipc.open_stream(whole).schema


def _is_file(whole: pa.Buffer) -> bool:
    """Whether it is a file of record batches, and no stream of them."""
    return bytes(memoryview(whole)[: len(_FILE_MAGIC)]) == _FILE_MAGIC


def _place(lists: pa.Array[Any], whole: pa.Buffer, dtype: np.dtype[Any], path: str) -> tuple[int, int]:
    """The first byte of a batch's tokens in the file, and their number."""
    if pa.types.is_fixed_size_list(lists.type):
        first, tokens = lists.offset * lists.type.list_size, len(lists) * lists.type.list_size
    else:
        offsets = lists.offsets
        first, tokens = offsets[0].as_py(), offsets[-1].as_py() - offsets[0].as_py()
    values = lists.values
    buffer = values.buffers()[1]
    if not tokens:
        return 0, 0
    place = buffer.address - whole.address + (values.offset + first) * dtype.itemsize
    if not 0 <= place <= place + tokens * dtype.itemsize <= whole.size:
        hint = "write it without compression, or as Parquet"
        raise refused(path, "its record batches are compressed", "compressed", hint)
    return place, tokens
