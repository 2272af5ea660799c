"""Texts out of the formats that packages keep them in."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from html.parser import HTMLParser

_BASE64 = {
    letter: value for value, letter in enumerate(string.ascii_uppercase + string.ascii_lowercase + "0123456789+/")
}
_SPACE_BEFORE = re.compile(r" (?=[.,;:?!)\]])")
_SPACE_BEHIND = re.compile(r"(?<=[(\[]) ")
_QUOTED = re.compile(r"`` ?(.*?) ?''", re.DOTALL)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_SPACES = re.compile(r"[ \t\r\n]+")


def untagged(text: str) -> str:
    """A text whose every word has its part of speech behind a slash, as in `jury/nn`, as it was before.

    Words may hold slashes themselves: `1-1/2/cd` is `1-1/2`.
    """
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text):
        words = [word.rpartition("/")[0] or word for word in paragraph.split()]
        if words:
            joined = _QUOTED.sub(r'"\1"', " ".join(words))
            paragraphs.append(_SPACE_BEHIND.sub("", _SPACE_BEFORE.sub("", joined)))
    return "\n\n".join(paragraphs)


def html_text(text: str, *, without: frozenset[str] = frozenset()) -> str:
    """The text of a page: blocks as paragraphs, `pre` as it stands; scripts, styles and the head are left out.

    without: classes of elements that are left out too, such as those of navigation
    """
    reader = _HtmlText(without)
    reader.feed(text)
    reader.close()
    return _BLANK_LINES.sub("\n\n", "".join(reader.parts)).strip()


class _HtmlText(HTMLParser):
    _OUT = frozenset({"head", "script", "style"})
    _BLOCKS = frozenset(
        ("p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "pre", "hr")
    )
    _EMPTY = frozenset(("br", "col", "hr", "img", "input", "link", "meta", "wbr"))

    def __init__(self, without: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._without = without
        self._open: list[tuple[str, bool]] = []  # elements that are open, and whether each is left out
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._BLOCKS:
            self.parts.append("\n\n")
        if tag == "br":
            self.parts.append("\n")
        if tag in self._EMPTY:
            return
        classes = set((dict(attrs).get("class") or "").split())
        self._open.append((tag, tag in self._OUT or bool(classes & self._without)))
        self._pre += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 its base has it
        """An element without content, `<a id="x" />`, leaves nothing open."""
        if tag in self._BLOCKS or tag == "br":
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if all(name != tag for name, _ in self._open):
            return
        while True:  # what was left open inside it ends with it
            name, _ = self._open.pop()
            self._pre -= name == "pre"
            if name == tag:
                break
        if tag in self._BLOCKS:
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not any(left_out for _, left_out in self._open):
            self.parts.append(data if self._pre else _SPACES.sub(" ", data))


def dictionary_entries(index: str, data: bytes) -> Iterator[tuple[str, str]]:
    """The headword and text of each entry of a dictionary in the format of dictd, those about itself left out.

    index has a headword, an offset and a length a line, the numbers in base 64, highest digit first. An entry that
    stands under several headwords is given once, under the first.
    """
    seen: set[tuple[int, int]] = set()
    for line in index.splitlines():
        word, offset, length = line.split("\t")[:3]
        place = (_number(offset), _number(length))
        if place in seen or word.startswith(("00-database", "00database")):
            continue
        seen.add(place)
        yield word, data[place[0] : place[0] + place[1]].decode("utf-8", errors="surrogateescape").strip()


def _number(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 64 + _BASE64[digit]
    return value
