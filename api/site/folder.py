"""Sites in a folder, one a date: each is whole or not there, and those of other dates stay as they are.

DIR/index.html, .json, .csv   what there is, the newest first
DIR/2026.11.29/…              a site
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from mixture.api.answers import Format, json_bytes, table_bytes
from mixture.api.pages.links import FileLinks
from mixture.api.pages.render import render
from mixture.api.site.files import SiteFile
from mixture.api.site.place import begun, beside, clear, is_left_behind, locked, noted, put
from mixture.errors import MixtureError, Place
from mixture.units import quote
from mixture.whole_file import whole_file

INDEX, PAGE, TABLE = "index.json", "index.html", "index.csv"
_DATE = re.compile(r"[0-9]{4}\.[0-9]{2}\.[0-9]{2}")


class SnapshotMixture(BaseModel):
    """A mixture of a snapshot."""

    model_config = ConfigDict(frozen=True)

    name: str
    digest: str


class Snapshot(BaseModel):
    """A site of a date; digest: SHA-256 over the paths and the digests of its files, in order of paths."""

    model_config = ConfigDict(frozen=True)

    date: str
    path: str
    mixtures: tuple[SnapshotMixture, ...]
    files: int
    bytes: int
    digest: str


class SiteIndex(BaseModel):
    """What a folder of sites has, the newest first."""

    model_config = ConfigDict(frozen=True)

    made_by: Literal["mixture site"] = "mixture site"
    latest: str
    snapshots: tuple[Snapshot, ...]

    def table(self) -> pa.Table:
        """One row a mixture of a date."""
        rows = [
            (snapshot.date, mixture.name, mixture.digest)
            for snapshot in self.snapshots
            for mixture in snapshot.mixtures
        ]
        names = ("date", "mixture", "digest")
        return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})


@dataclass(frozen=True, slots=True)
class _RootLinks(FileLinks):
    """Links of the page above the dates, which loads what the newest has."""

    latest: str

    def asset(self, name: str) -> str:
        return f"{self.latest}/assets/{name}"


def check_date(date: str) -> None:
    """Raise MixtureError, `date-invalid`, for what is no day of the calendar, or not written as sites are called."""
    try:
        if not _DATE.fullmatch(date):
            raise ValueError
        datetime.date(*map(int, date.split(".")))
    except ValueError:
        raise MixtureError(f"{date!r} is no date", code="date-invalid", hint="2026.11.29 is right") from None


def check_names(names: Sequence[str]) -> None:
    """Raise MixtureError, `names-alike`, for two mixtures that would have one folder where case is not told apart."""
    known: dict[str, str] = {}
    for name in names:
        alike = known.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if alike != name:
            raise MixtureError(
                f"the mixtures {quote(alike)} and {quote(name)} differ in case only: on some systems their files "
                "would be the same",
                code="names-alike",
                hint="name another, or write each into a folder of its own",
            )


def site_index(folder: Path) -> SiteIndex | None:
    """What is in a folder of sites; None where there is nothing, or only what a killed first run has left.

    Raises MixtureError `folder-in-use` where something else is in it, or its index is lost or broken.
    """
    try:
        return SiteIndex.model_validate_json((folder / INDEX).read_bytes())
    except NotADirectoryError:
        raise _in_use(folder, "it is there already, and is no folder") from None
    except ValidationError:
        raise _in_use(folder / INDEX, "this is no index of a folder of sites, or a broken one") from None
    except FileNotFoundError:
        first = begun(folder)
        own = {PAGE, TABLE, first} if first else set()
        names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
        for name in names:
            if name not in own and not is_left_behind(name):
                message = f"it holds {quote(name)} and no {INDEX}, which says what sites are here"
                raise _in_use(folder, message) from None
        return None


def write_site(
    folder: Path,
    date: str,
    mixtures: Iterable[SnapshotMixture],
    files: Iterable[SiteFile],
    *,
    progress: Callable[[SiteFile], None] = lambda _: None,
) -> Snapshot:
    """Write a site below its date; one of that date that is there takes its place when it is whole.

    Raises MixtureError `date-invalid`, `names-alike`, `folder-in-use`, `site-running`, `file-not-written`; OSError.
    """
    named = tuple(mixtures)
    check_date(date)
    check_names([one.name for one in named])
    site_index(folder)
    with locked(folder):
        there = site_index(folder)  # once more: the run that had the lock may just have ended
        before = () if there is None else there.snapshots
        listed = {one.date for one in before}
        clear(folder, listed)
        if (folder / date).exists() and date not in listed:
            raise _in_use(folder / date, f"it is there already, and {INDEX} does not name it")
        with beside(folder, date) as path:
            made = _written(path, date, named, files, folder / date, progress)
            with noted(folder, date):
                put(path, folder / date)
                _write_index(folder, [made, *(one for one in before if one.date != date)])
    return made


def _write_index(folder: Path, snapshots: Sequence[Snapshot]) -> None:
    """Name the sites of a folder, the newest first, without those whose folder somebody has removed."""
    held = sorted(
        (snapshot for snapshot in snapshots if (folder / snapshot.date).is_dir()),
        key=lambda one: one.date,
        reverse=True,
    )
    index = SiteIndex(latest=held[0].date, snapshots=tuple(held))
    page = render("site.html", _RootLinks(PAGE, index.latest), index).encode()
    table = table_bytes(Format.CSV, index.table())
    for name, data in ((PAGE, page), (TABLE, table), (INDEX, json_bytes(index))):
        with _named(folder / name), whole_file(folder / name) as path:
            path.write_bytes(data)


def _written(
    folder: Path,
    date: str,
    mixtures: tuple[SnapshotMixture, ...],
    files: Iterable[SiteFile],
    final: Path,
    progress: Callable[[SiteFile], None],
) -> Snapshot:
    """Write the files below `folder`. final: where they will be, for errors."""
    digests: dict[str, str] = {}
    size = 0
    for file in files:
        path = folder / file.path
        with _named(final / file.path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        digests[file.path] = sha256(file.data).hexdigest()
        size += len(file.data)
        progress(file)
    return Snapshot(
        date=date,
        path=f"{date}/{PAGE}",
        mixtures=mixtures,
        files=len(digests),
        bytes=size,
        digest=sha256("".join(f"{path}\n{digests[path]}\n" for path in sorted(digests)).encode()).hexdigest(),
    )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of a file that is written name it: those of a full disk do not by themselves."""
    try:
        yield
    except OSError as error:
        raise MixtureError(
            f"can not be written: {error.strerror or error}", code="file-not-written", place=Place(file=str(path))
        ) from error


def _in_use(path: Path, message: str) -> MixtureError:
    return MixtureError(
        message, code="folder-in-use", place=Place(file=str(path)), hint="it is left as it is; name another with -o"
    )
