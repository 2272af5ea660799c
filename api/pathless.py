"""What errors and plans say, without the folders of this server: files go by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mixture.errors import MixtureError

_FOLDERS = re.compile(r"(?<![^\s'\"(])/(?:[^/\s'\"]+/)+")
"""An absolute path up to its last part."""


def without_folders(plan: dict[str, object]) -> dict[str, object]:
    """A plan's JSON with the names of files alone in the places of findings."""
    findings = plan["findings"]
    assert isinstance(findings, list)
    for finding in findings:
        if finding["place"] is not None and finding["place"]["file"] is not None:
            finding["place"]["file"] = Path(finding["place"]["file"]).name
    return plan


def reason_without(folder: Path, error: MixtureError | OSError) -> str:
    """Why something in a folder can not be read, with the place in its file."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    message = _FOLDERS.sub("", error.message.replace(f"{folder}/", ""))
    place = error.place
    if place is None or place.file is None:
        return message
    return f"{replace(place, file=Path(place.file).name)}: {message}"


@contextmanager
def told_without(folder: Path) -> Iterator[None]:
    """Take the folder out of what errors say: files are named as the spec names them."""
    try:
        yield
    except MixtureError as error:
        for single in (error, *getattr(error, "errors", ())):
            _take_out(f"{folder}/", single)
        raise


def _take_out(prefix: str, error: MixtureError) -> None:
    error.message = error.message.replace(prefix, "")
    if error.hint is not None:
        error.hint = error.hint.replace(prefix, "")
    if error.place is not None and error.place.file is not None:
        error.place = replace(error.place, file=error.place.file.removeprefix(prefix))
