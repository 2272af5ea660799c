"""Attributes of documents as text."""

from __future__ import annotations

Attribute = str | int | float | bool | None
"""What a document may say of itself under a name."""


def attribute_text(value: Attribute) -> str | None:
    """An attribute as text, whatever its type: numbers with all of their digits, `true` and `false`."""
    if value is None or isinstance(value, str):
        return value
    return ("true" if value else "false") if isinstance(value, bool) else repr(value)
