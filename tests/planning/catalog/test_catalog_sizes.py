"""A small Parquet file that says very much is refused before it is in memory; what is held once is read once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mixture.errors import CatalogError
from mixture.planning.catalog import TableFiles, read_catalog
from mixture.planning.catalog.table import MOST_CELL_BYTES


def write(path: Path, texts: pa.Array, **options: object) -> Path:
    rows = len(texts)
    table = pa.table({"domain": [f"d{i}" for i in range(rows)], "tokens": [200_000] * rows, "x": texts})
    pq.write_table(table, path, compression="zstd", **options)
    return path


def repeated(text: str, rows: int, kind: pa.DataType | None = None) -> pa.Array:
    one = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text], kind))
    return one if kind is None else one.cast(kind)


PREFIXED = {"use_dictionary": False, "column_encoding": {"x": "DELTA_BYTE_ARRAY"}}
BOMBS = {
    "one text in 2,000 rows": (repeated("z" * 1_000_000, 2_000), {}),
    "one text in 2,000 rows, not said to be one": (repeated("z" * 1_000_000, 200, pa.string()), {}),
    "texts that are allowed, in 20,000 rows": (repeated("z" * 60_000, 20_000), {}),
    "texts that differ from the one before in nothing": (repeated("z" * 60_000, 2_000, pa.string()), PREFIXED),
    "compressed": (pa.array(["z" * 60_000] * 2_000), {"use_dictionary": False}),
}


@pytest.mark.parametrize(("texts", "options"), BOMBS.values(), ids=BOMBS)
def test_a_small_file_that_says_very_much_is_refused(tmp_path: Path, texts: pa.Array, options):
    path = write(tmp_path / "cells.parquet", texts, **options)
    assert path.stat().st_size < 100_000
    with pytest.raises(CatalogError) as refused:
        read_catalog(path)
    assert refused.value.code == "table-too-large"


KINDS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("options", [{}, PREFIXED, {"store_schema": False}, {"row_group_size": 7_000}], ids=str)
def test_texts_are_read_as_they_are_however_they_are_kept(tmp_path: Path, kind, options):
    said = [None if i % 11 == 0 else f"kind {i % 13}" * (i % 3) for i in range(20_000)]
    said[5] = "z" * MOST_CELL_BYTES
    table = TableFiles().table(write(tmp_path / "cells.parquet", pa.array(said, kind), **options))
    assert table.columns["x"] == said
    assert table.columns["domain"] == [f"d{i}" for i in range(20_000)]
