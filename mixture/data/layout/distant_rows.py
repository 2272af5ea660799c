"""Rows out of objects: which spans they need, in whole blocks or as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mixture.data.layout.mapping import Standing
from mixture.data.storage import Span

I64 = NDArray[np.int64]


class Pieces(Protocol):
    """Tokens of all domains, laid one behind the other, and cut into pieces that lie in files (`LinkedTokens`)."""

    first_tokens: I64
    paths: Sequence[str]
    files: Any

    @property
    def piece_file(self) -> I64: ...

    @property
    def piece_place(self) -> I64: ...

    @property
    def piece_end(self) -> I64: ...

    def first_of(self, piece: I64) -> I64: ...


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a row: `size` from byte `place` of a file on, out of the bytes from `start` up to `stop` of it that
    are read together."""

    file: int
    start: int
    stop: int
    place: int
    size: int


class DistantRows:
    """Reads bytes of rows, where some files are objects.

    unit_tokens: the block of tokens, counted from a domain's first one, that is read and kept as a whole where a row
                 needs a part of it; None: rows are read as they are
    """

    def __init__(self, pieces: Pieces, standing: Standing, unit_tokens: int | None) -> None:
        self._pieces, self._standing, self._unit = pieces, standing, unit_tokens

    def read(self, start: I64, length: int, itemsize: int) -> bytearray:
        """The bytes of rows [n] that begin at these tokens, counted over all domains, one behind the other."""
        parts = list(self._parts(start, length, itemsize))
        spans = [self._span(part) for part in parts]
        found = self._standing.blocks.read(span for span in spans if span is not None)
        target = memoryview(bytearray(len(start) * length * itemsize))
        filled = 0
        for part, span in zip(parts, spans, strict=True):
            place = target[filled : filled + part.size]
            if span is None:
                self._pieces.files.checked(part.file).read(part.place, place)
            else:
                at = part.place - part.start
                place[:] = memoryview(found[span])[at : at + part.size]
            filled += part.size
        made = target.obj
        assert isinstance(made, bytearray)
        return made

    def read_ahead(self, start: I64, length: int, itemsize: int) -> None:
        """Begin to read what these rows need; returns at once."""
        spans = [self._span(part) for part in self._parts(start, length, itemsize)]
        self._standing.blocks.read_ahead(span for span in spans if span is not None)

    def _span(self, part: Part) -> Span | None:
        """None: it is a file here."""
        found = self._standing.object_at(self._pieces.paths[part.file])
        return None if found is None else Span(found, part.start, part.stop)

    def _parts(self, start: I64, length: int, itemsize: int) -> Iterator[Part]:
        """The parts of rows, in order: a row has more than one where it goes on in another block or file."""
        source, unit = self._pieces, self._unit
        pieces = np.searchsorted(source.piece_end, start, side="right")
        firsts = source.first_of(pieces)
        domains = source.first_tokens[np.searchsorted(source.first_tokens, start, side="right") - 1]
        for token, piece, first, domain in zip(
            start.tolist(), pieces.tolist(), firsts.tolist(), domains.tolist(), strict=True
        ):
            end = token + length
            while token < end:
                piece_end = int(source.piece_end[piece])
                low, high = token, min(end, piece_end)
                if unit is not None:
                    block = domain + (token - domain) // unit * unit
                    low, high = max(first, block), min(piece_end, block + unit)
                place = int(source.piece_place[piece])
                last = min(end, high)
                yield Part(
                    int(source.piece_file[piece]),
                    place + (low - first) * itemsize,
                    place + (high - first) * itemsize,
                    place + (token - first) * itemsize,
                    (last - token) * itemsize,
                )
                token = last
                if token == piece_end:
                    piece, first = piece + 1, piece_end
