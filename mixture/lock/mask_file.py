"""The file that says what is taken down: a document or a range of tokens a line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from mixture.errors import AmendError, Place
from mixture.json_text import parse_json

FORMS = (
    'an id as it is, {"document": ID}, {"domain": D, "document": ID} or {"domain": D, "first_token": A, "tokens": N}'
)

_STRICT = ConfigDict(extra="forbid", strict=True)
_Text = Annotated[str, Field(min_length=1)]


@checked_dataclass(frozen=True, slots=True, config=_STRICT)
class MaskedDocument:
    """A document by its id, in all domains that have it, or in one."""

    document: _Text
    domain: _Text | None = None


@checked_dataclass(frozen=True, slots=True, config=_STRICT)
class MaskedRange:
    """A range of a domain's tokens."""

    domain: _Text
    first_token: Annotated[int, Field(ge=0, lt=1 << 63)]
    tokens: Annotated[int, Field(ge=1, lt=1 << 63)]


@dataclass(frozen=True, slots=True)
class MaskLine:
    """What a line takes down, and where the line is."""

    what: MaskedDocument | MaskedRange
    place: Place


_KINDS: dict[bool, TypeAdapter[Any]] = {True: TypeAdapter(MaskedDocument), False: TypeAdapter(MaskedRange)}


def read_mask_file(path: str | os.PathLike[str]) -> tuple[MaskLine, ...]:
    """The lines of a file in UTF-8, in order; empty ones are skipped.

    Lines end as on any system. One that begins with `{` is JSON, any other the id of a document, to the end of the
    line. Raises AmendError `mask-file-invalid`, with the line, and `mask-file-missing` where the file can not be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        place = Place(file=os.fspath(path))
        raise AmendError(f"can not be read: {error.strerror}", code="mask-file-missing", place=place) from error
    except UnicodeDecodeError as error:
        place = Place(file=os.fspath(path))
        raise AmendError(f"not UTF-8: {error}", code="mask-file-invalid", place=place) from error
    lines = ((line, Place(file=os.fspath(path), line=number)) for number, line in enumerate(text.split("\n"), start=1))
    return tuple(MaskLine(_what(line, place), place) for line, place in lines if line.strip())


def _what(line: str, place: Place) -> MaskedDocument | MaskedRange:
    if not line.startswith("{"):
        return MaskedDocument(line)
    try:
        said = parse_json(line)
        what: MaskedDocument | MaskedRange = _KINDS["document" in said].validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise AmendError(f"{where}{first['msg']}", code="mask-file-invalid", place=place, hint=FORMS) from error
    except ValueError as error:
        raise AmendError(f"not JSON: {error}", code="mask-file-invalid", place=place, hint=FORMS) from error
    return what
