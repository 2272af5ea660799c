"""What the tests of docs/ read: pages, their fenced blocks, and the lines of worked values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the heading that it stands under."""

    language: str
    text: str
    heading: str


def page(name: str) -> str:
    """The text of a page of docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return list(_blocks(page(name)))


def _blocks(text: str) -> Iterator[Block]:
    fenced = [(match.start(), match.end()) for match in _BLOCK.finditer(text)]
    headings = [
        match for match in _HEADING.finditer(text) if not any(a < match.start() < b for a, b in fenced)
    ]  # `# …` in a block is a comment
    for match in _BLOCK.finditer(text):
        above = [heading[1] for heading in headings if heading.start() < match.start()]
        yield Block(match[1], match[2], above[-1] if above else "")


def worked_values(name: str) -> list[tuple[str, str]]:
    """(what is computed, its value as written) of all lines of a page's `values` blocks."""
    lines = [line for block in blocks(name) if block.language == "values" for line in block.text.splitlines()]
    return [(left.strip(), right.strip()) for left, _, right in (line.rpartition(" = ") for line in lines)]


def rows_of(name: str, *, head: str, beside: str | None = None) -> list[list[str]]:
    """The cells of all rows of a page's tables whose first column is called so, and another as `beside` says."""
    tables = re.findall(r"(?:^\|.*\n)+", page(name), re.MULTILINE)
    parted = [[[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()] for table in tables]
    return [row for first, _, *rows in parted if first[0] == head and beside in (None, *first) for row in rows]
