"""Patterns over addresses of objects."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import PurePosixPath

from mixture.data.storage import Address, Blocks
from mixture.data.texts import reason_to_skip
from mixture.errors import IngestError, Place
from mixture.units import quote

_ANY_DEPTH = "**"


def matching_objects(pattern: Address, blocks: Blocks, place: Place) -> list[str]:
    """The addresses of a pattern's objects, in order: of a folder, all below it.

    Names are matched as those of files are: `*` within one, `**` any number of folders; markers and what is hidden are
    left out.

    Errors: IngestError `no-files`, `source-unreadable`; StoreError, those of `Blocks`.
    """
    parts = PurePosixPath(pattern.path).parts
    has_magic = glob.has_magic(pattern.path)
    if not has_magic and (pattern.is_web or blocks.objects.is_there(pattern)):
        return [str(pattern)]
    plain = tuple(takewhile(lambda part: not glob.has_magic(part), parts)) if has_magic else parts
    folder = Address(pattern.root, "/".join(plain))
    listed = blocks.objects.listed(folder)
    if listed is None:
        message = f"{place.path}: {quote(str(pattern))} is a pattern, and a web server lists no files"
        raise IngestError(message, code="source-unreadable", place=place, hint="name them one by one")
    asked = parts if has_magic else (*parts, _ANY_DEPTH)
    found = [path for path in listed if _is_meant(PurePosixPath(path), asked)]
    if not found:
        raise IngestError(f"{place.path}: no object matches {quote(str(pattern))}", code="no-files", place=place)
    return [str(Address(pattern.root, path)) for path in sorted(found)]


def _is_meant(path: PurePosixPath, asked: Sequence[str]) -> bool:
    return _matches(path.parts, asked) and reason_to_skip(path, PurePosixPath(*asked)) is None


def _matches(parts: Sequence[str], asked: Sequence[str]) -> bool:
    if not asked:
        return not parts
    first, rest = asked[0], asked[1:]
    if first == _ANY_DEPTH:
        return not rest or any(_matches(parts[depth:], rest) for depth in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], first) and _matches(parts[1:], rest)
