"""Splits of datasets: which files are training text, and which are kept to evaluate on."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from pathlib import PurePath

from mixture.data.texts.matching import FileFormat, SourceFile
from mixture.data.texts.saved_datasets import SPLITS
from mixture.errors import IngestError, Place, nearest
from mixture.units import quote

ALL = "all"
"""The split that is all of them, as Hugging Face `datasets` calls it."""
_WORDS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
}
"""Words in names of files and folders, which `datasets` takes for these splits."""
_BETWEEN = re.compile(r"[-._ 0-9]+")


def chosen_split(
    files: Sequence[SourceFile],
    split: tuple[str, Place] | None,
    *,
    named: Container[str],
    shown: str,
    place: Place,
) -> list[SourceFile]:
    """The files of a split; where none is named, all, which then are of one, but for those that are named in full.

    A split is a folder of a saved DatasetDict, or a word such as `test` in the name of a file of rows or its folder.
    Errors: IngestError `split-missing`, where files are of several and none is named; `no-files`.
    """
    splits = [_split(file) for file in files]
    found = [own for file, own in zip(files, splits, strict=True) if split is not None or file.shown not in named]
    names = sorted({name for name in found if name is not None})
    if split is None:
        if len(names) > 1:
            examples = ", ".join(f"{name} ({files[splits.index(name)].shown})" for name in names[:5])
            raise IngestError(
                f"{shown}: its files are of {len(names)} splits: {examples}",
                code="split-missing",
                place=place,
                hint=f"`split: {'train' if 'train' in names else names[0]}` reads one of them, `split: {ALL}` all",
            )
        return list(files)
    name, where = split
    if name == ALL:
        return list(files)
    wanted = name if name in names else _WORDS.get(name, name)
    chosen = [file for file, own in zip(files, splits, strict=True) if own == wanted]
    if not chosen:
        known = nearest(name, names) or (f"they are of {', '.join(names[:20])}" if names else "they name no split")
        message = f"{shown}: no file is of the split {quote(name)}"
        raise IngestError(message, code="no-files", place=where, hint=known)
    return chosen


def _split(file: SourceFile) -> str | None:
    """The split of a file; None: nothing names one."""
    if file.format is FileFormat.ARROW and (file.path.parent.parent / SPLITS).is_file():
        return file.path.parent.name
    if file.format is FileFormat.TEXT:
        return None
    path = PurePath(file.shown)
    for part in (path.name, *reversed(path.parts[:-1])):
        words = [_WORDS[word] for word in _BETWEEN.split(part.lower()) if word in _WORDS]
        if words:
            return words[0]
    return None
