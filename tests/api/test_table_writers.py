"""Tables as CSV: a spreadsheet computes nothing of what a name or an attribute says, and programs get it as it is."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from mixture.api.answers.formats import Format
from mixture.api.answers.table_writers import table_bytes
from mixture.spreadsheet import defused

COMPUTED = [
    "=1+1",
    "+cmd",
    "-web",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "=",
    "-",
    "+1-1",
    "--1",
    "＝1",
    "－x",
    "-1e",
    "+ü",
]
PLAIN = ["web", "a=b", " =1", "'=1", "", "-2", "+3.5", "-.5", "1e5", "-2.5E-3", None]
CELLS = [*COMPUTED, *PLAIN]
SAFE = [*(f"'{cell}" for cell in COMPUTED), *PLAIN]


@pytest.fixture(params=["text", "large", "dictionary"])
def table(request):
    texts = pa.array(CELLS, pa.large_string() if request.param == "large" else pa.string())
    column = texts.dictionary_encode() if request.param == "dictionary" else texts
    return pa.table({"=name": column, "number": pa.array(range(-2, len(CELLS) - 2)), "double": [-0.5] * len(CELLS)})


def test_a_spreadsheet_computes_no_cell_and_no_heading_of_csv_and_numbers_stay(table):
    data = table_bytes(Format.CSV, table)
    heading, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
    assert heading == ["'=name", "number", "double"]
    assert [row[0] for row in rows] == [cell or "" for cell in SAFE]
    assert [row[1:] for row in rows[:2]] == [["-2", "-0.5"], ["-1", "-0.5"]]
    assert [defused(cell) for cell in CELLS if cell is not None] == SAFE[:-1], "one rule for both writers"
    read = pa.csv.read_csv(io.BytesIO(data), parse_options=pa.csv.ParseOptions(newlines_in_values=True))
    assert read["number"].to_pylist() == table["number"].to_pylist()


def test_other_formats_give_the_cells_as_they_are(table):
    assert pq.read_table(io.BytesIO(table_bytes(Format.PARQUET, table)))["=name"].to_pylist() == CELLS
    assert pa.ipc.open_stream(table_bytes(Format.ARROW, table)).read_all()["=name"].to_pylist() == CELLS
    assert [row["=name"] for row in json.loads(table_bytes(Format.JSON, table))["items"]] == CELLS
