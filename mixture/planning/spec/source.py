"""The text of a spec file: read within bounds, UTF-8, and only characters that a text has."""

from __future__ import annotations

import re
from pathlib import Path

from mixture.errors import Place
from mixture.file_names import SPEC_FILE
from mixture.planning.yamlfile import refuse
from mixture.units import quote

LARGEST_FILE = 4 * 2**20

# Nor what turns the order of the text behind it: a reviewer would read another spec than the one that is planned.
_NOT_TEXT = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def read_source(path: Path) -> bytes:
    """The bytes of a spec file. Raises SpecError where there is none, or one too large to be a spec."""
    place = Place(file=str(path))
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        refuse(place, "there is no such file", code="file-missing")
    except IsADirectoryError:
        spec = path / SPEC_FILE
        hint = f"did you mean {spec}?" if spec.is_file() else "expected a YAML file"
        refuse(place, "this is a directory", code="file-unreadable", hint=hint)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        refuse(place, f"this can not be read: {reason}", code="file-unreadable")
    return data


def decode_source(data: bytes, *, file: str) -> str:
    """The text of a spec file. Raises SpecError at the first byte or character that is not text."""
    if len(data) > LARGEST_FILE:
        place = Place(file=file)
        hint = "long weights go into a table"
        refuse(place, f"a spec has at most {LARGEST_FILE:,} bytes", code="file-too-large", hint=hint)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        place = Place(file=file, line=1, column=1)
        refuse(place, "the file is UTF-16", code="not-utf-8", hint="save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec counts from behind a byte order mark.
        start = error.object[: error.start].decode()
        found = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        refuse(_place_behind(start, file), found, code="not-utf-8", hint="save it as UTF-8")
    odd = _NOT_TEXT.search(text)
    if odd:
        found = f"the file holds the character {quote(odd[0])}"
        refuse(_place_behind(text[: odd.start()], file), found, code="not-text", hint="a spec is plain text")
    return text


def _place_behind(start: str, file: str) -> Place:
    lines = re.split("\r\n|\r|\n", start)
    return Place(file=file, line=len(lines), column=len(lines[-1]) + 1)
