"""The bytes of lines and texts, packed or not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import pyarrow as pa

from mixture.store.intake.matching import Compression, SourceFile

LARGEST_DOCUMENT = 1 << 31
"""Bytes of a text, or of its line: what is larger is no document."""


@contextmanager
def unpacked(raw: IO[bytes], file: SourceFile) -> Iterator[IO[bytes]]:
    """The bytes of an open file, unpacked. Errors: EOFError, where what is packed has no bytes."""
    if file.compression is Compression.NONE:
        yield raw
        return
    if file.size == 0:
        raise EOFError
    # Arrow's streams say when packed data ends too early; that of the package zstandard does not.
    packing = "gzip" if file.compression is Compression.GZIP else "zstd"
    with pa.CompressedInputStream(raw, packing) as stream:
        yield io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)
