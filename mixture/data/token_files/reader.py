"""Tokens out of the files that a catalog leads to, whatever their types."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mixture.data.layout import (
    PIECES,
    AnyManifest,
    Bytes,
    DistantRows,
    Documents,
    Files,
    LinkedDomain,
    LinkedFormat,
    LinkedManifest,
    Standing,
    Tokens,
    arrow_file,
    check_out,
    linked_path,
    outside,
    readable,
)
from mixture.data.storage import Address, located
from mixture.data.token_files.lists import COLUMN
from mixture.data.token_files.row_groups import STRETCH_TOKENS, RowGroups
from mixture.errors import Place, StoreError

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Kind:
    """How tokens of a domain are read.

    dtype:      of its tokens as they are stored
    is_decoded: out of row groups of Parquet files
    is_known:   every id was compared with the vocabulary when it was written, or when the files' digests were kept
    """

    dtype: np.dtype[Any]
    is_decoded: bool
    is_known: bool


def _kind_of(domain: LinkedDomain) -> Kind:
    is_own = domain.how.format is LinkedFormat.STORE
    is_known = is_own or all(file.sha256 is not None for file in domain.files)
    return Kind(np.dtype(domain.dtype), domain.how.format is LinkedFormat.PARQUET, is_known)


class LinkedTokens:
    """The tokens that a catalog leads to. All domains are laid one behind the other, and cut into pieces.

    A piece is tokens that lie one behind the other in a file, or a row group of a Parquet file.
    """

    def __init__(
        self,
        folder: Path,
        manifest: LinkedManifest,
        standing: Standing,
        documents: Documents,
        base: Path | None = None,
    ) -> None:
        """base: the folder that paths are relative to, where that is not the one that the catalog lies in."""
        files = [file for domain in manifest.domains for file in domain.files]
        self._fill(
            folder,
            manifest,
            standing,
            documents,
            paths=[linked_path(base or standing.base, file.file) for file in files],
            sizes=[file.bytes for file in files],
            kinds=[_kind_of(domain) for domain in manifest.domains],
            columns=[d.how.column or COLUMN for d in manifest.domains for _ in d.files],
        )
        self._first_files = np.cumsum([0, *(len(domain.files) for domain in manifest.domains)], dtype=np.int64)

    def _fill(
        self,
        folder: Path,
        manifest: AnyManifest,
        standing: Standing,
        documents: Documents,
        *,
        paths: Sequence[str],
        sizes: Sequence[int],
        kinds: Sequence[Kind],
        columns: Sequence[str],
    ) -> None:
        self.names = [domain.name for domain in manifest.domains]
        self.tokens = np.array([domain.tokens for domain in manifest.domains], np.int64)
        self.first_tokens: I64 = np.cumsum([0, *self.tokens.tolist()], dtype=np.int64)
        self.dtype = np.dtype(manifest.dtype)
        self.vocabulary = manifest.tokenizer.vocabulary
        self.documents = documents
        self.paths = paths
        self.files = Files(paths, sizes, standing)
        self.kinds = list(dict.fromkeys(kinds))
        self.kind = np.array([self.kinds.index(kind) for kind in kinds], np.int64)
        self.row_groups = RowGroups(paths, columns, standing)
        self.has_objects = any(isinstance(located(path), Address) for path in paths)
        self.standing = standing
        self._folder = folder

    def reader(self, numbers: Sequence[int], *, unit_tokens: int | None = None) -> LinkedReader:
        """A reader of the domains with these numbers in the catalog's order."""
        return LinkedReader(self, numbers, unit_tokens)

    def doubted(self) -> LinkedTokens:
        """The same, every id of which is compared with the size of the vocabulary, whatever is known of it."""
        made = copy.copy(self)
        made.kinds = [replace(kind, is_known=False) for kind in self.kinds]
        return made

    @cached_property
    def _pieces(self) -> tuple[I64, I64, I64]:
        """Of each piece its file, its place, and where it ends."""
        path = self._folder / PIECES
        self.standing.at_hand(path)
        with readable(path), arrow_file(path) as source:
            self.standing.check()
            table = pq.read_table(source)
        domain, file, place, tokens = (table[name].to_numpy() for name in ("domain", "file", "place", "tokens"))
        ends = np.cumsum(tokens, dtype=np.int64)
        totals = np.zeros(len(self.names), np.int64)
        np.add.at(totals, domain, tokens)
        if not np.array_equal(totals, self.tokens):
            message = "does not place the tokens that store.json counts"
            raise StoreError(message, code="tables-differ", place=Place(file=str(path)))
        return self._first_files[domain] + file, place, ends

    @property
    def piece_file(self) -> I64:
        """The number of each piece's file."""
        return self._pieces[0]

    @property
    def piece_place(self) -> I64:
        """The first byte of each piece, or the number of its row group."""
        return self._pieces[1]

    @property
    def piece_end(self) -> I64:
        """Where each piece ends, counted over all domains."""
        return self._pieces[2]

    def first_of(self, piece: I64) -> I64:
        """Where pieces begin, counted over all domains."""
        before = self.piece_end[np.maximum(piece - 1, 0)]
        return np.where(piece > 0, before, 0)


class LinkedReader:
    """Reads tokens of chosen domains (`mixture.data.layout.rows.TokenReader`).

    Ids of files of which no more is known than their fingerprints are compared with the size of the vocabulary as they
    are read, in a third of the time that reading takes.
    """

    def __init__(self, source: LinkedTokens, numbers: Sequence[int], unit_tokens: int | None) -> None:
        self._source = source
        self._numbers = np.array(numbers, np.int64)
        self._distant = DistantRows(source, source.standing, unit_tokens) if source.has_objects else None

    def rows(self, domain: NDArray[np.integer], first_token: I64, length: int, out: Tokens | None = None) -> Tokens:
        """Rows of tokens [n, length]; domain [n] and first_token [n] say where each begins.

        Errors: StoreError `range-outside`, `id-outside-vocabulary`, `store-changed`, `file-size`.
        """
        source = self._source
        number, first_token = self._numbers[domain], np.asarray(first_token, np.int64)
        wrong = np.flatnonzero((first_token < 0) | (first_token + length > source.tokens[number]))
        if len(wrong):
            at = int(wrong[0])
            one = int(number[at])
            raise outside(source.names[one], int(source.tokens[one]), int(first_token[at]), length)
        start = source.first_tokens[number] + first_token
        if out is not None:
            check_out(out, len(start), length, source.dtype)
        kind = source.kind[number]
        used = np.unique(kind).tolist()
        if not length or not used:
            return np.empty((len(start), length), source.dtype) if out is None else out
        if len(used) == 1 and out is None:
            return self._of_kind(used[0], start, length)
        target = np.empty((len(start), length), source.dtype) if out is None else out
        for one in used:
            here = np.flatnonzero(kind == one)
            target[here] = self._of_kind(one, start[here], length)
        return target

    def range(self, domain: int, first_token: int, num_tokens: int) -> Tokens:
        """Tokens [num_tokens]: read-only."""
        number = int(self._numbers[domain])
        tokens = int(self._source.tokens[number])
        if not 0 <= first_token <= first_token + num_tokens <= tokens:
            raise outside(self._source.names[number], tokens, first_token, num_tokens)
        found: Tokens = self.rows(np.array([domain]), np.array([first_token]), num_tokens)[0]
        found.flags.writeable = False
        return found

    def prefetch(self, domain: NDArray[np.integer], first_token: I64, length: int) -> None:
        """Ask for rows ahead, all at once: the system, or the object store; nothing is asked for of Parquet files."""
        source = self._source
        number = self._numbers[domain]
        start = source.first_tokens[number] + first_token
        if self._distant is not None:
            for one, kind in enumerate(source.kinds):
                if not kind.is_decoded:
                    self._distant.read_ahead(start[source.kind[number] == one], length, kind.dtype.itemsize)
            return
        piece = np.searchsorted(source.piece_end, start, side="right")
        within = start - source.first_of(piece)
        count = np.minimum(length, source.piece_end[piece] - start)
        for row, kind in enumerate(source.kind[number].tolist()):
            if not source.kinds[kind].is_decoded:
                size = source.kinds[kind].dtype.itemsize
                at = int(source.piece_place[piece[row]] + within[row] * size)
                source.files.prefetch(int(source.piece_file[piece[row]]), at, int(count[row]) * size)

    def _of_kind(self, number: int, start: I64, length: int) -> Tokens:
        """Rows of domains whose tokens are stored alike, in the store's type."""
        source, kind = self._source, self._source.kinds[number]
        if kind.is_decoded:
            return self._decoded(start, length)
        unsigned = np.dtype(f"u{kind.dtype.itemsize}")  # a number below 0 is above every vocabulary then
        block = self._bytes(start, length, unsigned.itemsize).view(unsigned)
        is_any = kind.is_known or source.vocabulary > np.iinfo(unsigned).max
        if not is_any and int(block.max()) >= source.vocabulary:
            row, column = np.argwhere(block >= source.vocabulary)[0].tolist()
            self._refuse(int(start[row]) + column, int(block.view(kind.dtype)[row, column]))
        same: Tokens = block if unsigned == source.dtype else block.astype(source.dtype)
        return same

    def _bytes(self, start: I64, length: int, itemsize: int) -> Bytes:
        """The bytes of rows [n, length * itemsize]."""
        source = self._source
        if self._distant is not None:
            read = self._distant.read(start, length, itemsize)
            return np.frombuffer(read, np.uint8).reshape(len(start), length * itemsize)
        piece = np.searchsorted(source.piece_end, start, side="right")
        place = source.piece_place[piece] + (start - source.first_of(piece)) * itemsize

        def read_across(row: int, target: memoryview) -> None:
            self._read_across(int(start[row]), int(piece[row]), target, itemsize)

        across = (start + length > source.piece_end[piece]).nonzero()[0]
        file = source.piece_file[piece]
        return source.files.rows(file, place, length * itemsize, across, read_across)

    def _read_across(self, start: int, piece: int, target: memoryview, itemsize: int) -> None:
        """Read a row that goes on in the next pieces."""
        source = self._source
        while target:
            count = min(len(target) // itemsize, int(source.piece_end[piece]) - start)
            first = int(source.first_of(np.array([piece]))[0])
            at = int(source.piece_place[piece]) + (start - first) * itemsize
            source.files.checked(int(source.piece_file[piece])).read(at, target[: count * itemsize])
            start, piece, target = start + count, piece + 1, target[count * itemsize :]

    def _decoded(self, start: I64, length: int) -> Tokens:
        """Rows out of row groups."""
        source = self._source
        rows = np.empty((len(start), length), source.dtype)
        numbers = np.searchsorted(source.first_tokens, start, side="right") - 1
        first = start - source.first_tokens[numbers]
        for row in np.argsort(start).tolist():  # a row group is decoded once for all its rows
            number, token, filled = int(numbers[row]), int(first[row]), 0
            while filled < length:
                stretch, at = divmod(token + filled, STRETCH_TOKENS)
                part = self._stretch(number, stretch)[at : at + length - filled]
                rows[row, filled : filled + len(part)] = part
                filled += len(part)
        return rows

    def _stretch(self, number: int, stretch: int) -> Tokens:
        """Tokens of a domain from stretch * STRETCH_TOKENS on."""
        source = self._source
        found = source.row_groups.stretches.get((number, stretch))
        if found is not None:
            return found
        first = stretch * STRETCH_TOKENS
        made: Tokens = np.empty(min(STRETCH_TOKENS, int(source.tokens[number]) - first), source.dtype)
        token, filled = int(source.first_tokens[number]) + first, 0
        piece = int(np.searchsorted(source.piece_end, token, side="right"))
        while filled < len(made):
            before = int(source.first_of(np.array([piece]))[0])
            part = self._row_group(piece, before)[token - before :][: len(made) - filled]
            made[filled : filled + len(part)] = part
            token, piece, filled = token + len(part), piece + 1, filled + len(part)
        source.row_groups.stretches.keep((number, stretch), made)
        return made

    def _row_group(self, piece: int, first: int) -> Tokens:
        """The tokens of a piece, which begins at `first`, counted over all domains."""
        source = self._source
        key = file, group = int(source.piece_file[piece]), int(source.piece_place[piece])
        found = source.row_groups.whole.get(key)
        if found is not None:
            return found
        read = source.row_groups.read(file, group)
        counted = int(source.piece_end[piece]) - first
        if len(read) != counted:
            message = f"row group {group} has {len(read):,} tokens, and {counted:,} were counted"
            raise StoreError(message, code="store-changed", place=Place(file=source.paths[file]))
        wrong = np.flatnonzero((read < 0) | (read >= source.vocabulary))
        if len(wrong):
            self._refuse(first + int(wrong[0]), int(read[wrong[0]]))
        made: Tokens = read.astype(source.dtype)
        source.row_groups.whole.keep(key, made)
        return made

    def _refuse(self, token: int, found: int) -> NoReturn:
        """Refuse an id; token: its place, counted over all domains."""
        source: Any = self._source
        number = int(np.searchsorted(source.first_tokens, token, side="right")) - 1
        piece = int(np.searchsorted(source.piece_end, token, side="right"))
        at = token - int(source.first_tokens[number])
        document = source.documents.table(number, at, 1)["id"][0].as_py()
        name = source.names[number]
        raise StoreError(
            f"domain '{name}', document '{document}': token {at:,} is {found:,}, and the vocabulary has "
            f"{source.vocabulary:,} ids",
            code="id-outside-vocabulary",
            place=Place(file=source.paths[int(source.piece_file[piece])]),
            domain=name,
            token=at,
            found=found,
        )
