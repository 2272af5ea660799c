"""Finished parts of an ingest: what a job has made, on the disk, so that an ingest that is stopped goes on from there.

A part is a folder that gets its name by one rename, when its files are on the disk, beside its record, which says what
the part was made of: a key for each piece of a source file that went into it, which holds all that decides what comes
of the piece. A part is taken again where all of its pieces are still asked for, and its source files are unchanged.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from mixture.data.texts import SourceFile
from mixture.data.token_files import fingerprint
from mixture.data.writing import Advance, Tokenizer, sync_all
from mixture.errors import IngestError, Place, StoreError

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_PARTS, _MAKING = "parts", "making"
_RECORD = "part.json"
_ASKED = "asked.json"


@dataclass(frozen=True, slots=True)
class Making:
    """Where a job puts its files: `folder`, which becomes the folder `name` of finished parts."""

    folder: Path
    name: str


class FileJob(Protocol[R_co]):
    """A job that leaves files. Paths in what it gives are relative to the folder of finished parts."""

    def run(self, making: Making, tokenizer: Tokenizer, advance: Advance) -> R_co:
        """Do it; advance(domain, bytes) says how far it is."""
        ...


class _Record(BaseModel):
    """What a part says of itself: its sources' fingerprints by `_source_key`, its files and their sizes, and as JSON
    what its job gave.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    made_of: tuple[str, ...]
    sources: dict[str, str | None]
    files: dict[str, int]
    result: str


@dataclass(frozen=True, slots=True)
class Part(Generic[R]):
    """A job for `run_jobs` whose files and result become a finished part of a workplace.

    made_of: the keys of what goes into it; sources: the files that it reads
    """

    job: FileJob[R]
    made_of: tuple[str, ...]
    sources: tuple[SourceFile, ...]
    workplace: Path

    def run(self, tokenizer: Tokenizer, advance: Advance) -> R:
        """Do the job and keep what comes of it. Errors: those of the job; IngestError `source-changed`."""
        name = hashlib.sha256("\n".join(self.made_of).encode()).hexdigest()[:32]
        folder = Path(tempfile.mkdtemp(dir=self.workplace / _MAKING))
        _check_unchanged(self.sources)
        result = self.job.run(Making(folder, name), tokenizer, advance)
        fingerprints = {_source_key(file): _fingerprint(file) for file in self.sources}
        _check_unchanged(self.sources)
        record = _Record(
            kind=type(result).__name__,
            made_of=self.made_of,
            sources=fingerprints,
            files=_sizes(folder),
            result=TypeAdapter(type(result)).dump_json(result).decode(),
        )
        sync_all(folder / path for path in record.files)
        # These may come to the disk as late as they like: a part that a crash leaves without its record, or a part of
        # which it leaves nothing, is made again.
        (folder / _RECORD).write_text(record.model_dump_json(), encoding="utf-8")
        folder.rename(self.workplace / _PARTS / name)
        return result


@dataclass(frozen=True, slots=True)
class Kept(Generic[R]):
    """A part that is there: the keys of what went into it, and what its job gave."""

    made_of: tuple[str, ...]
    result: R


class Parts:
    """The finished parts in a workplace, in `folder`."""

    def __init__(self, workplace: Path) -> None:
        self.folder = workplace / _PARTS
        self.folder.mkdir()
        (workplace / _MAKING).mkdir()
        self._workplace = workplace
        self._rest: dict[str, _Record] = {}

    def adopt(self, left: Iterable[Path]) -> None:
        """Take over the finished parts of workplaces whose ingest ended before its store was whole."""
        for workplace in left:
            for part in finished(workplace):
                if not (self.folder / part.name).exists():
                    part.rename(self.folder / part.name)
        for part in finished(self._workplace):
            record = _read(part)
            if record is None:
                _remove(part)
            else:
                self._rest[part.name] = record

    def take(
        self, kind: type[R], wanted: Callable[[Kept[R]], bool], sources: Iterable[SourceFile]
    ) -> Iterator[Kept[R]]:
        """The parts of a kind that are wanted, and of which all that they have read is unchanged."""
        known = {_source_key(file): file for file in sources}
        now = cache(_fingerprint)
        for name, record in list(self._rest.items()):
            if record.kind != kind.__name__:
                continue
            with suppress(ValidationError):  # another version made it
                kept = Kept(record.made_of, TypeAdapter(kind).validate_json(record.result))
                if wanted(kept) and all(
                    key in known and now(known[key]) == value is not None for key, value in record.sources.items()
                ):
                    del self._rest[name]
                    yield kept

    def drop_rest(self) -> int:
        """Remove the parts that were not taken. Gives how many."""
        for name in self._rest:
            _remove(self.folder / name)
        return len(self._rest)


def finished(workplace: Path) -> list[Path]:
    """The finished parts that a workplace has."""
    folder = workplace / _PARTS
    return sorted(folder.iterdir()) if folder.is_dir() else []


def leave_finished(workplace: Path) -> int:
    """Remove all that is not a finished part, and the workplace too where there is none. Gives how many there are."""
    count = len(finished(workplace))
    for entry in workplace.iterdir() if count else [workplace]:
        if entry.name not in (_PARTS, _ASKED):
            shutil.rmtree(entry, ignore_errors=True)
    return count


def note_asked(workplace: Path, asked: Mapping[str, str]) -> None:
    """Write down which options an ingest has, to be able to say of a later one what it has otherwise."""
    (workplace / _ASKED).write_text(json.dumps(asked), encoding="utf-8")


def asked_otherwise(left: Iterable[Path], asked: Mapping[str, str]) -> list[str]:
    """In words, which options the ingests of workplaces had otherwise."""
    found = []
    for workplace in left:
        try:
            before = json.loads((workplace / _ASKED).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        found += [
            f"{name} was {before.get(name)}, is {asked[name]}" for name in asked if before.get(name) != asked[name]
        ]
    return list(dict.fromkeys(found))


def together(sizes: Mapping[str, int], *, most_bytes: int, most: int) -> Iterator[list[str]]:
    """Names, in their order, put together to parts that are worth a process's while. sizes: bytes of each."""
    group: list[str] = []
    total = 0
    for name, size in sizes.items():
        if group and (len(group) >= most or total + size > most_bytes):
            yield group
            group, total = [], 0
        group.append(name)
        total += size
    if group:
        yield group


def part_key(*decides: object) -> str:
    """The key of what comes of these values, which are spelt the same in every process."""
    return hashlib.sha256(repr(decides).encode()).hexdigest()[:32]


def without_place(file: SourceFile) -> SourceFile:
    """A file wherever it lies: the folder that all of them are in may have moved."""
    return replace(file, path=Path())


def _source_key(file: SourceFile) -> str:
    return part_key(without_place(file))


def _fingerprint(file: SourceFile) -> str | None:
    try:
        return fingerprint(os.fspath(file.path))
    except StoreError:
        return None


def _check_unchanged(sources: Iterable[SourceFile]) -> None:
    """Refuse a file that is written to while it is read: some documents would be of before, and some of after."""
    for file in sources:
        try:
            status = file.path.stat()
            changed = (status.st_size, status.st_mtime_ns) != (file.size, file.modified)
        except FileNotFoundError:
            changed = True
        except OSError:
            changed = False  # reading it says what is wrong
        if changed:
            raise IngestError(
                "was changed since the ingest began",
                code="source-changed",
                place=Place(file=str(file.path)),
                hint="started again, the ingest reads it anew, and keeps what it has of other files",
            )


def _sizes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def _read(part: Path) -> _Record | None:
    """A part's record; None: it, or a file of it, is not there as it was."""
    try:
        record = _Record.model_validate_json((part / _RECORD).read_bytes())
    except (OSError, ValidationError):
        return None
    here = _sizes(part)
    return record if all(here.get(path) == size for path, size in record.files.items()) else None


def _remove(part: Path) -> None:
    """Remove a part, its record first: without one it is none."""
    (part / _RECORD).unlink(missing_ok=True)
    shutil.rmtree(part, ignore_errors=True)
