"""The files that mixtures are shown from: a spec and its lock, in a folder of theirs or named; and a folder's store."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mixture.file_names import LOCK_FILE, SPEC_FILE

OWN_STORE = "store"
"""A mixture's own store, in its folder."""

logger = logging.getLogger("mixture.service")


@dataclass(frozen=True, slots=True)
class MixtureFiles:
    """Where a mixture is read from: the names of its spec and its lock, in a folder.

    path: what says so: the folder, or one of the files
    lock: None: it is made from the spec, and written nowhere
    """

    path: Path
    folder: Path
    spec: str = SPEC_FILE
    lock: str | None = LOCK_FILE


def mixture_files(paths: Sequence[Path]) -> Iterator[MixtureFiles]:
    """The mixtures at paths, in order: each is a mixture's folder, a folder of those, a spec, or a lock (.json)."""
    for path in paths:
        if path.is_file():
            yield _of_lock(path) if path.suffix == ".json" else _of_spec(path)
        elif _is_mixture(path):
            yield MixtureFiles(path, path)
        else:
            yield from (MixtureFiles(folder, folder) for folder in _inside(path) if _is_mixture(folder))


def _of_lock(path: Path) -> MixtureFiles:
    """A lock, and the spec that lies beside it under its name, or as mixture.yaml."""
    stem = path.name.removesuffix(".json").removesuffix(".lock")
    names = [f"{stem}.yaml", f"{stem}.yml", SPEC_FILE]
    spec = next((name for name in names if path.with_name(name).is_file()), names[0])
    return MixtureFiles(path, path.parent, spec, path.name)


def _of_spec(path: Path) -> MixtureFiles:
    """A spec, and the lock that lies beside it under its name."""
    lock = path.with_suffix(".lock.json")
    return MixtureFiles(path, path.parent, path.name, lock.name if lock.is_file() else None)


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        _tell(folder, error.strerror or type(error).__name__)
        return []


@lru_cache(maxsize=256)
def _tell(folder: Path, why: str) -> None:
    """Say it once, not at each look."""
    logger.warning("the folder %s cannot be read: %s", folder, why)


def _is_mixture(folder: Path) -> bool:
    try:
        return (folder / LOCK_FILE).is_file() or (folder / SPEC_FILE).exists()
    except OSError as error:
        _tell(folder, error.strerror or type(error).__name__)
        return False
