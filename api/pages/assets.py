"""The files that pages load: style sheet, scripts, icon. All are in this package; nothing comes from other hosts."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@lru_cache(maxsize=1)
def assets() -> dict[str, bytes]:
    """The files of api/pages/static by name."""
    folder = files("mixture.api.pages").joinpath("static")
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.name.endswith(tuple(KINDS))}
