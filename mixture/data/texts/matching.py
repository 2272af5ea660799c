"""Which files a pattern stands for, of which format, and which of them are no sources."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path, PurePath
from urllib.parse import unquote

from mixture.data.texts.paths import Paths
from mixture.data.texts.report import Skipped
from mixture.data.texts.saved_datasets import SPLITS, Chosen, SavedDataset, saved_dataset
from mixture.errors import IngestError, Place
from mixture.units import quote

_MARKERS = {"_SUCCESS", "_metadata", "_common_metadata", "_temporary", "_delta_log"}
_MARKER_STARTS = ("_committed_", "_started_")
_MARKER_ENDS = (".crc",)
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class FileFormat(StrEnum):
    """What a file holds: rows of columns, one JSON object a line, rows of CSV below a header, or one document."""

    PARQUET = "parquet"
    ARROW = "arrow"
    JSONL = "jsonl"
    CSV = "csv"
    TEXT = "text"


class Compression(StrEnum):
    """How lines or text are packed."""

    NONE = ""
    GZIP = "gzip"
    ZSTD = "zstd"
    BZIP2 = "bz2"
    XZ = "xz"
    LZ4 = "lz4"


_PACKED_ENDINGS = {
    ".gz": Compression.GZIP,
    ".gzip": Compression.GZIP,
    ".zst": Compression.ZSTD,
    ".zstd": Compression.ZSTD,
    ".bz2": Compression.BZIP2,
    ".bzip2": Compression.BZIP2,
    ".xz": Compression.XZ,
    ".lzma": Compression.XZ,
    ".lz4": Compression.LZ4,
}
_BY_ENDING = {
    ".parquet": FileFormat.PARQUET,
    ".arrow": FileFormat.ARROW,
    ".feather": FileFormat.ARROW,
    ".jsonl": FileFormat.JSONL,
    ".ndjson": FileFormat.JSONL,
    ".json": FileFormat.JSONL,
    ".csv": FileFormat.CSV,
    ".tsv": FileFormat.CSV,
}
_LEFTOVERS = {".bak", ".tmp", ".old", ".orig", ".part", ".crdownload"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read.

    shown:    its path as the sources file reaches it, with slashes
    modified: when it was written last, in nanoseconds
    chosen:   which of its rows are read, where it is of a dataset that has an index; None: all
    problem:  why it is of no format that is read; None: it is
    """

    path: Path
    shown: str
    size: int
    modified: int
    format: FileFormat
    compression: Compression
    chosen: Chosen | None = None
    problem: str | None = None

    @property
    def folder_values(self) -> dict[str, str | None]:
        """What folders `NAME=VALUE` in its path say, as Hive and Spark write partitions: a column of one value each."""
        pairs = [part.partition("=") for part in PurePath(self.shown).parts[:-1]]
        return {unquote(n): None if v == _NO_VALUE else unquote(v) for n, found, v in pairs if found and n}

    def row_and_byte(self, at: int) -> tuple[int | None, int | None]:
        """Where a document stands in it: its row; of JSON lines, its first byte; neither, where it is the file."""
        match self.format:
            case FileFormat.JSONL:
                return None, at
            case FileFormat.TEXT:
                return None, None
        return at, None


class Matcher:
    """Finds the files of all domains, and sees a file that two of them have."""

    def __init__(self, folder: Path) -> None:
        self.skipped: list[Skipped] = []
        self._folder = folder
        self._owners: dict[tuple[int, int], tuple[str, str]] = {}
        self._saved = cache(saved_dataset)

    def find(self, pattern: str, domain: str, file_format: FileFormat | None, place: Place) -> list[SourceFile]:
        """The files of a pattern, of a folder and all below it, or one file; none that the domain has already.

        Formats by name: .parquet; .arrow and .feather; .jsonl, .ndjson and .json are JSON lines; .csv and .tsv; all
        else is one document a file; before a .gz, .zst, .bz2, .xz or .lz4 the same. In the folder of a dataset that
        Hugging Face saved, only its files of rows are read.
        Errors: IngestError `no-files`, `files-shared`, `source-unreadable`.
        """
        paths = sorted(Paths(self._folder, lambda path: reason_to_skip(path, PurePath(pattern))).find(pattern))
        if not paths:
            message = f"{place.path}: no file matches {quote(pattern)}"
            hint = f"patterns are relative to {self._folder.resolve()}"
            raise IngestError(message, code="no-files", place=place, hint=hint)
        files = []
        for shown in paths:
            path = self._folder / shown
            dataset = self._saved(path.parent)
            reason = reason_to_skip(PurePath(shown), PurePath(pattern)) or _beside(path, dataset)
            if reason is None:
                status = self._status(shown)
                if self._is_new(shown, status, domain, place):
                    files.append(_source(path, shown, status, file_format, dataset))
                    continue
                reason = Skipped.AGAIN
            self.skipped.append(reason)
        return files

    def _status(self, shown: str) -> os.stat_result:
        path = self._folder / shown
        try:
            status = path.stat()
        except OSError as error:
            message = f"can not be read: {error.strerror}"
            raise IngestError(message, code="source-unreadable", place=Place(file=str(path))) from error
        if not stat.S_ISREG(status.st_mode):
            raise IngestError("is not a file", code="source-unreadable", place=Place(file=str(path)))
        return status

    def _is_new(self, shown: str, status: os.stat_result, domain: str, place: Place) -> bool:
        """Whether no domain has this very file yet, whatever it is called."""
        key = (status.st_dev, status.st_ino)
        if key not in self._owners:
            self._owners[key] = (domain, shown)
            return True
        owner, known = self._owners[key]
        if owner != domain:
            raise IngestError(
                f"{place.path}: {quote(shown)} is a file of the domain {quote(owner)} too, as {quote(known)}",
                code="files-shared",
                place=place,
                hint="a text in two domains is read twice in an epoch",
                domains=(owner, domain),
            )
        return False


def reason_to_skip(shown: PurePath, pattern: PurePath) -> Skipped | None:
    """Why a path that a pattern or a folder led to is no source. What the pattern names in full is one."""
    named = 0
    for part, asked in zip(shown.parts, pattern.parts, strict=False):
        if part != asked:
            break
        named += 1
    for part in shown.parts[named:]:
        if part.startswith(_MARKER_STARTS) or part.endswith(_MARKER_ENDS) or part in _MARKERS:
            return Skipped.MARKER
        if part.startswith("."):
            return Skipped.HIDDEN
    return None


def _beside(path: Path, dataset: SavedDataset | None) -> Skipped | None:
    """What a saved dataset has beside its files of rows is no source."""
    is_listed = path.name in dataset.files if dataset is not None else path.name != SPLITS
    return None if is_listed else Skipped.BESIDE


def _source(
    path: Path, shown: str, status: os.stat_result, file_format: FileFormat | None, dataset: SavedDataset | None
) -> SourceFile:
    ending = path.suffix.lower()
    compression = _PACKED_ENDINGS.get(ending, Compression.NONE)
    inner = path.with_suffix("").suffix.lower() if compression is not Compression.NONE else ending
    chosen_format = file_format or (_BY_ENDING.get(inner, FileFormat.TEXT) if dataset is None else FileFormat.ARROW)
    return SourceFile(
        path=path,
        shown=PurePath(shown).as_posix(),
        size=status.st_size,
        modified=status.st_mtime_ns,
        format=chosen_format,
        compression=compression,
        chosen=dataset.chosen(path.name) if dataset is not None else None,
    )


def leftover_of(path: Path) -> str | None:
    """The ending of the data that a file is a copy or a part of: of `a.jsonl.bak`, `.jsonl`; None: it is neither."""
    if path.suffix.lower() not in _LEFTOVERS:
        return None
    return next((ending for ending in map(str.lower, reversed(path.suffixes[:-1])) if ending in _BY_ENDING), None)
