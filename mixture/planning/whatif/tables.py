"""Paths of tables for a spec in another folder."""

from __future__ import annotations

from os.path import relpath
from pathlib import Path

from mixture.data.storage import Address, located
from mixture.planning.spec import Spec, named_tables


def relative_tables(spec: Spec, folder: Path) -> dict[str, str]:
    """The paths from a folder to the tables of a spec, by the key that names them; empty if the spec is in it."""
    target = folder.resolve()
    if spec.path.parent.resolve() == target:
        return {}
    return {
        key: Path(relpath(table.resolve(), target)).as_posix()
        for key, table in named_tables(spec)
        if not isinstance(located(table), Address)
    }
