"""The overview of a mixture's catalog: the one beside its table, else the one that its store keeps."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path

from mixture.api.registry.library import LoadedMixture
from mixture.errors import MixtureError
from mixture.planning.catalog import OVERVIEW, Catalog, Overview, check_overview, read_overview

logger = logging.getLogger("mixture.service")


def overview_of(mixture: LoadedMixture) -> Overview | None:
    """What a catalog's clusters are about, and how they were made; None where nobody says, or what is said is damaged.

    A published mixture has that of its store only: an overview is no part of what is published.
    """
    try:
        if mixture.folder is not None:
            path = mixture.folder / mixture.catalog.source.parent / OVERVIEW
            if path.is_file():
                status = path.stat()
                return _checked(path, (status.st_mtime_ns, status.st_size, status.st_ino), mixture.catalog)
        store = mixture.store
        return None if store is None else store.overview
    except (MixtureError, OSError) as error:
        _tell(mixture.name, str(error))
        return None


@lru_cache(maxsize=256)
def _tell(name: str, why: str) -> None:
    """Say it once, not for each page that is asked for."""
    logger.warning("the overview of %s is left out: %s", name, why)


@lru_cache(maxsize=64)
def _read(path: Path, written: tuple[int, int, int]) -> Overview:  # noqa: ARG001 the file is read again when it is another
    return read_overview(path)


def _checked(path: Path, written: tuple[int, int, int], catalog: Catalog) -> Overview:
    found = _read(path, written)
    check_overview(found, path, domains=catalog.names, columns=catalog.table.column_names)
    return found
