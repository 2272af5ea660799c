"""The headers of NumPy's files."""

from __future__ import annotations

import io
import tokenize
from typing import Any

import numpy as np

from mixture.data.token_files.files import SourceFile
from mixture.data.token_files.survey import refused

_MAGIC = b"\x93NUMPY"
_MOST_BYTES = 1 << 16


def numpy_header(file: SourceFile) -> tuple[np.dtype[Any], int, tuple[int, ...]] | None:
    """Type, first byte and shape of the array in a file; None: it is not NumPy's.

    Errors: StoreError `file-damaged`, `layout-unfit`.
    """
    start = file.read(0, _MOST_BYTES)
    if not start.startswith(_MAGIC):
        return None
    header = io.BytesIO(start)
    try:
        version = np.lib.format.read_magic(header)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(header)
    except (ValueError, SyntaxError, tokenize.TokenError) as error:  # NumPy reads it as Python's text
        raise refused(file.path, f"its header can not be read: {error}", "file-damaged") from error
    if is_fortran and len(shape) > 1:
        raise refused(file.path, "is laid out by columns", "layout-unfit", "rows one behind the other are right here")
    return dtype, header.tell(), shape
