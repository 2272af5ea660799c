"""Sites in a folder, one a date: each is whole or not there, and those of other dates stay as they are.

DIR/index.html, index.json    what there is, the newest first
DIR/2026.11.29/…              a site
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from api.formats import json_bytes
from api.pages.links import FileLinks
from api.pages.render import render
from api.pages.site import SiteFile
from mixture.errors import MixtureError, Place
from mixture.whole_file import whole_file

INDEX, PAGE = "index.json", "index.html"
_DATE = re.compile(r"\d{4}\.(0[1-9]|1[0-2])\.(0[1-9]|[12]\d|3[01])")


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


@dataclass(frozen=True, slots=True)
class _RootLinks(FileLinks):
    """Links of the page above the dates, which loads what the newest has."""

    latest: str

    def asset(self, name: str) -> str:
        return f"{self.latest}/assets/{name}"


def check_date(date: str) -> None:
    """Raise MixtureError, `date-invalid`, for what is no date as sites are called by."""
    if not _DATE.fullmatch(date):
        raise MixtureError(f"{date!r} is no date", code="date-invalid", hint="2026.11.29 is right")


def site_index(folder: Path) -> SiteIndex | None:
    """What is in a folder of sites; None where there is nothing.

    Raises MixtureError `folder-in-use` where something else is in it.
    """
    try:
        return SiteIndex.model_validate_json((folder / INDEX).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return None
    except ValidationError:
        pass
    raise _in_use(folder)


def write_site(
    folder: Path,
    date: str,
    mixtures: Iterable[SnapshotMixture],
    files: Iterable[SiteFile],
    *,
    progress: Callable[[SiteFile], None] = lambda _: None,
) -> Snapshot:
    """Write a site below its date; one of that date that is there takes its place when it is whole.

    Raises MixtureError `date-invalid`, `folder-in-use`; OSError.
    """
    check_date(date)
    there = site_index(folder)
    before = () if there is None else there.snapshots
    if (folder / date).exists() and date not in {one.date for one in before}:
        raise _in_use(folder / date)
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{date}.{secrets.token_hex(4)}.tmp"
    try:
        digests: dict[str, str] = {}
        size = 0
        for file in files:
            path = beside / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
            digests[file.path] = sha256(file.data).hexdigest()
            size += len(file.data)
            progress(file)
        _put(beside, folder / date)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    made = Snapshot(
        date=date,
        path=f"{date}/{PAGE}",
        mixtures=tuple(mixtures),
        files=len(digests),
        bytes=size,
        digest=sha256("".join(f"{path}\n{digests[path]}\n" for path in sorted(digests)).encode()).hexdigest(),
    )
    held = [made, *(one for one in before if one.date != date and (folder / one.date).is_dir())]
    held.sort(key=lambda one: one.date, reverse=True)
    index = SiteIndex(latest=held[0].date, snapshots=tuple(held))
    with whole_file(folder / PAGE) as path:
        path.write_text(render("site.html", _RootLinks(PAGE, index.latest), index), encoding="utf-8")
    with whole_file(folder / INDEX) as path:
        path.write_bytes(json_bytes(index))
    return made


def _put(beside: Path, path: Path) -> None:
    """Give a folder its name, in the place of the one that has it."""
    if not path.exists():
        beside.rename(path)
        return
    old = beside.with_suffix(".old")
    path.rename(old)
    beside.rename(path)
    shutil.rmtree(old)


def _in_use(folder: Path) -> MixtureError:
    return MixtureError(
        "there is something else in this folder, which is left as it is",
        code="folder-in-use",
        place=Place(file=str(folder)),
        hint="name another with -o",
    )
