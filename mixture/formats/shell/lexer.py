"""Words and operators of a shell script, as written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mixture.errors import Place

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[([^\]]*)\])?(\+?)=", re.ASCII)
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1", re.ASCII)
_OPERATORS = ("\n", ";;&", ";;", ";&", ";", "&&", "&", "||", "|&", "|", "(", ")")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written; of `NAME=(…)` also the words of the list."""

    text: str
    place: Place
    items: tuple[str, ...] | None = None


class UnclosedError(Exception):
    """A quote or a bracket is not closed."""


def past(text: str, at: int) -> int:
    """The index after a character, or after all that it opens. Raises UnclosedError."""
    match text[at]:
        case "\\":
            return min(at + 2, len(text))
        case "'" | "`":
            return _index(text, text[at], at + 1) + 1
        case '"':
            at += 1
            while at < len(text) and text[at] != '"':
                at = past(text, at) if text[at] in "\\$`" else at + 1
            return _index(text, '"', at) + 1
        case "$" if text.startswith(("$(", "${"), at):
            return _past_brackets(text, at + 1)
    return at + 1


def _past_brackets(text: str, at: int) -> int:
    opens, depth = text[at], 0
    closes = {"(": ")", "{": "}"}[opens]
    while at < len(text):
        depth += (text[at] == opens) - (text[at] == closes)
        if not depth:
            return at + 1
        at = past(text, at) if text[at] in "\\'\"`" else at + 1
    raise UnclosedError(f"no closing {closes}")


def _index(text: str, what: str, at: int) -> int:
    index = text.find(what, at)
    if index < 0:
        raise UnclosedError("no closing quotation mark")
    return index


@dataclass(slots=True)
class Lexer:
    """Words and operators of a script."""

    text: str
    file: str
    line: int
    """The line of the last place that was computed, at the index `lined`: places are computed in order."""
    lined: int = 0
    at: int = 0
    begins: int = 0
    here: list[str] = field(default_factory=list)
    last: Word | None = None

    def tokens(self) -> Iterator[Word | str]:
        """In the order written; operators are texts. A word is given when the token after it begins."""
        is_new = True
        while self.at < len(self.text):
            if self._is_blank():
                continue
            operator = self._operator()
            if operator is not None:
                yield from self._given()
                yield operator
                self.at += len(operator)
                is_new = True
                if operator == "\n":
                    self._skip_here()
            elif self._is_redirection():
                self._skip_redirection()
            else:
                yield from self._given()
                self.begins = self.at if is_new else self.begins
                is_new = False
                self.last = self._word()
        yield from self._given()

    def place(self, at: int) -> Place:
        """The place of an index."""
        self.line += self.text.count("\n", self.lined, at)
        self.lined = max(self.lined, at)
        return Place(file=self.file, line=self.line)

    def _given(self) -> Iterator[Word]:
        if self.last is not None:
            yield self.last
            self.last = None

    def _is_blank(self) -> bool:
        """Goes over a blank, a comment or the end of a line that is continued."""
        if self.text.startswith("\\\n", self.at):
            self.at += 2
        elif self.text[self.at] in " \t\r":
            self.at += 1
        elif self.text[self.at] == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        else:
            return False
        return True

    def _operator(self) -> str | None:
        if self.text.startswith(("((", "&>"), self.at):
            return None
        return next((operator for operator in _OPERATORS if self.text.startswith(operator, self.at)), None)

    def _is_redirection(self) -> bool:
        if self.text.startswith("<<<", self.at) or self.text.startswith(("<(", ">("), self.at):
            return False
        return self.text[self.at] in "<>" or self.text.startswith("&>", self.at)

    def _word(self) -> Word:
        start, place = self.at, self.place(self.at)
        if self.text.startswith("<<<", start):
            self.at += 3
            return Word("<<<", place)
        if self.text.startswith(("((", "<(", ">("), start):
            self.at = _past_brackets(self.text, start + (self.text[start] != "("))
            return Word(self.text[start : self.at], place)
        text = self._raw(" \t\r\n;&|<>()")
        if self.text.startswith("(", self.at) and ASSIGNMENT.fullmatch(text):
            self.at += 1
            return Word(text, place, tuple(self._items()))
        return Word(text, place)

    def _items(self) -> Iterator[str]:
        """The words of a list, to its end."""
        while not self.text.startswith(")", self.at):
            if self.at >= len(self.text):
                raise UnclosedError("no closing )")
            if self.text[self.at] == "\n":
                self.at += 1
            elif not self._is_blank():
                yield self._raw(" \t\r\n)")
        self.at += 1

    def _raw(self, ends: str) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ends:
            self.at = past(self.text, self.at)
        return self.text[start : self.at]

    def _skip_redirection(self) -> None:
        """Goes over where input comes from and output goes to; texts of the following lines are noted."""
        if self.last is not None and self.last.text in ("0", "1", "2") and self.text[self.at - 1].isdigit():
            self.last = None
        here = _HERE.match(self.text, self.at)
        if here is not None:
            self.here.append(here[2])
            self.at = here.end()
            return
        while self.at < len(self.text) and self.text[self.at] in "<>& \t":
            self.at += 1
        if self.text.startswith("(", self.at):
            self.at = _past_brackets(self.text, self.at)
        else:
            self._raw(" \t\r\n;|&<>()")

    def _skip_here(self) -> None:
        for end in self.here:
            match = re.compile(rf"^\t*{end}$", re.MULTILINE).search(self.text, self.at)
            self.at = len(self.text) if match is None else match.end()
        self.here = []
