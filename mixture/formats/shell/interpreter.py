"""Commands of a shell script as the programs that they start would see them. Nothing is run.

Read: variables, also those set on the line of a command, lists, quotes, `${NAME%PATTERN}` and its like, arithmetic of
integers, tests of known values, branches, loops over lists, functions where they are called, and scripts that are
beside this one. What only a run can say stays as written: `$(command)`, variables from elsewhere, and those in which
branches do not agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

from mixture.errors import FormatError, Place, SpecError
from mixture.formats.declared import SourceFile
from mixture.formats.shell.builtins import DECLARATIONS, assign, declare, forget_set, read, test_of
from mixture.formats.shell.lexer import ASSIGNMENT, Word
from mixture.formats.shell.parser import (
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Line,
    Lines,
    Pipeline,
    Repeat,
    Simple,
    parse_file,
    parse_script,
)
from mixture.formats.shell.variables import (
    IDENTIFIER,
    LARGEST_TEXT,
    POSITIONS,
    Layer,
    Missing,
    Value,
    Variables,
    is_known,
    may_be_several,
)

LARGEST_NUM_STATEMENTS = 100_000
DEEPEST = 8
"""Loops in loops, functions in functions, and scripts in scripts."""

_SUBSTITUTION = re.compile(r"\$\(|`")


@dataclass(frozen=True, slots=True)
class _Flow:
    """What may come after commands.

    ends:   whether their end may be reached
    leaves: what may leave the loop or function that they are in: `return`, `break`, `continue`
    holds:  whether they succeed; None where only a run can say it
    """

    ends: bool = True
    leaves: frozenset[str] = frozenset()
    holds: bool | None = None


class StartedProgram(NamedTuple):
    """What a program is started with.

    unsure: variables in its words that the script sets, but not for certain
    """

    words: list[str]
    place: Place
    unsure: frozenset[str]


_Commands = Generator[StartedProgram, None, _Flow]


def programs(source: SourceFile) -> Iterator[StartedProgram]:
    """The programs that a script starts, in order. Raises FormatError `not-arguments`."""
    script = parse_file(source)
    shell = _Shell(source, Variables(source.variables), set(_names(script)), source.place)
    try:
        yield from shell.lines(script, 0)
    except RecursionError as error:
        raise FormatError("the script is nested too deeply", code="not-arguments", place=shell.place) from error


def _names(lines: Lines) -> Iterator[str]:
    """The names of all commands of a script."""
    pending: list[Lines] = [lines]
    while pending:
        for line in pending.pop():
            for command in (own for pipeline in (line.first, *line.pipelines) for own in pipeline.commands):
                match command.body if isinstance(command, Function) else command:
                    case Simple(words):
                        yield from [word.text for word in words if not ASSIGNMENT.match(word.text)][:1]
                    case If(tests, bodies):
                        pending += [*tests, *bodies]
                    case Case(_, _, bodies):
                        pending += bodies
                    case Group(body) | For(_, _, body) | Repeat(_, body):
                        pending.append(body)


@dataclass(slots=True)
class _Shell:
    """Variables and functions, command by command.

    called: the names of all commands
    left:   for each loop and function that is running, what is set on a way that leaves it early
    """

    source: SourceFile
    variables: Variables
    called: set[str]
    place: Place
    functions: dict[str, Command] = field(default_factory=dict)
    left: list[set[str]] = field(default_factory=list)
    num_statements: int = 0

    def lines(self, lines: Lines, depth: int) -> _Commands:
        """The commands of lines. Those after a way out of a loop or function run or do not."""
        flow, leaves = _Flow(), frozenset[str]()
        has_rest = False
        for line in lines:
            self._count(depth)
            flow = yield from self._line(line, depth)
            leaves |= flow.leaves
            if not flow.ends:
                break
            if flow.leaves and not has_rest:
                self.variables.layers.append({})
                has_rest = True
        if has_rest:
            rest = self.variables.layers.pop()
            self._note_left(rest)
            self.variables.merge([rest] if flow.ends else [], may_skip=False)
        return replace(flow, leaves=leaves)

    def _count(self, depth: int) -> None:
        self.num_statements += 1
        if self.num_statements > LARGEST_NUM_STATEMENTS or depth > DEEPEST:
            raise FormatError("the script has too many loops", code="not-arguments", place=self.place)

    def _note_left(self, layer: Layer) -> None:
        for names in self.left:
            names.update(layer)

    def _line(self, line: Line, depth: int) -> _Commands:
        if line.is_background:
            self.variables.layers.append({})
        flow = yield from self._pipeline(line.first, depth)
        for operator, pipeline in line.rest:
            if not flow.ends:
                break
            if flow.holds is None:
                branch = yield from self._branches([partial(self._pipeline, pipeline, depth)], may_skip=True)
                flow = _Flow(leaves=flow.leaves | branch.leaves)
            elif flow.holds == (operator == "&&"):
                branch = yield from self._pipeline(pipeline, depth)
                flow = replace(branch, leaves=flow.leaves | branch.leaves)
        if line.is_background:
            self.variables.layers.pop()
            return _Flow()
        return flow

    def _pipeline(self, pipeline: Pipeline, depth: int) -> _Commands:
        if len(pipeline.commands) == 1:
            flow = yield from self._command(pipeline.commands[0], depth)
            return replace(flow, holds=None if flow.holds is None else flow.holds != pipeline.is_negated)
        for command in pipeline.commands:
            yield from self._apart(command, depth)
        return _Flow()

    def _apart(self, command: Command, depth: int) -> _Commands:
        """A command in a shell of its own: what it sets is lost."""
        self.variables.layers.append({})
        yield from self._command(command, depth)
        self.variables.layers.pop()
        return _Flow()

    def _command(self, command: Command, depth: int) -> _Commands:
        match command:
            case Simple(words):
                return (yield from self._simple(words, depth)) if words else _Flow()
            case Group(body, is_subshell):
                own = Group(body, is_subshell=False)
                return (yield from self._apart(own, depth) if is_subshell else self.lines(body, depth))
            case If():
                return (yield from self._if(command, depth))
            case Case():
                return (yield from self._case(command, depth))
            case For():
                return (yield from self._for(command, depth))
            case Repeat(name, body):
                return (yield from self._repeat(name, body, depth))
            case Function(name, body):
                self.functions[name] = body
                if name not in self.called:  # it may be, from elsewhere
                    yield from self._branches([partial(self._call, name, None, depth)], may_skip=True)
                return _Flow()

    def _branches(self, branches: Sequence[Callable[[], _Commands]], *, may_skip: bool) -> _Commands:
        """One of several ways, or none where that may be."""
        layers: list[Layer] = []
        leaves = frozenset[str]()
        for branch in branches:
            self.variables.layers.append({})
            flow = yield from branch()
            layer = self.variables.layers.pop()
            leaves |= flow.leaves
            if flow.leaves:
                self._note_left(layer)
            if flow.ends:
                layers.append(layer)
        self.variables.merge(layers, may_skip=may_skip)
        return _Flow(bool(layers) or may_skip, leaves)

    def _if(self, command: If, depth: int) -> _Commands:
        """The branches whose tests may hold, up to the first that does."""
        bodies = list(command.bodies[len(command.tests) :])
        may_skip = not bodies
        chosen: list[Lines] = []
        for test, body in zip(command.tests, command.bodies, strict=False):
            branch = partial(self.lines, test, depth)
            before = yield from self._branches([branch], may_skip=True) if chosen else branch()
            if before.holds is not False:
                chosen.append(body)
            if before.holds and len(chosen) == 1:
                return (yield from self.lines(body, depth))
        chosen += bodies
        return (yield from self._branches([partial(self.lines, body, depth) for body in chosen], may_skip=may_skip))

    def _case(self, command: Case, depth: int) -> _Commands:
        """The body of the first pattern that is the word's, where that is known, else any."""
        word = self.variables.text(command.word, self.place)
        patterns = [[self.variables.pattern(text) for text in own] for own in command.patterns]
        bodies = [partial(self.lines, body, depth) for body in command.bodies]
        if is_known(word) and not command.falls_through:
            for own, body in zip(patterns, bodies, strict=True):
                if None in own:
                    break
                if any(fnmatchcase(word, pattern) for pattern in own if pattern is not None):
                    return (yield from body())
            else:
                return _Flow()
        may_skip = ["*"] not in patterns or command.falls_through
        return (yield from self._branches(bodies, may_skip=may_skip))

    def _for(self, command: For, depth: int) -> _Commands:
        values = self._texts(command.values)
        if any(map(may_be_several, values)) or self.variables.unsure(values):
            return (yield from self._repeat(command.name, command.body, depth))
        self.left.append(set())
        leaves = frozenset[str]()
        ends, has_rest = True, False
        for value in values:
            before = self.variables.value(command.name)
            self._set(command.name, (value, *(() if isinstance(before, Missing) else before[1:])))
            flow = yield from self.lines(command.body, depth + 1)
            self.variables.forget(self.left[-1])
            leaves |= flow.leaves
            if not flow.ends and "continue" not in flow.leaves:
                ends = "break" in flow.leaves
                break
            if "break" in flow.leaves and not has_rest:
                self.variables.layers.append({})
                has_rest = True
        self.left.pop()
        if has_rest:
            self.variables.merge([self.variables.layers.pop()], may_skip=True)
        return _Flow(ends, leaves - {"break", "continue"})

    def _repeat(self, name: str | None, body: Lines, depth: int) -> _Commands:
        """A body that runs any number of times: what it sets is unknown, also where it begins again."""
        changed: set[str] = set() if name is None else {name}
        self.left.append(set())
        while True:
            self.variables.forget(changed)
            self.variables.layers.append({})
            run = _Run(self.lines(body, depth + 1))
            listed = list(run)
            layer = self.variables.layers.pop()
            before = {name: self.variables.value(name) for name in {*layer, *self.left[-1]}}
            changed = {
                name
                for name, value in before.items()
                if value is not Missing.UNKNOWN and (name in self.left[-1] or value != layer[name])
            }
            if not changed:
                break
        self.left.pop()
        yield from listed
        return _Flow(leaves=run.flow.leaves - {"break", "continue"})

    def _call(self, name: str, arguments: Sequence[str] | None, depth: int) -> _Commands:
        """A function; arguments: None where nobody knows them."""
        self.left.append(set())
        self.variables.enter(arguments)
        flow = yield from self._command(self.functions[name], depth + 1)
        self.variables.leave(self.left.pop())
        return _Flow(flow.ends or "return" in flow.leaves)

    def _simple(self, words: Sequence[Word], depth: int) -> _Commands:
        """A command; variables in front of it are its own."""
        self.place = words[0].place
        self._count(depth)
        num = 0
        while num < len(words) and (ASSIGNMENT.match(words[num].text) or words[num].text == "env"):
            num += 1
        if num == len(words):
            for word in words:
                assign(self.variables, word)
            return _Flow(holds=None if any(_SUBSTITUTION.search(word.text) for word in words) else True)
        if words[num].text in DECLARATIONS:
            declare(self.variables, words[num:])
            return _Flow(holds=True)
        if not num:
            return (yield from self._run(words, depth))
        self.variables.layers.append({})
        for word in words[:num]:
            assign(self.variables, word)
        own = {match[1] for word in words[:num] if (match := ASSIGNMENT.match(word.text))}
        flow = yield from self._run(words[num:], depth)
        for variable, value in self.variables.layers.pop().items():
            if variable not in own:
                self._set(variable, value)
        return flow

    def _texts(self, words: Sequence[Word]) -> list[str]:
        values = self.variables.words(words)
        if sum(map(len, values)) > LARGEST_TEXT:
            raise FormatError("a command is too long", code="not-arguments", place=self.place)
        return values

    def _run(self, words: Sequence[Word], depth: int) -> _Commands:
        name = words[0].text
        if name.startswith("((") or name == "let":
            forget_set(self.variables, " ".join(word.text for word in words))
            return _Flow()
        if name == "read":
            read(self.variables, words)
            return _Flow()
        values = self._texts(words)
        match values:
            case []:
                return _Flow()
            case ["[" | "[[" | "test", *_]:
                return _Flow(holds=test_of(self.variables, words))
            case [":" | "true" | "false" as constant, *_]:
                return _Flow(holds=constant != "false")
            case ["exit", *_]:
                return _Flow(ends=False)
            case ["return" | "break" | "continue" as leave, *_] if self.left:
                return _Flow(ends=False, leaves=frozenset((leave,)))
            case ["unset", *names]:
                for variable in names:
                    self._set(variable.partition("[")[0], Missing.UNKNOWN if "[" in variable else Missing.UNSET)
                return _Flow(holds=True)
            case ["shift", *_] | ["set", "--", *_]:
                self.variables.forget(POSITIONS)
                return _Flow()
            case ["mapfile" | "readarray" | "getopts" | "printf", *names]:
                is_set = values[0] != "printf" or "-v" in names
                self.variables.forget(variable for variable in names if is_set and IDENTIFIER.fullmatch(variable))
                return _Flow()
            case ["eval", *texts]:
                return (yield from self._evaluate(" ".join(texts), depth))
            case ["source" | ".", path, *_]:
                return (yield from self._source(path, depth))
            case [function, *arguments] if function in self.functions:
                return (yield from self._call(function, arguments, depth))
        yield from self._script_in(values, depth)
        yield StartedProgram(values, self.place, self.variables.unsure(values))
        return _Flow(ends=name != "exec" or len(values) < 2)  # what replaces the shell ends it

    def _script_in(self, values: list[str], depth: int) -> _Commands:
        """The commands of a script that is an argument, which runs in a shell of its own; it is taken out."""
        if "-c" not in values[:-1] or " " not in values[values.index("-c") + 1]:
            return _Flow()
        place = self.place
        script = parse_script(values.pop(values.index("-c") + 1), place)
        self.variables.layers.append({})
        yield from self.lines(script, depth + 1)
        self.variables.layers.pop()
        self.place = place
        return _Flow()

    def _evaluate(self, text: str, depth: int) -> _Commands:
        if not is_known(text):
            forget_set(self.variables, text)
            return _Flow()
        return (yield from self.lines(parse_script(text, self.place), depth + 1))

    def _source(self, path: str, depth: int) -> _Commands:
        """Another script in this shell, where it is beside this one."""
        try:
            file = self.source.beside(path)
        except SpecError:
            return _Flow()  # of the machine, as are the settings of modules and environments
        script, source = parse_file(file), self.source
        self.called.update(_names(script))
        self.source = file
        flow = yield from self.lines(script, depth + 1)
        self.source = source
        return flow

    def _set(self, name: str, value: Value) -> None:
        self.variables.set(name, value, self.place)


class _Run:
    """The commands of a part, and then how it ended."""

    def __init__(self, commands: _Commands) -> None:
        self._commands = commands
        self.flow = _Flow()

    def __iter__(self) -> _Commands:
        self.flow = yield from self._commands
        return self.flow
