"""A changed spec for another folder: its paths of tables lead to the same tables."""

from __future__ import annotations

from os.path import relpath
from pathlib import Path

from mixture.data.storage import Address, located
from mixture.planning.spec import edit_spec, named_tables
from mixture.planning.whatif.whatif import WhatIf


def relocated_text(changed: WhatIf, path: Path) -> str:
    """The text of a changed spec for a file at this path."""
    spec = changed.plan.spec
    here, there = spec.path.parent.resolve(), path.parent.resolve()
    if here == there:
        return changed.spec_text
    tables = {
        key: Path(relpath(table.resolve(), there)).as_posix()
        for key, table in named_tables(spec)
        if not isinstance(located(table), Address)
    }
    return edit_spec(changed.spec_text, {}, tables=tables)
