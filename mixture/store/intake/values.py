"""What counts as a text, an id, an attribute."""

from __future__ import annotations

import json
import re

from mixture.store.intake.report import Reason

# White space, control characters, and those without width: a text of these alone would be an empty document. The list
# is ours, for that of Python's own tables differs between its versions.
_BLANK = re.compile(
    "[\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]*"
)


def document_text(value: object) -> str | Reason:
    """The text of a document, or why it has none. Bytes are UTF-8. Nothing is replaced or stripped."""
    if value is None:
        return Reason.NULL_TEXT
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return Reason.INVALID_UTF8
    if not isinstance(value, str):
        return Reason.NOT_TEXT
    if not value:
        return Reason.EMPTY_TEXT
    if _BLANK.fullmatch(value):
        return Reason.BLANK_TEXT
    try:
        value.encode()
    except UnicodeEncodeError:
        return Reason.LONE_SURROGATE
    return value


def value_text(value: object) -> str | None:
    """An id or an attribute as text: itself, or as JSON writes it. What UTF-8 can not hold is written as an escape."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text.encode(errors="backslashreplace").decode()
