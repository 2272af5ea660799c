"""Text in CSV that a spreadsheet would compute: what begins with `=`, `+`, `-` or `@` is a formula to it.

Such a text gets an apostrophe before it, as spreadsheets write text; a number is left as it is. It is for tables that
people look at: what is written to be read back by a program stays exact.
"""

from __future__ import annotations

import re

COMPUTED = "^[=+\\-@\t\r\n＝＋－＠]"
NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
"""Patterns for `re` and for RE2, which Arrow has."""
APOSTROPHE = "'"

_COMPUTED, _NUMBER = re.compile(COMPUTED), re.compile(NUMBER)


def defused(text: str) -> str:
    """The text of a cell, with an apostrophe before it where a spreadsheet would compute it."""
    return f"{APOSTROPHE}{text}" if _COMPUTED.match(text) and not _NUMBER.match(text) else text
