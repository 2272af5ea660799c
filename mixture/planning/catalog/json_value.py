"""JSON read strictly: no key twice, no NaN, errors with line and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Never

from mixture.errors import CatalogError, Place
from mixture.json_text import unique_object


def parse_json(path: Path, text: str, *, line: int = 1) -> object:
    """The value of a JSON text, which begins on this line of a file. Raises CatalogError `bad-json`."""
    try:
        return json.loads(text, object_pairs_hook=unique_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = Place(file=str(path), line=line + error.lineno - 1, column=error.colno)
        hint = "one object a line is named .jsonl" if error.msg == "Extra data" else None
        raise CatalogError(f"not JSON: {error.msg}", code="bad-json", place=place, hint=hint) from error
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        place = Place(file=str(path), line=line)
        raise CatalogError(f"can not be read as JSON: {why}", code="bad-json", place=place) from error


def _no_constant(word: str) -> Never:
    raise ValueError(f"{word} is not a number")
