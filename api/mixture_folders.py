"""The folders that mixtures are shown from: each is one, or holds some; and the store that lies in one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from mixture.file_names import LOCK_FILE, SPEC_FILE

OWN_STORE = "store"
"""A mixture's own store, in its folder."""

logger = logging.getLogger("mixture.service")


def mixture_folders(folders: Sequence[Path]) -> Iterator[Path]:
    """Those of mixtures, in order."""
    for folder in folders:
        if _is_mixture(folder):
            yield folder
        else:
            yield from filter(_is_mixture, _inside(folder))


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        _tell(folder, error.strerror or type(error).__name__)
        return []


@lru_cache(maxsize=256)
def _tell(folder: Path, why: str) -> None:
    """Say it once, not at each look."""
    logger.warning("the folder %s can not be read: %s", folder, why)


def _is_mixture(folder: Path) -> bool:
    try:
        return (folder / LOCK_FILE).is_file() or (folder / SPEC_FILE).exists()
    except OSError as error:
        _tell(folder, error.strerror or type(error).__name__)
        return False
