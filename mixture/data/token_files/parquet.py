"""Parquet files with a column of lists of tokens.

The slowest to read from: a row group is decoded as a whole. Where the stretches that a schedule's windows read fit into
what is kept of them, and row groups have a million tokens, a hundredth of the speed of an Arrow file with the same rows
(`python -m benchmarks.formats`); smaller row groups are faster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.parquet as pq

from mixture.data.layout import How
from mixture.data.token_files.files import opened
from mixture.data.token_files.lists import COLUMN, check_ids, lengths_of, list_type
from mixture.data.token_files.survey import FoundDocuments, Survey, refused, whole_documents

_ROWS = 1 << 13  # decoded together when they are counted


def survey(path: str, how: How, vocabulary: int) -> Survey:
    """The tokens of a column, a piece a row group, and a document a row.

    How many tokens a row group has does not stand in its footer, so the column is decoded once.
    """
    column = how.column or COLUMN
    groups, counts = [], []
    documents: list[FoundDocuments] = []
    with opened(path) as opened_file, pq.ParquetFile(opened_file.for_arrow()) as file:
        dtype = list_type(file.schema_arrow, column, path)
        columns = [column, *([how.id] if how.id else [])]
        if how.id and how.id not in file.schema_arrow.names:
            known = ", ".join(file.schema_arrow.names)
            raise refused(path, f"has no column '{how.id}'", "missing-column", f"there are {known}")
        row = 0
        for group in range(file.num_row_groups):
            tokens = 0
            for batch in file.iter_batches(_ROWS, row_groups=[group], columns=columns, use_threads=False):
                lengths = lengths_of(batch.column(column), path, row)
                check_ids(batch.column(column), lengths, vocabulary, path, row)
                ids = batch.column(how.id) if how.id else None
                documents.append(whole_documents(lengths, row, ids))
                tokens += int(lengths.sum())
                row += batch.num_rows
            if tokens:
                groups.append(group)
                counts.append(tokens)

    def found() -> Iterator[FoundDocuments]:
        yield from documents

    return Survey(dtype, np.array(groups, np.int64), np.array(counts, np.int64), found)
