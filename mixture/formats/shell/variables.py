"""Variables of a shell, and the words that it makes of what is written: quotes, lists, cuts and sums of integers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from fnmatch import fnmatchcase
from itertools import pairwise

from mixture.errors import FormatError, Place
from mixture.formats.shell.lexer import UnclosedError, Word, past
from mixture.units import quote

LARGEST_TEXT = 1 << 22
"""Characters of a variable or a command: loops can double them."""
LONGEST_CUT = 4096
"""Characters of a value that `${NAME%PATTERN}` cuts: the time grows with their square."""
LARGEST_LIST = 1 << 16

_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]", re.ASCII)
_PARAMETER = re.compile(
    r"([A-Za-z_]\w*|[0-9])(?:\[([@*]|[0-9]{1,5})\])?(?:(%%|%|##|#|:[-=?+]|[-=?+])(.*))?", re.ASCII | re.DOTALL
)
_LEFT = re.compile(r"\$\{?([A-Za-z_]\w*)", re.ASCII)
_SEVERAL = re.compile(r"\$\(|`|\$\{?[@*]|^\$\{?\w+(?:\[[@*]\])?\}?$|[*?\[]", re.ASCII)
_RANGE = re.compile(r"([-+]?[0-9]{1,9})\.\.([-+]?[0-9]{1,9})(?:\.\.([-+]?[0-9]{1,9}))?", re.ASCII)
_LETTERS = re.compile(r"([a-z])\.\.([a-z])|([A-Z])\.\.([A-Z])", re.ASCII)
_PADDED = re.compile(r"[-+]?0[0-9]")
_LARGEST_INTEGER = 1 << 63


class Missing(Enum):
    """Why a variable has no value."""

    UNSET = auto()
    """The script does not set it; it may come from outside."""
    UNKNOWN = auto()
    """Only a run can say it."""


Value = tuple[str, ...] | Missing
"""The items of a list; a variable that is not a list is a list of one."""
Layer = dict[str, Value]
POSITIONS = tuple("123456789")
WILDCARDS = re.compile(r"[*?\[]")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Frame:
    """A function that is running.

    layer:  the index of its layer
    locals: its own variables; False for those that may be the script's, too
    """

    layer: int
    locals: dict[str, bool]


@dataclass(slots=True)
class Variables:
    """Variables in layers: what a branch, a function or a shell of its own sets is in a layer above the rest.

    given: those whose values a person gives, which the script does not change
    names: of all that were ever set
    """

    given: Mapping[str, str] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=lambda: [{}])
    frames: list[Frame] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def value(self, name: str) -> Value:
        """What a variable holds."""
        if name in self.given and not (self.frames and name.isdigit()):
            return (self.given[name],)
        return next((layer[name] for layer in reversed(self.layers) if name in layer), Missing.UNSET)

    def set(self, name: str, value: Value, place: Place | None) -> None:
        """Sets a variable in the top layer."""
        if not isinstance(value, Missing) and sum(map(len, value)) + len(value) > LARGEST_TEXT:
            raise FormatError(f"the variable {name} is too long", code="not-arguments", place=place)
        if name not in self.given or name.isdigit():
            self.layers[-1][name] = value
            self.names.add(name)

    def forget(self, names: Iterable[str]) -> None:
        """Makes variables unknown."""
        unknown = dict.fromkeys((name for name in names if name not in self.given or name.isdigit()), Missing.UNKNOWN)
        self.layers[-1].update(unknown)
        self.names.update(unknown)

    def merge(self, layers: Sequence[Layer], *, may_skip: bool) -> None:
        """Continues after branches, one of which runs, or none if that may be. Where they differ a value is unknown."""
        for name in dict.fromkeys(name for layer in layers for name in layer):
            before = self.value(name)
            values = [layer.get(name, before) for layer in layers] + ([before] if may_skip else [])
            agrees = all(value == values[0] for value in values)
            self.layers[-1][name] = values[0] if agrees else Missing.UNKNOWN

    def enter(self, arguments: Sequence[str] | None) -> None:
        """Begins a function; arguments: None where nobody knows them."""
        known: Layer = dict.fromkeys(POSITIONS, Missing.UNKNOWN if arguments is None else Missing.UNSET)
        known |= {number: (argument,) for number, argument in zip(POSITIONS, arguments or (), strict=False)}
        self.frames.append(Frame(len(self.layers), dict.fromkeys(POSITIONS, True)))
        self.layers.append(known)

    def declare_local(self, name: str) -> None:
        """Makes a variable the function's own; not for sure under a condition, or after it was set."""
        layers = self.layers[self.frames[-1].layer :]
        self.frames[-1].locals.setdefault(name, len(layers) == 1 and name not in layers[0])

    def leave(self, left: Iterable[str]) -> None:
        """Ends a function: what is not its own stays; left: what it sets on a way that leaves it early."""
        layer, own = self.layers.pop(), self.frames.pop().locals
        for name, value in layer.items():
            if not own.get(name):
                self.layers[-1][name] = Missing.UNKNOWN if name in own else value
        self.forget(name for name in left if not own.get(name))

    def unsure(self, texts: Iterable[str]) -> frozenset[str]:
        """The variables left in texts that the script sets, but not for certain."""
        left = (name for text in texts if "$" in text for name in _LEFT.findall(text))
        return frozenset(name for name in left if name in self.names)

    def words(self, words: Iterable[Word]) -> list[str]:
        """The words that words become."""
        return [
            text
            for word in words
            for own in braces(word.text, word.place)
            if own
            for text in self.texts(own, word.place)
        ]

    def texts(self, word: str, place: Place, *, is_split: bool = True) -> list[str]:
        """The words that a word becomes: unquoted variables are split at white space, lists at their items.

        What only a run can say stays as written.
        """
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
        except (UnclosedError, RecursionError) as error:
            message = f"this is not a line of arguments: {error}"
            raise FormatError(message, code="not-arguments", place=place) from error
        return fields if current is None else [*fields, current]

    def text(self, word: str, place: Place) -> str:
        """A word as the value of a variable."""
        return " ".join(self.texts(word, place, is_split=False))

    def pattern(self, argument: str) -> str | None:
        """A pattern; None where a part is unknown, or where fnmatch would match it in another way."""
        pattern = self._expanded(argument)
        unlike = ["$", "`", "\\", "[^", "[:"]
        if re.search(r"['\"\\]", argument):
            unlike += "*?["  # they may be quoted, and are not wildcards then
        is_known = len(pattern) <= LONGEST_CUT and not any(part in pattern for part in unlike)
        return pattern if is_known else None

    def _pieces(self, text: str, *, is_quoted: bool) -> Iterator[tuple[Sequence[str], bool]]:
        """Parts of a word: values, several for a list; and whether they stay whole."""
        at = 0
        while at < len(text):
            character = text[at]
            end = at + 1 if is_quoted and character == "'" else past(text, at)
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
                yield ([text[at:end]] if values is None else values), is_quoted or values is None
            else:
                end = end if character == "`" else at + 1
                yield [text[at:end]], True
            at = end

    def _value(self, text: str, at: int, end: int) -> tuple[Sequence[str] | None, int]:
        """The value of a variable, and where its name ends; None where only a run can say it."""
        if text.startswith("$((", at):
            number = self._integer(text[at + 3 : end - 2])
            return None if number is None else [str(number)], end
        if text.startswith("${", at):
            parameter = _PARAMETER.fullmatch(text[at + 2 : end - 1])
            return None if parameter is None else self._parameter(parameter), end
        name = _NAME.match(text, at + 1)
        if name is None:
            return None, max(end, at + 1)
        values = self.value(name[0])
        # In braces, so that what comes after it is not taken for a part of the name.
        return [f"${{{name[0]}}}"] if isinstance(values, Missing) else values[:1], name.end()

    def _parameter(self, parameter: re.Match[str]) -> Sequence[str] | None:
        name, index, operator, argument = parameter.groups()
        values = self.value(name)
        if values is Missing.UNKNOWN:
            return None
        known = () if isinstance(values, Missing) else values
        if name in self.given and index is not None:
            known = tuple(known[0].split())
        if index is None:
            known = known[:1]
        elif index.isdigit():
            known = known[int(index) : int(index) + 1]
        if operator is not None and operator[-1] in "-=+":
            is_set = bool(known) and (len(operator) == 1 or any(known))
            if operator == ":+" and not all(map(is_known, known)):
                return None
            if operator[-1] == "+":
                return [self._expanded(argument)] if is_set else []
            if not is_set:
                known = (self._expanded(argument),)
                if operator[-1] == "=":
                    self.set(name, known, None)
            return known
        if isinstance(values, Missing):
            return None
        if operator is not None and operator[-1] != "?":
            pattern = self.pattern(argument)
            if pattern is None or any(len(value) > LONGEST_CUT for value in known):
                return None
            known = tuple(_cut(value, operator, pattern) for value in known)
        return known

    def _expanded(self, argument: str) -> str:
        return "".join(value for own, _ in self._pieces(argument, is_quoted=False) for value in own)

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
                values = self.value(name)
                value = int("".join(() if isinstance(values, Missing) else values[:1]))
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


def braces(word: str, place: Place | None) -> list[str]:
    """The words that braces make of a word without quotes: `{a,b{c,d}}`, `{1..3}`, `{3..1}` and `{0..6..2}`.

    Raises FormatError: `not-arguments` for more than LARGEST_LIST of them.
    """
    if "{" not in word or re.search(r"['\"\\`]", word):
        return [word]
    protected = 0  # to where ${…} reaches
    for start in range(len(word)):
        commas, end = _pair(word, start) if word[start] == "{" and start >= protected else ([], 0)
        if not end:
            continue
        if start and word[start - 1] == "$":
            protected = end
            continue
        if commas:
            edges = [start, *commas, end]
            parts = [brace for a, b in pairwise(edges) for brace in braces(word[a + 1 : b], place)]
        elif match := _RANGE.fullmatch(word, start + 1, end):
            parts = _numbers(*match.groups())
        elif match := _LETTERS.fullmatch(word, start + 1, end):
            begin, last = map(ord, filter(None, match.groups()))
            parts = [chr(code) for code in range(begin, last + 1)] or [chr(code) for code in range(begin, last - 1, -1)]
        else:
            continue
        rest = braces(word[end + 1 :], place)
        if len(parts) * len(rest) > LARGEST_LIST:
            raise FormatError(
                f"{quote(word)} gives more than {LARGEST_LIST:,} words", code="not-arguments", place=place
            )
        return [word[:start] + part + after for part in parts for after in rest]
    return [word]


def _pair(word: str, start: int) -> tuple[list[int], int]:
    """Where the brace that opens at `start` has its own commas, and closes; 0: it does not."""
    depth, commas = 0, []
    for at in range(start, len(word)):
        depth += (word[at] == "{") - (word[at] == "}")
        if word[at] == "," and depth == 1:
            commas.append(at)
        if depth == 0:
            return commas, at
    return [], 0


def _numbers(first: str, last: str, step: str | None) -> list[str]:
    """The numbers of a range, LARGEST_LIST + 1 at most, of one width where an end begins with 0."""
    begin, end, by = int(first), int(last), abs(int(step or 1)) or 1
    numbers = range(begin, end + 1, by) if begin <= end else range(begin, end - 1, -by)
    width = max(len(first), len(last)) if _PADDED.match(first) or _PADDED.match(last) else 0
    return [f"{number:0{width}d}" for number in numbers[: LARGEST_LIST + 1]]


def may_be_several(text: str) -> bool:
    """Whether a word may become several: a variable or a command alone, or a pattern of file names."""
    return _SEVERAL.search(text) is not None


def is_known(text: str) -> bool:
    """Whether nothing in a text is left for a run to say."""
    return "$" not in text and "`" not in text


def _cut(value: str, operator: str, pattern: str) -> str:
    """`${NAME%PATTERN}` and its like: the value without its shortest or longest end or beginning of that pattern."""
    cuts = range(len(value) + 1)
    if operator[0] == "%":
        ends = [at for at in cuts if fnmatchcase(value[at:], pattern)]
        return value[: (max if operator == "%" else min)(ends)] if ends else value
    starts = [at for at in cuts if fnmatchcase(value[:at], pattern)]
    return value[(min if operator == "#" else max)(starts) :] if starts else value
