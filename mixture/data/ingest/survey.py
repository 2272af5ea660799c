"""What an ingest would read: its sources are found and their footers read, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mixture.data.ingest.sources import read_sources
from mixture.data.texts import Skipped, Unreadable, check_errors, split_all
from mixture.errors import IngestError


@dataclass(frozen=True, slots=True)
class FoundSources:
    """Files of a domain, or of rows that name theirs.

    name:   of the domain, or of the column that names it where `by_column`
    format: how many files there are of each
    """

    name: str
    by_column: bool
    files: int
    source_bytes: int
    formats: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SourcesReport:
    """What would be read, and how many files would not be, by reason. unreadable: why files cannot be read."""

    sources: tuple[FoundSources, ...]
    skipped_files: Mapping[Skipped, int]
    unreadable: tuple[str, ...] = ()


def survey_sources(path: str | os.PathLike[str], *, unreadable: Unreadable = Unreadable.REFUSE) -> SourcesReport:
    """What `ingest` would read. Errors: those of its sources file and of its files' footers, of all files at once.

    unreadable: what becomes of files that cannot be read
    """
    read = read_sources(Path(path))
    found = []
    errors: list[IngestError] = []
    for group in read.groups:
        formats: dict[str, int] = {}
        for file in group.files:
            split_all([file], group.columns, errors)
            formats[file.format.value] = formats.get(file.format.value, 0) + 1
        name = group.name if group.name is not None else str(group.columns.domain)
        found.append(FoundSources(name, group.name is None, len(group.files), group.num_bytes, formats))
    check_errors(errors, unreadable)
    return SourcesReport(tuple(found), read.skipped, tuple(str(error) for error in errors))
