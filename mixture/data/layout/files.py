"""The exact bytes of an Arrow IPC file that holds one array of integers in one record batch.

    first byte      what
    0               magic, then the schema's message and the record batch's, padded
    4,096           the integers, little-endian, nothing between them
    4,096 + bytes   padding to 8, end of stream, footer, its length, magic

The integers begin on a page of their own, so a row of whole pages touches no page more than it has. Prefix and suffix
are functions of the type and the number alone, so a file can be written without holding its tokens, laid around a
hole, and checked by reading its two ends. Any Arrow reader opens it.
Format: https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
"""

from __future__ import annotations

import os
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mixture.data.layout.flatbuffer import Scalar, Structs, Table, Tables, Text, serialize

DATA_START = 4096
_MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
_METADATA_V5 = 4
_SCHEMA, _RECORD_BATCH, _INT = 1, 3, 2  # members of Arrow's unions MessageHeader and Type

# Building the metadata takes 70 us, and a store has many files: it is built once for a type with these numbers, which
# nothing else in it is equal to, and they are replaced.
_LENGTH, _DATA_BYTES, _BODY_BYTES = 0x1E1E1E1E1E1E1E1E, 0x2D2D2D2D2D2D2D2D, 0x3C3C3C3C3C3C3C3C


def prefix(dtype: np.dtype[Any], length: int, name: str) -> bytes:
    """What stands before the integers: DATA_START bytes. `name` is the column's."""
    return _filled(_templates(dtype, name)[0], dtype, length)


def suffix(dtype: np.dtype[Any], length: int, name: str) -> bytes:
    """What stands behind the integers, padding included."""
    padding = bytes(-dtype.itemsize * length % 8)
    return padding + _filled(_templates(dtype, name)[1], dtype, length)


def _filled(template: bytes, dtype: np.dtype[Any], length: int) -> bytes:
    data_bytes = dtype.itemsize * length
    body_bytes = data_bytes + -data_bytes % 8
    for placeholder, number in ((_LENGTH, length), (_DATA_BYTES, data_bytes), (_BODY_BYTES, body_bytes)):
        template = template.replace(struct.pack("<q", placeholder), struct.pack("<q", number))
    return template


@lru_cache
def _templates(dtype: np.dtype[Any], name: str) -> tuple[bytes, bytes]:
    """Prefix and suffix with the placeholders in them."""
    integer = Table((Scalar("i", dtype.itemsize * 8), Scalar("B", 1 if dtype.kind == "i" else 0)))
    field = Table((Text(name), Scalar("B", 0), Scalar("B", _INT), integer, None, Tables(())))
    schema = Table((Scalar("h", 0), Tables((field,))))
    buffers = Structs("qq", ((0, 0), (0, _DATA_BYTES)))
    batch = Table((Scalar("q", _LENGTH), Structs("qq", ((_LENGTH, 0),)), buffers))

    schema_message = _message(_SCHEMA, schema, 0)
    head = _MAGIC + bytes(2) + _frame(schema_message, len(schema_message))
    batch_message = _message(_RECORD_BATCH, batch, _BODY_BYTES)
    block = Structs("qi4xq", ((len(head), DATA_START - len(head), _BODY_BYTES),))
    footer = serialize(Table((Scalar("h", _METADATA_V5), schema, Structs("qi4xq", ()), block)))
    return (
        head + _frame(batch_message, DATA_START - len(head) - 8),
        _CONTINUATION + bytes(4) + footer + struct.pack("<i", len(footer)) + _MAGIC,
    )


def _message(kind: int, header: Table, body: int) -> bytes:
    return serialize(Table((Scalar("h", _METADATA_V5), Scalar("B", kind), header, Scalar("q", body))))


def _frame(message: bytes, size: int) -> bytes:
    return _CONTINUATION + struct.pack("<i", size) + message.ljust(size, b"\0")


def file_bytes(dtype: np.dtype[Any], length: int, name: str) -> int:
    """The size of the whole file in bytes."""
    return DATA_START + dtype.itemsize * length + len(suffix(dtype, length, name))


def write_hole(path: Path, dtype: np.dtype[Any], length: int, name: str) -> None:
    """Write a whole file whose integers are a hole: they read as 0 and take no space on the disk."""
    with path.open("wb") as file:
        file.write(prefix(dtype, length, name))
        file.seek(DATA_START + dtype.itemsize * length)
        file.write(suffix(dtype, length, name))


def ends_agree(descriptor: int, dtype: np.dtype[Any], length: int, name: str) -> bool:
    """Whether an open file begins and ends as one of this type and length does."""
    tail = suffix(dtype, length, name)
    if os.pread(descriptor, len(tail) + 1, DATA_START + dtype.itemsize * length) != tail:
        return False
    return os.pread(descriptor, DATA_START, 0) == prefix(dtype, length, name)
