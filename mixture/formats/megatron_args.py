"""Megatron's blends and command lines, read back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import PurePath
from typing import Never

from mixture.errors import FormatError, Place, UnitError
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Remark, WeightUnit
from mixture.formats.merging import phase_name
from mixture.formats.reading import Node, exact, is_null, items, read_fields, read_text, root_of
from mixture.formats.reading import Sequence as SequenceNode
from mixture.units import parse_whole, quote

Words = list[tuple[str, Place]]

_BLENDS = ("--data-path", "--train-data-path")
_FILES = ("--data-args-path", "--per-split-data-args-path")
_COUNTS = ("--seq-length", "--global-batch-size", "--train-iters", "--train-samples", "--seed")
_TRANSITIONS = "--phase-transition-iterations"
_TOKENIZERS = ("--tokenizer-model", "--tokenizer-name-or-path")
_NUMBER = re.compile(r"[-+]?[0-9.]")


def read_blend(source: SourceFile, unit: WeightUnit) -> Declared:
    """A file of weights and paths, parted by white space."""
    words = [(word, place) for line, place in _lines(source) for word in line.split()]
    return _declared(DeclaredPhase(_blend(words, source.place), source.place, name=phase_name(source)), unit)


def read_per_split(source: SourceFile, unit: WeightUnit) -> Declared:
    """Per-split JSON: the blend of `train`; that there are others is a remark."""
    words, others = _train(source)
    said = Remark("splits-left-out", f"a spec has no place for the blends of {' and '.join(others)}")
    phase = DeclaredPhase(_blend(words, source.place), source.place, name=phase_name(source))
    return _declared(phase, unit, (said,) if others else ())


def read_arguments(source: SourceFile, unit: WeightUnit) -> Declared:
    """Lines of arguments, as they stand behind the script in a command line; each start of the run is one."""
    starts = [_Start.of(words, place, source) for words, place in _commands(source)]
    starts = [start for start in starts if start.words]
    if not starts:
        _refuse(source.place, "no argument names a blend", "blend-missing", f"one of {', '.join(_BLENDS + _FILES)}")
    transitions = {start.transitions for start in starts}
    if len(transitions) > 1 or len(starts) != len(starts[0].transitions) + 1:
        said = ", ".join(str(step) for step in starts[0].transitions) or "none"
        _refuse(
            starts[-1].place,
            f"{len(starts):,} lines of arguments, with transitions at the iterations {said}",
            "phases-miss-transitions",
            "a line for each phase, in order, all with the same transitions",
        )
    begins = [0, *starts[0].transitions]
    phases = []
    for start, first, end in zip(starts, begins, [*begins[1:], starts[-1].steps], strict=True):
        if end is not None and end <= first:
            _refuse(start.place, f"it would end at iteration {end:,}, and begins at {first:,}", "stages-out-of-order")
        phases.append(
            DeclaredPhase(
                _blend(start.words, start.place),
                start.place,
                name=start.name,
                steps=None if end is None else end - first,
                sequence_length=start.counts.get("--seq-length"),
                batch_sequences=start.counts.get("--global-batch-size"),
            )
        )
    left_out = list(dict.fromkeys(option for start in starts for option in start.left_out))
    said_of = Remark("keys-left-out", f"a spec has no place for {', '.join(left_out)}")
    first_start = starts[0]
    return Declared(
        phases=tuple(phases),
        keyed_by=KeyedBy.PATH,
        unit=unit,
        tokenizer=first_start.tokenizer,
        seed=first_start.counts.get("--seed"),
        remarks=(said_of,) if left_out else (),
    )


def _declared(phase: DeclaredPhase, unit: WeightUnit, remarks: tuple[Remark, ...] = ()) -> Declared:
    return Declared((phase,), KeyedBy.PATH, unit, remarks=remarks)


@dataclass(frozen=True, slots=True)
class _Start:
    """One line of arguments."""

    place: Place
    words: Words
    name: str | None
    counts: dict[str, int]
    transitions: tuple[int, ...]
    tokenizer: str | None
    left_out: tuple[str, ...]

    @property
    def steps(self) -> int | None:
        """Where the run ends, in iterations."""
        samples, batch = self.counts.get("--train-samples"), self.counts.get("--global-batch-size")
        if samples is not None and batch:
            return samples // batch
        return self.counts.get("--train-iters")

    @classmethod
    def of(cls, words: Sequence[str], place: Place, source: SourceFile) -> _Start:
        options = dict(_options(words, place))
        blend: Words = [(word, place) for name in _BLENDS for word in options.get(name, [])]
        name = None
        for option in _FILES:
            for path in options.get(option, []):
                file = source.beside(path)
                blend = _train(file)[0] if option == _FILES[1] else list(_words(file))
                name = phase_name(file) or PurePath(path).stem
        transitions = options.get(_TRANSITIONS, [])
        steps = [_count(text, place) for word in transitions for text in word.replace(",", " ").split()]
        known = {*_BLENDS, *_FILES, *_COUNTS, *_TOKENIZERS, _TRANSITIONS}
        return cls(
            place=place,
            words=blend,
            name=name,
            counts={name: _count(options[name][0], place) for name in _COUNTS if options.get(name)},
            transitions=tuple(sorted(steps)),
            tokenizer=next((options[name][0] for name in _TOKENIZERS if options.get(name)), None),
            left_out=tuple(name for name in options if name not in known),
        )


def _options(words: Sequence[str], place: Place) -> Iterator[tuple[str, list[str]]]:
    """Each option with all words up to the next. Those before the first option are the command itself."""
    name: str | None = None
    values: list[str] = []
    seen: set[str] = set()
    for word in [*words, "--"]:
        if not word.startswith("--"):
            values.append(word)
            continue
        if name is not None:
            if name in seen:
                _refuse(place, f"{name} stands twice on a line", "duplicate-key", "one of them is right")
            seen.add(name)
            yield name, values
        name, _, value = word.partition("=")
        values = [value] if value else []


def _train(source: SourceFile) -> tuple[Words, list[str]]:
    """The blend of the training split, and the names of the others that have one."""
    said = read_fields(root_of(source), dict.fromkeys(("train", "valid", "test"), _split), required=("train",))
    if not said["train"]:
        _refuse(source.place, "the training split has no blend", "blend-missing", '{"train": ["0.7", "web"], …}')
    return said["train"], [name for name in ("valid", "test") if said.get(name)]


def _split(node: Node) -> Words:
    if is_null(node):
        return []
    if isinstance(node, SequenceNode):
        return items(node, lambda item: (read_text(item), item.place)) if node.items else []
    return [(word, node.place) for word in read_text(node).split()]


def _words(source: SourceFile) -> Iterator[tuple[str, Place]]:
    for line, place in _lines(source):
        yield from ((word, place) for word in line.split())


def _blend(words: Words, place: Place) -> dict[str, Fraction]:
    """Weights by path. Megatron also takes paths alone, which it reads once each: no weights to import."""
    if len(words) % 2 or not words or not _NUMBER.match(words[0][0]):
        _refuse(
            words[0][1] if words else place,
            "this is not a list of weights and paths, one after the other",
            "weights-missing",
            "0.7 web 0.3 code; a list of paths alone is read once, which a spec says by `weights: proportional`",
        )
    weights: dict[str, Fraction] = {}
    for (text, where), (path, _) in zip(words[::2], words[1::2], strict=True):
        if path in weights:
            _refuse(where, f"the path {quote(path)} stands twice", "duplicate-source", "one of them is right")
        weights[path] = _at(text, where)
    return weights


def _at(text: str, place: Place) -> Fraction:
    try:
        return exact(text)
    except UnitError as error:
        raise UnitError(error.message, code=error.code, place=place, hint=error.hint) from error


def _count(text: str, place: Place) -> int:
    try:
        return partial(parse_whole, least=0)(text)
    except UnitError as error:
        raise UnitError(error.message, code=error.code, place=place, hint=error.hint) from error


def _lines(source: SourceFile) -> Iterator[tuple[str, Place]]:
    for i, line in enumerate(source.text.splitlines(), start=1):
        yield line, Place(file=str(source.path), line=i)


def _commands(source: SourceFile) -> Iterator[tuple[list[str], Place]]:
    """Lines as a shell reads them: joined at a backslash, comments left out."""
    held, begins = "", source.place
    for line, place in _lines(source):
        begins = begins if held else place
        held += line.rstrip().removesuffix("\\") + " "
        if line.rstrip().endswith("\\"):
            continue
        try:
            words = shlex.split(held, comments=True)
        except ValueError as error:
            _refuse(begins, f"this is no line of arguments: {error}", "not-arguments")
        if words:
            yield words, begins
        held = ""


def _refuse(place: Place, message: str, code: str, hint: str | None = None) -> Never:
    raise FormatError(message, code=code, place=place, hint=hint)
