"""The output folder while it is made: one run at a time, and none that goes on with other options."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixture.errors import ClusterError, Place
from mixture.planning.catalog import OVERVIEW
from mixture.units import quote
from mixture.whole_file import whole_file

WORK = "work"
_ASKED = "asked.json"
_LOCK = "lock"
_OF_THE_FIT = ("k", "quality", "sample", "floor")  # until it is made, they may be changed
_OF_THE_END = ("date",)


@dataclass(frozen=True, slots=True)
class Workplace:
    """The output folder and what restarts need in it."""

    out: Path

    @property
    def work(self) -> Path:
        return self.out / WORK

    def vectors(self, number: int) -> Path:
        """Where a partition's vectors are."""
        return self.work / "vectors" / f"part-{number:05d}.arrow"

    def receipt(self, number: int) -> Path:
        """What is there once a partition is written."""
        return self.work / "written" / f"part-{number:05d}.json"

    @property
    def model(self) -> Path:
        return self.work / "model.npz"

    def clear(self, name: str) -> None:
        """Remove what a killed run left half written."""
        for path in self.out.rglob(name):
            path.unlink(missing_ok=True)


@contextmanager
def workplace(out: Path, asked: Mapping[str, Any]) -> Iterator[Workplace]:
    """The output folder, for this process alone; left as it is, so that a run that is started again goes on.

    asked: all that decides the result. Errors: ClusterError `clusters-exist`, `folder-in-use`, `cluster-running`,
    `asked-otherwise`.
    """
    place = Workplace(out)
    _check(place)
    for folder in (place.work, place.vectors(0).parent, place.receipt(0).parent):
        folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place.work / _LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another run is writing these clusters"
            raise ClusterError(message, code="cluster-running", place=Place(file=str(out))) from None
        _check(place)  # once more: the run that held the lock may just have ended
        _go_on(place, asked)
        place.clear(".*.tmp")
        yield place
    finally:
        os.close(descriptor)


def _check(place: Workplace) -> None:
    """Refuse a folder that is finished, or not ours: nothing is ever written over."""
    where = Place(file=str(place.out))
    if not os.path.lexists(place.out):
        return
    if not place.out.is_dir():
        raise ClusterError("it is there already, and is no folder", code="folder-in-use", place=where)
    if (place.out / OVERVIEW).exists():
        raise ClusterError(
            "there are finished clusters already",
            code="clusters-exist",
            place=where,
            hint="remove them, or choose another folder",
        )
    names = sorted(entry.name for entry in place.out.iterdir())
    if names and not (place.work / _LOCK).exists():
        raise ClusterError(
            f"it holds {quote(names[0])}, which no run has made",
            code="folder-in-use",
            place=where,
            hint="a new or empty folder is right here",
        )


def _go_on(place: Workplace, asked: Mapping[str, Any]) -> None:
    """Note what is asked for, or refuse to go on with something else where that has decided what is there."""
    path = place.work / _ASKED
    now = json.loads(json.dumps(asked))
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else now
    begun = any(place.vectors(0).parent.iterdir())
    free = {*_OF_THE_END, *(() if place.model.exists() else _OF_THE_FIT)}
    for name in sorted({*before, *now} if begun else ()):
        if before.get(name) != now.get(name) and name not in free:
            values = f": {before.get(name)!r}, now {now.get(name)!r}" if name != "files" else ""
            raise ClusterError(
                f"a run that was begun here had other {name}{values}",
                code="asked-otherwise",
                place=Place(file=str(place.out)),
                hint="the same again goes on; remove the folder, or choose another",
                name=name,
            )
    with whole_file(path) as beside:
        beside.write_text(json.dumps(now, indent=1), encoding="utf-8")
