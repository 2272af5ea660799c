"""Which module reads which format."""

from __future__ import annotations

import posixpath

import pyarrow as pa

from mixture.data.layout import MANIFEST, How, LinkedFormat
from mixture.data.linking import linked_stores
from mixture.data.token_files import Survey, arrow, megatron, npy, offsets, parquet, refused


def files_beside(path: str, how: How) -> list[str]:
    """The files that belong to a file of tokens. Errors: StoreError, where one is missing."""
    match how.format:
        case LinkedFormat.MEGATRON:
            return [megatron.index_of(path)]
        case LinkedFormat.NPY:
            file = offsets.file_of(path, how.documents)
            return [] if file is None else [file]
        case LinkedFormat.STORE:
            return [posixpath.join(posixpath.dirname(posixpath.dirname(path)), MANIFEST)]
        case _:
            return []


def survey(path: str, how: How, vocabulary: int, end_of_document: int) -> Survey:
    """Count a file of tokens. Errors: StoreError, where it is not whole or not of this format.

    vocabulary:      every id is to be below it, which is looked at where all of the file is read anyway
    end_of_document: the id that documents are found by, where that is asked for
    """
    try:
        match how.format:
            case LinkedFormat.MEGATRON:
                return megatron.survey(path)
            case LinkedFormat.NPY:
                return npy.survey(path, how, end_of_document)
            case LinkedFormat.PARQUET:
                return parquet.survey(path, how, vocabulary)
            case LinkedFormat.ARROW:
                return arrow.survey(path, how)
            case LinkedFormat.STORE:
                return linked_stores.survey(path, how)
    except FileNotFoundError as error:
        raise refused(path, "is not there", "file-missing") from error
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # the last: a column's name in Parquet
        raise refused(path, f"can not be read: {error}", "store-unreadable") from error
