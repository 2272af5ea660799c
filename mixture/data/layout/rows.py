"""Tokens out of files: one range as a view of a memory map, many rows as one copy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from mixture.data.layout.file_rows import Files
from mixture.data.layout.files import DATA_START
from mixture.data.layout.manifest import DomainRecord, Manifest
from mixture.data.layout.mapping import Standing
from mixture.errors import StoreError

Tokens = NDArray[np.unsignedinteger]


class TokenReader(Protocol):
    """Reads tokens of chosen domains, which are numbered in the order of the names it was made with."""

    def rows(
        self, domain: NDArray[np.integer], first_token: NDArray[np.int64], length: int, out: Tokens | None = None
    ) -> Tokens:
        """Rows of tokens [n, length]; domain [n] and first_token [n] say where each begins.

        out: where they go, contiguous and of the store's dtype

        Errors: StoreError `range-outside` where a row goes past the end of its domain, `store-changed`, `file-size`.
        """
        ...

    def range(self, domain: int, first_token: int, num_tokens: int) -> Tokens:
        """Tokens [num_tokens]: read-only, where they lie in one piece a view, else a copy."""
        ...

    def prefetch(self, domain: NDArray[np.integer], first_token: NDArray[np.int64], length: int) -> None:
        """Ask the system, or an object store, for rows ahead, all at once; returns at once."""
        ...


class TokenSource(Protocol):
    """Where the tokens of a store come from: its own files, or those that it leads to."""

    def reader(self, numbers: Sequence[int], *, unit_tokens: int | None = None) -> TokenReader:
        """A reader of the domains with these numbers in the store's order.

        unit_tokens: what is read of objects as a whole; of files here rows are read as they are
        """
        ...


def check_out(out: Tokens, rows: int, length: int, dtype: np.dtype) -> None:
    """Refuse a place for rows that does not fit them. Errors: StoreError `out-unfit`."""
    if out.shape != (rows, length) or out.dtype != dtype or not out.flags.c_contiguous:
        raise StoreError(
            f"out is of shape {out.shape} and type {out.dtype}",
            code="out-unfit",
            hint=f"contiguous, of shape {(rows, length)} and type {dtype} is right here",
        )


def outside(name: str, tokens: int, first_token: int, num_tokens: int) -> StoreError:
    """The refusal of tokens that a domain does not have."""
    return StoreError(
        f"domain '{name}' has {tokens:,} tokens; asked for {num_tokens:,} from {first_token:,}",
        code="range-outside",
        hint=f"the last token is {tokens - 1:,}" if tokens else "it is empty",
        domain=name,
        tokens=tokens,
    )


class OwnTokens:
    """The tokens of a store that has them itself."""

    def __init__(self, folder: Path, manifest: Manifest, standing: Standing) -> None:
        self._manifest = manifest
        self._dtype = np.dtype(manifest.dtype)
        files = [file for domain in manifest.domains for file in domain.files]
        sizes = [DATA_START + file.tokens * self._dtype.itemsize for file in files]
        self._files = Files([f"{folder}/{file.file}" for file in files], sizes, standing)
        self._first_files = np.cumsum([0, *(len(domain.files) for domain in manifest.domains)]).tolist()

    def reader(self, numbers: Sequence[int], *, unit_tokens: int | None = None) -> OwnReader:  # noqa: ARG002
        """A reader of the domains with these numbers in the store's order."""
        records = [self._manifest.domains[number] for number in numbers]
        first_files = [self._first_files[number] for number in numbers]
        return OwnReader(records, first_files, self._manifest.file_tokens, self._dtype, self._files)


class OwnReader:
    """Reads from the files of a store that has its tokens itself (`TokenReader`)."""

    def __init__(
        self,
        domains: Sequence[DomainRecord],
        first_files: Sequence[int],
        file_tokens: int,
        dtype: np.dtype,
        files: Files,
    ) -> None:
        self._names = [domain.name for domain in domains]
        self._tokens = np.array([domain.tokens for domain in domains], np.int64)
        self._first_files = np.array(first_files, np.int64)
        self._file_tokens = file_tokens
        self._dtype = dtype
        self._files = files

    def rows(
        self, domain: NDArray[np.integer], first_token: NDArray[np.int64], length: int, out: Tokens | None = None
    ) -> Tokens:
        """Rows of tokens [n, length]; domain [n] and first_token [n] say where each begins.

        out: where they go, contiguous and of the store's dtype: a buffer that is used again saves the page faults of a
        new one. Files are looked at before: only one that is cut short while its rows are copied ends the process.

        Errors: StoreError `range-outside` where a row goes past the end of its domain, `store-changed`, `file-size`.
        """
        file, start = self._places(domain, first_token, length)
        place = DATA_START + start * self._dtype.itemsize
        across = (start + length > self._file_tokens).nonzero()[0]

        def read_across(row: int, target: memoryview) -> None:
            self._read_across(int(domain[row]), int(first_token[row]), target)

        if out is None:
            size = length * self._dtype.itemsize
            found: Tokens = self._files.rows(file, place, size, across, read_across).view(self._dtype)
            return found
        check_out(out, len(file), length, self._dtype)
        self._files.fill(out.view(np.uint8), file, place, across, read_across)
        return out

    def _read_across(self, domain: int, first_token: int, target: memoryview) -> None:
        """Read a row that goes on in the next file."""
        while target:
            file, start = divmod(first_token, self._file_tokens)
            count = min(len(target) // self._dtype.itemsize, self._file_tokens - start)
            size = count * self._dtype.itemsize
            opened = self._files.checked(int(self._first_files[domain]) + file)
            opened.read(DATA_START + start * self._dtype.itemsize, target[:size])
            first_token, target = first_token + count, target[size:]

    def prefetch(self, domain: NDArray[np.integer], first_token: NDArray[np.int64], length: int) -> None:
        """Ask the system to read rows ahead, all at once; returns at once.

        Worth it for rows that may not be in memory: 512 rows of 16 KiB took 7 ms instead of 84. It costs 1.3 us a row.
        """
        file, start = self._places(domain, first_token, length)
        size = length * self._dtype.itemsize
        for number, at in zip(file.tolist(), (start * self._dtype.itemsize).tolist(), strict=True):
            self._files.prefetch(number, DATA_START + at, size)

    def _places(
        self, domain: NDArray[np.integer], first_token: NDArray[np.int64], length: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of the file that each row begins in, and its first token in that file."""
        first_token = np.asarray(first_token, np.int64)
        outside = first_token + length > self._tokens[domain]
        if outside.any() or first_token.min(initial=0) < 0:
            row = int((outside | (first_token < 0)).argmax())
            self._refuse(int(domain[row]), int(first_token[row]), length)
        file = first_token // self._file_tokens  # by one number, twice as fast as with the remainder in one call
        start = first_token - file * self._file_tokens
        file += self._first_files[domain]
        return file, start

    def range(self, domain: int, first_token: int, num_tokens: int) -> Tokens:
        """Tokens [num_tokens]: a read-only view of the map where they lie in one file, else a copy."""
        if not 0 <= first_token <= first_token + num_tokens <= int(self._tokens[domain]):
            self._refuse(domain, first_token, num_tokens)
        parts: list[Tokens] = []
        while num_tokens or not parts:
            file, start = divmod(first_token, self._file_tokens)
            count = min(num_tokens, self._file_tokens - start)
            if count == 0:
                return np.empty(0, self._dtype)
            mapped = self._files.checked(int(self._first_files[domain]) + file).mapped
            parts.append(np.frombuffer(mapped, self._dtype, count, DATA_START + start * self._dtype.itemsize))
            first_token += count
            num_tokens -= count
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _refuse(self, domain: int, first_token: int, num_tokens: int) -> NoReturn:
        raise outside(self._names[domain], int(self._tokens[domain]), first_token, num_tokens)
