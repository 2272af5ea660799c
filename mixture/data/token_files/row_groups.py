"""Row groups of Parquet files, decoded whole, and what is kept of them.

A schedule reads the blocks of a window in turn, some sequences of each, and goes on to others. So what is kept for long
is the stretch of a block's size that was asked for, and of the row group around it only the last few.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mixture.data.layout import Standing, Tokens
from mixture.data.token_files.files import opened

STRETCH_TOKENS = 1 << 16
"""The usual block of a schedule."""
STRETCH_BYTES = 1 << 28
"""Of stretches that are kept, the last used ones."""
GROUP_BYTES = 1 << 26
"""Of whole row groups that are kept; one larger than that is kept until the next."""
_FOOTERS = 256

K = TypeVar("K", bound=Hashable)


class LastUsed(Generic[K]):
    """Arrays of tokens by key, the last used ones, up to so many bytes. Any number of threads may ask."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[K, Tokens] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: K) -> Tokens | None:
        """What is kept under a key."""
        with self._guard:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: K, tokens: Tokens) -> None:
        """Keep an array, whatever its size, and let go of the oldest ones."""
        with self._guard:
            if key in self._kept:
                return
            self._kept[key] = tokens
            self._bytes += tokens.nbytes
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


class RowGroups:
    """Reads row groups by file and number. Any number of threads may ask."""

    def __init__(self, paths: Sequence[str], columns: Sequence[str], standing: Standing) -> None:
        self._paths, self._columns, self._standing = paths, columns, standing
        self._footers: OrderedDict[int, pq.FileMetaData] = OrderedDict()
        self._guard = threading.Lock()
        self.whole: LastUsed[tuple[int, int]] = LastUsed(GROUP_BYTES)
        """By file and group, in the store's type."""
        self.stretches: LastUsed[tuple[int, int]] = LastUsed(STRETCH_BYTES)
        """By domain and number, each of STRETCH_TOKENS tokens but a domain's last."""

    def read(self, file: int, group: int) -> NDArray[np.integer]:
        """Decode a row group. Errors: StoreError, those of `opened`, `store-changed`."""
        path = self._paths[file]
        with opened(path, self._standing) as source:
            self._standing.check_path(path)
            with self._guard:
                footer = self._footers.get(file)
            with pq.ParquetFile(source.for_arrow(), metadata=footer) as groups:
                if footer is None:
                    self._keep_footer(file, groups.metadata)
                column = groups.read_row_group(group, columns=[self._columns[file]], use_threads=False).column(0)
        flat: NDArray[np.integer] = column.combine_chunks().flatten().to_numpy()
        return flat

    def _keep_footer(self, file: int, footer: pq.FileMetaData) -> None:
        with self._guard:
            self._footers[file] = footer
            if len(self._footers) > _FOOTERS:
                self._footers.popitem(last=False)
