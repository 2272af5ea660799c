"""JSON read strictly: no key twice, no NaN, errors with line and column."""

from __future__ import annotations

from pathlib import Path

from mixture.errors import CatalogError, Place
from mixture.json_text import JsonError, finite, parse_json


def parse_value(path: Path, text: str, *, line: int = 1) -> object:
    """The value of a JSON text, which begins on this line of a file. Raises CatalogError `bad-json`."""
    try:
        return parse_json(text, number=finite)
    except JsonError as error:
        place = Place(file=str(path), line=line + (error.line or 1) - 1, column=error.column)
        message = "can not be read as JSON" if error.line is None else "not JSON"
        hint = "one object a line is named .jsonl" if error.reason == "Extra data" else None
        raise CatalogError(f"{message}: {error.reason}", code="bad-json", place=place, hint=hint) from error
