"""Row groups of Parquet files, decoded whole, some of them kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mixture.store.mapping import Standing, arrow_file, readable
from mixture.store.rows import Tokens

KEPT_BYTES = 1 << 28
"""Of decoded row groups, the last used ones; one larger than that is kept until the next."""
_FOOTERS = 256


class RowGroups:
    """The tokens of row groups by file and group. Any number of threads may ask."""

    def __init__(self, paths: Sequence[str], columns: Sequence[str], dtype: np.dtype[Any], standing: Standing) -> None:
        self._paths, self._columns, self._dtype, self._standing = paths, columns, dtype, standing
        self._kept: OrderedDict[tuple[int, int], Tokens] = OrderedDict()
        self._bytes = 0
        self._footers: OrderedDict[int, pq.FileMetaData] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, file: int, group: int) -> Tokens | None:
        """A row group that is kept."""
        with self._guard:
            found = self._kept.get((file, group))
            if found is not None:
                self._kept.move_to_end((file, group))
            return found

    def keep(self, file: int, group: int, tokens: NDArray[np.integer]) -> Tokens:
        """Keep a row group, in the store's type; its ids go into it."""
        made = tokens.astype(self._dtype)
        with self._guard:
            if (file, group) not in self._kept:
                self._kept[file, group] = made
                self._bytes += made.nbytes
                while self._bytes > KEPT_BYTES and len(self._kept) > 1:
                    self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def read(self, file: int, group: int) -> NDArray[np.integer]:
        """Decode a row group. Errors: StoreError, those of `readable`, `store-changed`."""
        path = Path(self._paths[file])
        with readable(path), arrow_file(path) as source:
            self._standing.check_file(self._paths[file], path.stat())
            with pq.ParquetFile(source, metadata=self._footer(file)) as opened:
                if self._footer(file) is None:
                    self._keep_footer(file, opened.metadata)
                column = opened.read_row_group(group, columns=[self._columns[file]], use_threads=False).column(0)
        flat: NDArray[np.integer] = column.combine_chunks().flatten().to_numpy()
        return flat

    def _footer(self, file: int) -> pq.FileMetaData | None:
        with self._guard:
            return self._footers.get(file)

    def _keep_footer(self, file: int, footer: pq.FileMetaData) -> None:
        with self._guard:
            self._footers[file] = footer
            if len(self._footers) > _FOOTERS:
                self._footers.popitem(last=False)
