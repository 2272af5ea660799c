"""Attributes of documents, as text and as JSON has them."""

from __future__ import annotations

from mixture.json_text import json_number

Attribute = str | int | float | bool | None
"""What a document may say of itself under a name."""


def attribute_value(value: Attribute) -> Attribute:
    """An attribute as JSON has it: numbers and truth values as they are, as text what JSON has no number for."""
    return json_number(value) if isinstance(value, float) else value


def attribute_text(value: Attribute) -> str | None:
    """An attribute as text, whatever its type: numbers with all of their digits, `true` and `false`."""
    if value is None or isinstance(value, str):
        return value
    return ("true" if value else "false") if isinstance(value, bool) else repr(value)
