"""The bytes of lines and texts, packed or not."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import pyarrow as pa

from mixture.data.texts.matching import Compression, SourceFile

LARGEST_DOCUMENT = 1 << 31
"""Bytes of a text, or of its line: what is larger is no document."""
_ARROW = {Compression.GZIP: "gzip", Compression.ZSTD: "zstd", Compression.LZ4: "lz4"}
_WINDOW_LOG = 27  # the largest window that Arrow's zstd unpacks


@contextmanager
def unpacked(raw: IO[bytes], file: SourceFile) -> Iterator[IO[bytes]]:
    """The bytes of an open file, unpacked.

    Errors: EOFError, where what is packed has no bytes or ends too early; OSError, where it is damaged, or zstd with a
    window that is too long.
    """
    if file.compression is Compression.NONE:
        yield raw
        return
    if file.size == 0:
        raise EOFError
    if file.compression in (Compression.BZIP2, Compression.XZ):
        with (bz2.BZ2File if file.compression is Compression.BZIP2 else lzma.LZMAFile)(raw) as stream:
            try:
                yield cast(IO[bytes], stream)
            except lzma.LZMAError as error:
                raise OSError(str(error)) from error
        return
    if file.compression is Compression.ZSTD:
        _check_window(raw)
    # Arrow's streams say when packed data ends too early; that of the package zstandard does not.
    with pa.CompressedInputStream(raw, _ARROW[file.compression]) as arrow_stream:
        yield io.BufferedReader(cast(io.RawIOBase, arrow_stream), 1 << 20)


def _check_window(raw: IO[bytes]) -> None:
    """Refuse zstd that needs a longer window than Arrow gives: RFC 8878, 3.1.1.1. Errors: OSError."""
    head = raw.read(18)
    raw.seek(0)
    if len(head) < 18 or head[:4] != b"\x28\xb5\x2f\xfd":
        return
    if head[4] & 0x20:  # a single segment: its window is all that it holds
        start, size = 5 + (0, 1, 2, 4)[head[4] & 3], (1, 2, 4, 8)[head[4] >> 6]
        window = int.from_bytes(head[start : start + size], "little")
    else:
        window = (1 << 10 + (head[5] >> 3)) * (8 + (head[5] & 7)) // 8
    if window > 1 << _WINDOW_LOG:
        raise OSError(
            f"its zstd window is {window >> 20:,} MB, of up to {1 << _WINDOW_LOG - 20} MB: pack it again, "
            f"`zstd -dc --long=31 FILE | zstd --long={_WINDOW_LOG} -o NEW.zst`"
        )
