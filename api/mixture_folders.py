"""The folders that mixtures are shown from: each is one, or holds some; and the store that lies in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mixture.file_names import LOCK_FILE, SPEC_FILE

OWN_STORE = "store"
"""A mixture's own store, in its folder."""


def mixture_folders(folders: Sequence[Path]) -> Iterator[Path]:
    """Those of mixtures, in order."""
    for folder in folders:
        if _is_mixture(folder):
            yield folder
        elif folder.is_dir():
            yield from filter(_is_mixture, sorted(folder.iterdir()))


def _is_mixture(folder: Path) -> bool:
    return (folder / LOCK_FILE).is_file() or (folder / SPEC_FILE).exists()
