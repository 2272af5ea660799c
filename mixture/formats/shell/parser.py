"""The structure of a shell script: the commands that its words form. Nothing is expanded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mixture.errors import FormatError, Place
from mixture.formats.declared import SourceFile
from mixture.formats.shell.lexer import Lexer, UnclosedError, Word

_LOOPS = ("for", "while", "until", "select")


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its words."""

    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`{ … }`, or `( … )`, which is a shell of its own."""

    body: Lines
    is_subshell: bool


@dataclass(frozen=True, slots=True)
class If:
    """Tests, a body for each, and a last one without a test if there is an `else`."""

    tests: tuple[Lines, ...]
    bodies: tuple[Lines, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A word and the bodies for its patterns."""

    word: str
    patterns: tuple[tuple[str, ...], ...]
    bodies: tuple[Lines, ...]
    falls_through: bool


@dataclass(frozen=True, slots=True)
class For:
    """A loop over words."""

    name: str
    values: tuple[Word, ...]
    body: Lines


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop that runs any number of times. name: the variable that it sets, if any"""

    name: str | None
    body: Lines


@dataclass(frozen=True, slots=True)
class Function:
    """A definition."""

    name: str
    body: Command


Command = Simple | Group | If | Case | For | Repeat | Function


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; several of them run in shells of their own."""

    commands: tuple[Command, ...]
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Line:
    """Pipelines joined by `&&` and `||`."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]
    is_background: bool

    @property
    def pipelines(self) -> tuple[Pipeline, ...]:
        """All of them."""
        return (self.first, *(pipeline for _, pipeline in self.rest))


Lines = tuple[Line, ...]


def parse_script(text: str, place: Place) -> Lines:
    """The commands of a script that begins at a place. Raises FormatError `not-arguments`."""
    lexer = Lexer(text, str(place.file), place.line or 1)
    try:
        return _Parser(list(lexer.tokens())).lines()
    except UnclosedError as error:
        message = f"this is not a line of arguments: {error}"
        raise FormatError(message, code="not-arguments", place=lexer.place(lexer.begins)) from error
    except RecursionError as error:
        raise FormatError("the script is nested too deeply", code="not-arguments", place=place) from error


def parse_file(source: SourceFile) -> Lines:
    """The commands of a file."""
    return parse_script(source.text, source.place)


@dataclass(slots=True)
class _Parser:
    """Commands from words and operators. What a shell would refuse is read as far as it goes."""

    tokens: Sequence[Word | str]
    at: int = 0

    def lines(self, *ends: str) -> Lines:
        """Up to a word or an operator that ends them, which is gone over."""
        lines: list[Line] = []
        while self.at < len(self.tokens):
            if self._text() in ends:
                break
            if self._operator() is not None and self._operator() != "(":
                self.at += 1
            else:
                lines.append(self._line())
        return tuple(lines)

    def _text(self) -> str:
        """The next word or operator."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        return token.text if isinstance(token, Word) else token

    def _operator(self) -> str | None:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        return token if isinstance(token, str) else None

    def _taken(self) -> str:
        text = self._text()
        self.at += 1
        return text

    def _skip(self, *texts: str) -> None:
        while self.at < len(self.tokens) and self._text() in texts:
            self.at += 1

    def _line(self) -> Line:
        first, rest = self._pipeline(), []
        while self._operator() in ("&&", "||"):
            operator = self._taken()
            self._skip("\n")
            rest.append((operator, self._pipeline()))
        return Line(first, tuple(rest), self._operator() == "&")

    def _pipeline(self) -> Pipeline:
        is_negated = False
        while self._text() in ("!", "time") and self._operator() is None:
            is_negated |= self._taken() == "!"
        commands = [self._command()]
        while self._operator() in ("|", "|&"):
            self.at += 1
            self._skip("\n")
            commands.append(self._command())
        return Pipeline(tuple(commands), is_negated)

    def _command(self) -> Command:
        match self._text():
            case "(":
                return self._group(")", is_subshell=True)
            case "{":
                return self._group("}", is_subshell=False)
            case "if":
                return self._if()
            case "case":
                return self._case()
            case text if text in _LOOPS:
                return self._loop()
            case "function":
                self.at += 1
                return self._function()
        if self.at + 2 < len(self.tokens) and list(self.tokens[self.at + 1 : self.at + 3]) == ["(", ")"]:
            return self._function()
        return self._simple()

    def _simple(self) -> Simple:
        words: list[Word] = []
        is_test = self._text() == "[["
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if isinstance(token, Word):
                words.append(token)
            elif not is_test or token == "\n":
                break
            self.at += 1
            if is_test and words[-1].text == "]]":
                break
        return Simple(tuple(words))

    def _group(self, end: str, *, is_subshell: bool) -> Group:
        self.at += 1
        body = self.lines(end)
        self.at += 1
        return Group(body, is_subshell)

    def _if(self) -> If:
        tests: list[Lines] = []
        bodies: list[Lines] = []
        word = "if"
        while word in ("if", "elif"):
            self.at += 1
            tests.append(self.lines("then"))
            self.at += 1
            bodies.append(self.lines("elif", "else", "fi"))
            word = self._text()
        if word == "else":
            self.at += 1
            bodies.append(self.lines("fi"))
        self.at += 1
        return If(tuple(tests), tuple(bodies))

    def _case(self) -> Case:
        self.at += 1
        word = self._taken()
        self._skip("\n", "in")
        patterns: list[tuple[str, ...]] = []
        bodies: list[Lines] = []
        falls_through = False
        while self.at < len(self.tokens) and self._text() != "esac":
            start = self.at
            while self.at < len(self.tokens) and self._operator() != ")":
                self.at += 1
            listed = self.tokens[start : self.at]
            patterns.append(tuple(token.text for token in listed if isinstance(token, Word)))
            self.at += 1
            bodies.append(self.lines(";;", ";&", ";;&", "esac"))
            falls_through |= self._text() in (";&", ";;&")
            self._skip(";;", ";&", ";;&", "\n")
        self.at += 1
        return Case(word, tuple(patterns), tuple(bodies), falls_through)

    def _loop(self) -> For | Repeat:
        kind = self._taken()
        name = None
        values: list[Word] | None = None
        if kind in ("for", "select"):
            name = self._taken()
            self._skip("\n")
            if self._text() == "in":
                self.at += 1
                values = list(self._simple().words)
        tests = self.lines("do")
        self.at += 1
        body = self.lines("done")
        self.at += 1
        if kind == "for" and name is not None and values is not None:
            return For(name, tuple(values), body)
        return Repeat(name if name is None or not name.startswith("((") else None, tests + body)

    def _function(self) -> Function:
        name = self._taken()
        self._skip("(", ")", "\n")
        return Function(name, self._command())
