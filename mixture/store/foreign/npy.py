"""Files that are one array of tokens: NumPy's, which say their type, and raw ones, which do not.

OLMo-core's training files are raw although they are called .npy, and so are nanotron's .ds files: their type has to be
given. Where documents end may stand in a file beside (`mixture.store.foreign.offsets`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mixture.store.foreign import offsets
from mixture.store.foreign.files import SourceFile, opened
from mixture.store.foreign.numpy_header import numpy_header
from mixture.store.foreign.survey import Survey, one_piece, refused, token_type
from mixture.store.linked import How


def survey(path: str, how: How) -> Survey:
    """The tokens of an array of one dimension, or of rows."""
    with opened(path) as file:
        dtype, place, tokens = _header(file, how.dtype)
        size, expected = file.size, place + tokens * dtype.itemsize
    if size != expected:
        message = f"has {size:,} bytes, and {tokens:,} tokens of type {dtype} end at {expected:,}"
        raise refused(path, message, "file-size", found=size, expected=expected)
    ends = offsets.file_of(path, how.documents)
    return one_piece(dtype, place, tokens, None if ends is None else offsets.reader(ends, tokens))


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
