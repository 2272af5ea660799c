"""Commands of a shell script as the programs that they start would see them. Nothing is run.

Read: variables, also those set on the line of a command, lists, quotes, `${NAME%PATTERN}` and its like, arithmetic of
integers, `read -ra` and loops over lists. What only a run can say stays as it is written: `$(command)`, variables from
elsewhere, and those that are set under a condition.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from mixture.errors import FormatError, Place
from mixture.formats.declared import SourceFile

LARGEST_TEXT = 1 << 22
"""Characters of a variable or a command: loops can double them."""
LONGEST_CUT = 4096
"""Characters of a value that `${NAME%PATTERN}` cuts: the time grows with their square."""
LARGEST_NUM_STATEMENTS = 100_000
DEEPEST = 8
"""Loops in loops, and scripts in scripts."""

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PARAMETER = re.compile(r"([A-Za-z_]\w*)(\[[@*]\])?(?:(%%|%|##|#|:-|-)(.*))?", re.ASCII | re.DOTALL)
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1", re.ASCII)
_SETS = ("export", "local", "readonly", "declare", "env")
_LEADS = ("then", "else", "elif", "do", "!", "time", "{", "function")
_CLOSES = {"if": "fi", "case": "esac", "while": "done", "until": "done", "for": "done", "select": "done"}
_LARGEST_INTEGER = 1 << 63


def commands(source: SourceFile) -> Iterator[tuple[list[str], Place]]:
    """The words of each command, in order, and where it begins. Raises FormatError `not-arguments`."""
    yield from _Shell().run(_Lexer(source.text, str(source.path), 1).statements(), 0)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as written; of `NAME=(…)` also the words of the list."""

    text: str
    items: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Statement:
    words: tuple[_Word, ...]
    place: Place


class _UnclosedError(Exception):
    """A quote or a bracket is not closed."""


def _past(text: str, at: int) -> int:
    """The index after a character, or after all that it opens. Raises _UnclosedError."""
    match text[at]:
        case "\\":
            return min(at + 2, len(text))
        case "'" | "`":
            return _index(text, text[at], at + 1) + 1
        case '"':
            at += 1
            while at < len(text) and text[at] != '"':
                at = _past(text, at) if text[at] in "\\$`" else at + 1
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
        at = _past(text, at) if text[at] in "\\'\"`" else at + 1
    raise _UnclosedError(f"no closing {closes}")


def _index(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    if found < 0:
        raise _UnclosedError("No closing quotation")
    return found


@dataclass(slots=True)
class _Lexer:
    """The statements of a script: words with their quotes, parted by lines, `;`, `&` and `|`."""

    text: str
    file: str
    line: int
    """The line of the last place that was computed, at the index `lined`: places are computed in order."""
    lined: int = 0
    at: int = 0
    begins: int = 0
    words: list[_Word] = field(default_factory=list)
    here: list[str] = field(default_factory=list)

    def statements(self) -> Iterator[_Statement]:
        """In the order written."""
        try:
            while self.at < len(self.text):
                yield from self._step()
        except _UnclosedError as error:
            message = f"this is no line of arguments: {error}"
            raise FormatError(message, code="not-arguments", place=self._place(self.begins)) from error
        yield from self._ended()

    def _step(self) -> Iterator[_Statement]:
        character = self.text[self.at]
        if self._is_blank():
            return
        if character in "\n;&|" or (character in "()" and not self.text.startswith("((", self.at)):
            yield from self._ended()
            self.at += 1
            if character == "\n":
                self._skip_here()
        elif character in "<>" and not self.text.startswith("<<<", self.at):
            self._redirect()
        else:
            self.begins = self.begins if self.words else self.at
            self.words.append(self._word())

    def _is_blank(self) -> bool:
        """Goes over a blank, a comment or the end of a line that goes on."""
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

    def _ended(self) -> Iterator[_Statement]:
        if self.words:
            yield _Statement(tuple(self.words), self._place(self.begins))
            self.words = []

    def _place(self, at: int) -> Place:
        self.line += self.text.count("\n", self.lined, at)
        self.lined = at
        return Place(file=self.file, line=self.line)

    def _word(self) -> _Word:
        start = self.at
        if self.text.startswith("<<<", self.at):
            self.at += 3
            return _Word("<<<")
        if self.text.startswith("((", self.at):
            self.at = _past_brackets(self.text, self.at)
            return _Word(self.text[start : self.at])
        text = self._raw(" \t\r\n;&|<>()")
        if self.text.startswith("(", self.at) and _ASSIGNMENT.fullmatch(text):
            self.at += 1
            return _Word(text, tuple(self._items()))
        return _Word(text)

    def _items(self) -> Iterator[str]:
        """The words of a list, to its end."""
        while not self.text.startswith(")", self.at):
            if self.at >= len(self.text):
                raise _UnclosedError("no closing )")
            if self.text[self.at] == "\n":
                self.at += 1
            elif not self._is_blank():
                yield self._raw(" \t\r\n)")
        self.at += 1

    def _raw(self, ends: str) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ends:
            self.at = _past(self.text, self.at)
        return self.text[start : self.at]

    def _redirect(self) -> None:
        """Goes over where input comes from and output goes to; texts of the following lines are noted."""
        if self.words and self.words[-1].text in ("1", "2") and self.text[self.at - 1].isdigit():
            self.words.pop()
        here = _HERE.match(self.text, self.at)
        if here is not None:
            self.here.append(here[2])
            self.at = here.end()
            return
        while self.at < len(self.text) and self.text[self.at] in "<>& \t":
            self.at += 1
        self._raw(" \t\r\n;|<>()")

    def _skip_here(self) -> None:
        for end in self.here:
            match = re.compile(rf"^\t*{end}$", re.MULTILINE).search(self.text, self.at)
            self.at = len(self.text) if match is None else match.end()
        self.here = []


@dataclass(slots=True)
class _Shell:
    """Variables, as they are set statement by statement; one that is no list is a list of one."""

    variables: dict[str, list[str]] = field(default_factory=dict)
    num_statements: int = 0

    def run(
        self, statements: Iterator[_Statement], depth: int, *, is_sure: bool = True
    ) -> Iterator[tuple[list[str], Place]]:
        """The commands, with all variables replaced that the script itself sets.

        is_sure: False where the statements are under a condition
        """
        pending = list(statements)
        closes: list[str] = []
        at = 0
        while at < len(pending):
            words, place = list(pending[at].words), pending[at].place
            at += 1
            self._count(place, depth)
            num_leads = _num_leads(words)
            closes += ["}" for word in words[:num_leads] if word.text == "{"]
            words = words[num_leads:]
            first = words[0].text if words else ""
            is_set = is_sure and not closes
            if closes and first == closes[-1]:
                closes.pop()
            elif first == "for" and len(words) > 2 and words[2].text == "in":
                end = _end_of_loop(pending, at)
                for value in [value for word in words[3:] for value in self._fields(word.text, place)]:
                    self._keep(words[1].text, [value], place, is_sure=is_set)
                    yield from self.run(iter(pending[at:end]), depth + 1, is_sure=is_set)
                at = end + 1
            elif first in _CLOSES:
                closes.append(_CLOSES[first])
                yield from self._command(words[1:], place, depth, is_sure=False)
            elif words:
                yield from self._command(words, place, depth, is_sure=is_set)

    def _count(self, place: Place, depth: int) -> None:
        self.num_statements += 1
        if self.num_statements > LARGEST_NUM_STATEMENTS or depth > DEEPEST:
            raise FormatError("the script has too many loops", code="not-arguments", place=place)

    def _command(
        self, words: Sequence[_Word], place: Place, depth: int, *, is_sure: bool
    ) -> Iterator[tuple[list[str], Place]]:
        """Sets the variables in front of a command; gives its words, and those of a script that stands in it."""
        separator = None
        while words and (_ASSIGNMENT.match(words[0].text) or words[0].text in _SETS):
            assignment = _ASSIGNMENT.match(words[0].text)
            if assignment is not None and assignment[1] == "IFS" and len(words) > 1:
                separator = "".join(self._fields(words[0].text[assignment.end() :], place)) or None
            elif assignment is not None:
                self._set(assignment, words[0], place, is_sure=is_sure)
            words = words[1:]
        if [word.text for word in words[:2]] == ["read", "-ra"] and len(words) == 5 and words[3].text == "<<<":
            text = "".join(self._fields(words[4].text, place, is_split=False))
            self._keep(words[2].text, text.split(separator), place, is_sure=is_sure)
            return
        values = [value for word in words for value in self._fields(word.text, place)]
        if sum(map(len, values)) > LARGEST_TEXT:
            raise FormatError("a command is too long", code="not-arguments", place=place)
        if "-c" in values[:-1] and " " in values[values.index("-c") + 1]:
            script = values.pop(values.index("-c") + 1)
            statements = _Lexer(script, str(place.file), place.line or 1).statements()
            yield from self.run(statements, depth + 1, is_sure=is_sure)
        if values:
            yield values, place

    def _set(self, assignment: re.Match[str], word: _Word, place: Place, *, is_sure: bool) -> None:
        name, before = assignment[1], self.variables.get(assignment[1], [])
        if word.items is not None:
            values = [value for item in word.items for value in self._fields(item, place)]
            self._keep(name, [*before, *values] if assignment[2] else values, place, is_sure=is_sure)
            return
        text = " ".join(self._fields(word.text[assignment.end() :], place, is_split=False))
        self._keep(name, ["".join(before[:1]) + text] if assignment[2] else [text], place, is_sure=is_sure)

    def _keep(self, name: str, values: list[str], place: Place, *, is_sure: bool) -> None:
        if sum(map(len, values)) > LARGEST_TEXT:
            raise FormatError(f"the variable {name} is too long", code="not-arguments", place=place)
        if is_sure:
            self.variables[name] = values
        else:
            self.variables.pop(name, None)

    def _fields(self, word: str, place: Place, *, is_split: bool = True) -> list[str]:
        """The words that a word becomes: unquoted variables are split at white space, lists at their items."""
        fields: list[str] = []
        current: str | None = None
        try:
            for values, is_whole in self._pieces(word, is_quoted=False):
                for i, value in enumerate(values):
                    parts = [value] if is_whole or not is_split else re.split(r"\s+", value)
                    for j, part in enumerate(parts):
                        if (i or j) and current is not None:
                            fields.append(current)
                            current = None
                        if part or is_whole:
                            current = (current or "") + part
        except (_UnclosedError, RecursionError) as error:
            message = f"this is no line of arguments: {error}"
            raise FormatError(message, code="not-arguments", place=place) from error
        return fields if current is None else [*fields, current]

    def _pieces(self, text: str, *, is_quoted: bool) -> Iterator[tuple[list[str], bool]]:
        """Parts of a word: values, several for a list; and whether they stay whole."""
        at = 0
        while at < len(text):
            character = text[at]
            end = at + 1 if is_quoted and character == "'" else _past(text, at)
            if character == "\\":
                is_kept = is_quoted and text[at + 1 : end] not in ("$", "`", '"', "\\", "\n")
                yield [text[at:end] if is_kept else text[at + 1 : end].replace("\n", "")], True
            elif character == "'" and not is_quoted:
                yield [text[at + 1 : end - 1]], True
            elif character == '"' and not is_quoted:
                yield [""], True
                yield from self._pieces(text[at + 1 : end - 1], is_quoted=True)
            elif character == "$":
                values, end = self._value(text, at, end)
                yield values or ([text[at:end]] if values is None else []), is_quoted or values is None
            else:
                end = end if character == "`" else at + 1
                yield [text[at:end]], True
            at = end

    def _value(self, text: str, at: int, end: int) -> tuple[list[str] | None, int]:
        """What a variable stands for, and where its name ends; None where nothing here says it."""
        if text.startswith("$((", at):
            number = self._integer(text[at + 3 : end - 2])
            return None if number is None else [str(number)], end
        if text.startswith("${", at):
            parameter = _PARAMETER.fullmatch(text[at + 2 : end - 1])
            return None if parameter is None else self._parameter(parameter), end
        name = _NAME.match(text, at + 1)
        if name is None:
            return None, max(end, at + 1)
        values = self.variables.get(name[0])
        return None if values is None else values[:1], name.end()

    def _parameter(self, parameter: re.Match[str]) -> list[str] | None:
        name, is_list, operator, argument = parameter.groups()
        values = self.variables.get(name)
        if operator in (":-", "-"):
            if values is None or (operator == ":-" and not any(values)):
                return [self._expanded(argument)]
        elif operator is not None and values is not None:
            pattern = self._pattern(argument)
            if pattern is None or any(len(value) > LONGEST_CUT for value in values):
                return None
            values = [_cut(value, operator, pattern) for value in values]
        return values if is_list or values is None else values[:1]

    def _expanded(self, argument: str) -> str:
        return "".join(value for own, _ in self._pieces(argument, is_quoted=False) for value in own)

    def _pattern(self, argument: str) -> str | None:
        """The pattern of a cut; None where a part is unknown, or where fnmatch would match it in another way."""
        pattern = self._expanded(argument)
        unlike = ["$", "`", "\\", "[^", "[:"]
        if re.search(r"['\"\\]", argument):
            unlike += "*?["  # they may be quoted, and are not wildcards then
        is_known = len(pattern) <= LONGEST_CUT and not any(part in pattern for part in unlike)
        return pattern if is_known else None

    def _integer(self, text: str) -> int | None:
        """The value of an expression of integers."""
        plain = re.sub(r"\$\{?(\w+)\}?", r"\1", text).strip()
        try:
            return self._evaluated(ast.parse(plain, mode="eval").body) if len(plain) <= 200 else None
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
            return None

    def _evaluated(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                value = number
            case ast.Name(id=name):
                value = int("".join(self.variables.get(name, [])[:1]))
            case ast.BinOp(left=left, op=operator, right=right):
                a, b = self._evaluated(left), self._evaluated(right)
                match operator:
                    case ast.Add():
                        value = a + b
                    case ast.Sub():
                        value = a - b
                    case ast.Mult():
                        value = a * b
                    case ast.Div():  # towards 0
                        value = a // b if (a < 0) == (b < 0) else -(-a // b)
                    case ast.Mod():
                        value = abs(a) % abs(b) * (-1 if a < 0 else 1)
                    case _:
                        raise ValueError(operator)
            case _:
                raise ValueError(node)
        if abs(value) >= _LARGEST_INTEGER:
            raise ValueError(value)
        return value


def _cut(value: str, operator: str, pattern: str) -> str:
    """`${NAME%PATTERN}` and its like: the value without its shortest or longest end or beginning of that pattern."""
    cuts = range(len(value) + 1)
    if operator[0] == "%":
        ends = [at for at in cuts if fnmatchcase(value[at:], pattern)]
        return value[: (max if operator == "%" else min)(ends)] if ends else value
    starts = [at for at in cuts if fnmatchcase(value[:at], pattern)]
    return value[(min if operator == "#" else max)(starts) :] if starts else value


def _num_leads(words: Sequence[_Word]) -> int:
    """How many words are in front of a command: `then`, `{`, `function NAME` and the like."""
    at = 0
    while at < len(words) and words[at].text in _LEADS:
        at += 2 if words[at].text == "function" else 1
    return at


def _end_of_loop(statements: Sequence[_Statement], at: int) -> int:
    """The index of the `done` that ends a loop whose body begins at an index."""
    depth = 1
    for index in range(at, len(statements)):
        own = statements[index].words
        words = [word.text for word in own[_num_leads(own) :]]
        depth += bool(words) and words[0] in ("for", "while", "until", "select")
        depth -= words[:1] == ["done"]
        if not depth:
            return index
    return len(statements)
