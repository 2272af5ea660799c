"""Files that are one array of tokens: NumPy's, which say their type, and raw ones, which do not.

OLMo-core's training files are raw although they are called .npy, and so are nanotron's .ds files: their type has to be
given. Where documents end may stand in a file beside (`mixture.store.foreign.offsets`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mixture.store.foreign import offsets
from mixture.store.foreign.survey import Survey, one_piece, refused, token_type
from mixture.store.linked import How

_MAGIC = b"\x93NUMPY"


def survey(path: Path, how: How) -> Survey:
    """The tokens of an array of one dimension, or of rows."""
    dtype, place, tokens = _header(path, how.dtype)
    size, expected = path.stat().st_size, place + tokens * dtype.itemsize
    if size != expected:
        message = f"has {size:,} bytes, and {tokens:,} tokens of type {dtype} end at {expected:,}"
        raise refused(path, message, "file-size", found=size, expected=expected)
    ends = offsets.file_of(path, how.documents)
    return one_piece(dtype, place, tokens, None if ends is None else offsets.reader(ends, tokens))


def _header(path: Path, asked: str | None) -> tuple[np.dtype[Any], int, int]:
    """Type of tokens, first byte, number of tokens."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            file.seek(0)
            return _numpy_header(path, file, asked)
        size = os.fstat(file.fileno()).st_size
    if asked is None:
        hint = "dtype: uint16, uint32 or what they are"
        raise refused(path, "has no header that says of what type its tokens are", "dtype-missing", hint)
    dtype = np.dtype(asked)
    if size % dtype.itemsize:
        raise refused(path, f"has {size:,} bytes, no whole number of tokens of type {dtype}", "file-size", found=size)
    return dtype, 0, size // dtype.itemsize


def _numpy_header(path: Path, file: Any, asked: str | None) -> tuple[np.dtype[Any], int, int]:  # noqa: ANN401 NumPy's
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
    except ValueError as error:
        raise refused(path, f"its header can not be read: {error}", "file-damaged") from error
    if is_fortran and len(shape) > 1:
        raise refused(path, "is laid out by columns", "layout-unfit", "rows one behind the other are right here")
    if asked is not None and np.dtype(asked) != dtype:
        raise refused(path, f"says that it holds {dtype}, and the sources say {asked}", "dtype-differs")
    return token_type(dtype, path), file.tell(), int(np.prod(shape, dtype=np.int64))
