"""The moves of a comparison as a table."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa

from mixture.planning.compare import Diff, Figures, Move


def moves_table(diff: Diff) -> pa.Table:
    """The moves as rows: figures of both and their changes, as floats where they are fractions."""
    moves = diff.moves
    name = "domain" if diff.by is None else "group"
    columns: dict[str, pa.Array[Any]] = {name: pa.array([move.name for move in moves], pa.string())}
    if diff.by is not None:
        columns["domains"] = pa.array([len(move.domains) for move in moves], pa.int64())
    for figure, kind, read, change in _FIGURES:
        for letter in ("a", "b"):
            sides: list[Figures | None] = [getattr(move, letter) for move in moves]
            columns[f"{figure}_{letter}"] = pa.array(
                [None if side is None else _plain(read(side)) for side in sides], kind
            )
        if change is not None:
            columns[f"{figure}_change"] = pa.array([_plain(change(move)) for move in moves], kind)
    return pa.table(columns)


_Number = int | Fraction | None
_FIGURES: tuple[tuple[str, pa.DataType, Callable[[Figures], _Number], Callable[[Move], _Number] | None], ...] = (
    ("weight", pa.float64(), lambda one: one.weight, lambda move: move.weight_change),
    ("tokens_drawn", pa.int64(), lambda one: one.tokens, lambda move: move.tokens_change),
    ("tokens", pa.int64(), lambda one: one.size, None),
    ("epochs", pa.float64(), lambda one: one.epochs, lambda move: move.epochs_change),
)


def _plain(value: _Number) -> int | float | None:
    return float(value) if isinstance(value, Fraction) else value
