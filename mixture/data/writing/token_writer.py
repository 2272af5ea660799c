"""Writing a domain's tokens into its files as they come, with their digests."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from mixture.data.layout import TOKEN_COLUMN, TokenFile, file_bytes, prefix, suffix, token_path

_BESIDE_BYTES = 1 << 18  # fewer are hashed before a thread has begun


class TokenWriter:
    """Writes `tokens` tokens, no more and no less, into files of `file_tokens`.

    files:   a record of each file that is finished
    digest:  the SHA-256 of all tokens so far
    """

    def __init__(
        self, folder: Path, *, number: int, name: str, dtype: np.dtype[Any], tokens: int, file_tokens: int
    ) -> None:
        self.files: list[TokenFile] = []
        self.digest = hashlib.sha256()
        self._folder = folder
        self._number = number
        self._name = name
        self._dtype = dtype
        self._left = tokens
        self._file_tokens = file_tokens
        self._file: IO[bytes] | None = None
        self._file_left = 0
        # All tokens and each file have digests of their own, and each takes as long as all else here.
        self._beside = ThreadPoolExecutor(1, "digest")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._beside.shutdown()
        if self._file is not None:
            self._file.close()
        assert kind is not None or self._left == 0

    def write(self, data: bytes) -> None:
        """Write whole tokens."""
        rest = memoryview(data)
        while len(rest):
            if self._file is None:
                self._begin()
            part = rest[: self._file_left * self._dtype.itemsize]
            rest = rest[len(part) :]
            if len(part) < _BESIDE_BYTES:
                self.digest.update(part)
                self._put(part)
            else:
                hashed = self._beside.submit(self.digest.update, part)
                self._put(part)
                hashed.result()
            self._file_left -= len(part) // self._dtype.itemsize
            self._left -= len(part) // self._dtype.itemsize
            if self._file_left == 0:
                self._finish()

    def _begin(self) -> None:
        self._path = token_path(self._number, self._name, len(self.files))
        self._length = self._file_left = min(self._file_tokens, self._left)
        self._file = (self._folder / self._path).open("wb")
        self._file_digest = hashlib.sha256()
        self._put(prefix(self._dtype, self._length, TOKEN_COLUMN))

    def _put(self, data: bytes | memoryview) -> None:
        assert self._file is not None
        self._file.write(data)
        self._file_digest.update(data)

    def _finish(self) -> None:
        assert self._file is not None
        self._put(suffix(self._dtype, self._length, TOKEN_COLUMN))
        self._file.close()
        self._file = None
        self.files.append(
            TokenFile(
                file=self._path,
                bytes=file_bytes(self._dtype, self._length, TOKEN_COLUMN),
                sha256=self._file_digest.hexdigest(),
                tokens=self._length,
            )
        )
