"""Files that are one array of tokens: NumPy's, which say their type, and raw ones, which do not.

OLMo-core's training files are raw although they are called .npy, and so are nanotron's .ds files: their type has to be
given. Where documents end may be in a file beside it (`token_files.offsets`), or is found by the token that ends them,
where the sources ask for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mixture.data.layout import SEARCHED, How
from mixture.data.token_files import offsets
from mixture.data.token_files.files import SourceFile, array, opened
from mixture.data.token_files.numpy_header import numpy_header
from mixture.data.token_files.survey import CHUNK, FoundDocuments, Survey, one_piece, refused, token_type


def survey(path: str, how: How, end_of_document: int) -> Survey:
    """The tokens of an array of one dimension, or of rows."""
    with opened(path) as file:
        dtype, place, tokens = _header(file, how.dtype)
        size, expected = file.size, place + tokens * dtype.itemsize
    if size != expected:
        message = f"has {size:,} bytes, and {tokens:,} tokens of type {dtype} end at {expected:,}"
        raise refused(path, message, "file-size", found=size, expected=expected)
    if how.documents == SEARCHED:
        return one_piece(dtype, place, tokens, lambda: _searched(path, dtype, place, tokens, end_of_document))
    ends = offsets.file_of(path, how.documents)
    return one_piece(dtype, place, tokens, None if ends is None else offsets.reader(ends, tokens))


def _searched(path: str, dtype: np.dtype[Any], place: int, tokens: int, end: int) -> Iterator[FoundDocuments]:
    """Documents up to each token `end`, which is the last of its own, and what remains behind the last one."""
    last = number = 0
    with opened(path) as file:
        for first in range(0, tokens, CHUNK):
            part = array(file, dtype, place + first * dtype.itemsize, min(CHUNK, tokens - first))
            ends = first + np.flatnonzero(part == end) + 1
            if first + len(part) == tokens and (not len(ends) or ends[-1] < tokens):
                ends = np.append(ends, tokens)
            if len(ends):
                yield FoundDocuments(np.diff(ends, prepend=last), number + np.arange(len(ends)))
                last, number = int(ends[-1]), number + len(ends)


def _header(file: SourceFile, asked: str | None) -> tuple[np.dtype[Any], int, int]:
    """Type of tokens, first byte, number of tokens."""
    found = numpy_header(file)
    if found is None:
        if asked is None:
            hint = "dtype: uint16, uint32 or what they are"
            raise refused(file.path, "has no header that says of what type its tokens are", "dtype-missing", hint)
        raw, size = np.dtype(asked), file.size
        if size % raw.itemsize:
            message = f"has {size:,} bytes, no whole number of tokens of type {raw}"
            raise refused(file.path, message, "file-size", found=size)
        return raw, 0, size // raw.itemsize
    dtype, place, shape = found
    if asked is not None and np.dtype(asked) != dtype:
        raise refused(file.path, f"says that it holds {dtype}, and the sources say {asked}", "dtype-differs")
    return token_type(dtype, file.path), place, int(np.prod(shape, dtype=np.int64))
