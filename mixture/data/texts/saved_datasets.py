"""Datasets that Hugging Face's `save_to_disk` wrote: which files of a folder hold rows, and which rows were chosen.

A folder has `state.json`, which lists its Arrow files, in order, and, in those of older versions, files of indices of
the rows that a `select`, `shuffle` or `filter` left; the folder above those of splits has `dataset_dict.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath

from mixture.errors import IngestError, Place
from mixture.json_text import parse_json
from mixture.units import quote

SPLITS = "dataset_dict.json"
STATE = "state.json"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which rows of a file an index chooses: it counts the rows of all files of its dataset.

    indices: files with the numbers of rows, in the file's folder; as_of: their sizes, and when they were written
    before:  the dataset's files before this one
    """

    indices: tuple[str, ...]
    as_of: tuple[tuple[int, int], ...]
    before: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SavedDataset:
    """A dataset's files by name, in the order of its rows."""

    folder: Path
    files: tuple[str, ...]
    indices: tuple[str, ...]

    def chosen(self, file: str) -> Chosen | None:
        """Which rows of a file are its; None: all."""
        if not self.indices:
            return None
        states = [(self.folder / name).stat() for name in self.indices]
        as_of = tuple((state.st_size, state.st_mtime_ns) for state in states)
        return Chosen(self.indices, as_of, self.files[: self.files.index(file)])


def saved_dataset(folder: Path) -> SavedDataset | None:
    """The dataset that was saved in a folder; None: none was.

    Errors: IngestError `source-unreadable`, where a file that it lists is not there.
    """
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        files, indices = listed_files(path)
    except ValueError:
        return None
    for name in (*files, *indices):
        if not (folder / name).is_file():
            message = f"lists the file {quote(name)}, which is not there"
            raise IngestError(message, code="source-unreadable", place=Place(file=str(path)))
    return SavedDataset(folder, files, indices)


def listed_files(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of rows, and those of indices, that a state.json lists. Errors: ValueError, where it does not."""
    try:
        state = parse_json(path.read_bytes())
        indices = state.get("_indices_data_files") or state.get("_indices_files") or []
        return _names(state["_data_files"]), _names(indices)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(error) from error


def _names(listed: list[dict[str, str]]) -> tuple[str, ...]:
    names = tuple(one["filename"] for one in listed)
    if any(PurePath(name).name != name for name in names):
        raise ValueError("a file of a dataset lies in its folder")
    return names
