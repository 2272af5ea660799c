"""A Parquet table with any byte of its footer changed is read or refused, and ends no process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

READS = """
import sys
from pathlib import Path
from mixture.planning.catalog import read_catalog
from mixture.errors import CatalogError

whole, broken = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
length = int.from_bytes(whole[-8:-4], "little")
for at in range(len(whole) - 8 - length, len(whole)):
    for other in (1, 2, 254):
        broken.write_bytes(whole[:at] + bytes([(whole[at] + other) % 256]) + whole[at + 1 :])
        try:
            read_catalog(broken)
        except CatalogError:
            pass
print("done")
"""


def test_any_byte_of_a_footer(tmp_path: Path):
    table = pa.table({"domain": ["a", "b"], "kind": ["x", None], "tokens": [5, 7], "share": [0.5, 0.5]})
    pq.write_table(table.replace_schema_metadata({}), tmp_path / "cells.parquet", store_schema=False)
    files = [str(tmp_path / "cells.parquet"), str(tmp_path / "broken.parquet")]
    done = subprocess.run([sys.executable, "-c", READS, *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]
