"""Megatron's command lines, and the scripts that have them, read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil
from pathlib import PurePath

from mixture.errors import Place, UnitError
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Remark, WeightUnit
from mixture.formats.merging import phase_name
from mixture.formats.shell.interpreter import StartedProgram, programs
from mixture.formats.shell.variables import is_known
from mixture.formats.trainers.megatron_lists import (
    Blend,
    Words,
    blend_of,
    is_named_list,
    list_words,
    named_list,
    refuse_at,
    train_words,
)
from mixture.units import parse_whole, quote

_BLENDS = ("--data-path", "--train-data-path", "--train-weighted-split-paths", "--data-base-path")
_FILES = ("--data-args-path", "--per-split-data-args-path", "--train-weighted-split-paths-path")
_COUNTS = ("--seq-length", "--global-batch-size", "--train-iters", "--train-samples", "--seed")
_TRANSITIONS = "--phase-transition-iterations"
_RAMP = "--rampup-batch-size"
_TOKENIZERS = ("--tokenizer-model", "--tokenizer-name-or-path")
_READ = frozenset({*_BLENDS, *_FILES, *_COUNTS, *_TOKENIZERS, _TRANSITIONS, _RAMP})
_OUTPUT = ("$(", "`")
"""What begins the output of a command."""
_VARIABLE = re.compile(r"\$\{?(\w+)(?:\[[@*]\])?\}?", re.ASCII)
_MOST_INCREMENTS = 4096
_MOST_NAMED = 12


def read_arguments(source: SourceFile, unit: WeightUnit, beside: Declared | None = None) -> Declared:
    """Lines of arguments, or the script that has them; each start of the run is one.

    beside: what a list says that is given with them, where the script takes it from a command
    """
    starts = [_Start.of(program, source) for program in programs(source)]
    starts = [start for start in starts if start.words or (beside is not None and start.counts)]
    if not starts:
        hint = f"expected one of: {', '.join(_BLENDS + _FILES)}; or give the list as the next file"
        refuse_at(source.place, "no argument names a blend", "blend-missing", hint)
    transitions = {start.transitions for start in starts}
    if len(transitions) > 1 or len(starts) != len(starts[0].transitions) + 1:
        said = ", ".join(str(step) for step in starts[0].transitions) or "none"
        refuse_at(
            starts[-1].place,
            f"{len(starts):,} lines of arguments, with transitions at the iterations {said}",
            "phases-miss-transitions",
            "a line for each phase, in order, all with the same transitions",
        )
    begins = [0, *starts[0].transitions]
    phases: list[DeclaredPhase] = []
    remarks: list[Remark] = []
    for start, first, end in zip(starts, begins, [*begins[1:], starts[-1].steps], strict=True):
        if end is not None and end <= first:
            refuse_at(
                start.place, f"the phase ends at iteration {end:,}, but begins at {first:,}", "stages-out-of-order"
            )
        phases += _by_batch(start.phase(beside), start.batches, first, end)
        remarks += start.remarks
    if len(phases) == 1 and phases[0].steps is None:
        phases = [replace(phases[0], samples=starts[0].counts.get("--train-samples"))]  # in steps of whatever batch
    left_out = list(dict.fromkeys(option for start in starts for option in start.left_out))
    if left_out:
        more = f" and {len(left_out) - _MOST_NAMED:,} more" if len(left_out) > _MOST_NAMED else ""
        named = ", ".join(left_out[:_MOST_NAMED])
        remarks.append(Remark("keys-left-out", f"a spec has no place for {named}{more}"))
    first_start = starts[0]
    is_from_list = beside is not None and not any(start.words for start in starts)
    return Declared(
        phases=tuple(phases),
        keyed_by=beside.keyed_by if beside is not None and is_from_list else KeyedBy.PATH,
        unit=unit,
        tokenizer=first_start.tokenizer,
        seed=first_start.counts.get("--seed"),
        tokens=beside.tokens if beside is not None and is_from_list else {},
        remarks=tuple(dict.fromkeys(remarks)),
    )


def lacks_blend(source: SourceFile) -> bool:
    """Whether a script says how long it trains, and takes its blend from elsewhere."""
    starts = [_Start.of(program, source, is_read=False) for program in programs(source)]
    return not any(start.words for start in starts) and any(start.counts for start in starts)


def _by_batch(
    phase: DeclaredPhase, batches: Sequence[tuple[int, int]], first: int, end: int | None
) -> Iterator[DeclaredPhase]:
    """A phase from one step to another in pieces of one batch each."""
    if not batches:
        yield replace(phase, steps=None if end is None else end - first)
        return
    ends: list[int | None] = [*(begin for begin, _ in batches[1:]), end]
    for (begin, batch), until in zip(batches, ends, strict=True):
        starts, stops = max(begin, first), until if end is None or until is None else min(until, end)
        if stops is None or stops > starts:
            yield replace(phase, steps=None if stops is None else stops - starts, batch_sequences=batch)


@dataclass(frozen=True, slots=True)
class _Start:
    """One line of arguments.

    batches: first step and batch of each stretch of a ramp; empty where the batch stays
    """

    place: Place
    words: Words
    name: str | None
    counts: dict[str, int]
    transitions: tuple[int, ...]
    tokenizer: str | None
    left_out: tuple[str, ...]
    batches: tuple[tuple[int, int], ...]
    blend: Blend | None

    @property
    def steps(self) -> int | None:
        """Where the run ends, in iterations."""
        samples, batch = self.counts.get("--train-samples"), self.counts.get("--global-batch-size")
        if samples is None or not batch:
            return self.counts.get("--train-iters")
        step = consumed = 0
        for (begin, own), (until, _) in pairwise(self.batches):
            if consumed > samples:
                break
            step = min(until, begin + (samples - consumed) // own + 1)
            consumed += own * (step - begin)
        return step + max(samples - consumed, 0) // batch

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What of the blend is left out."""
        return () if self.blend is None else self.blend.remarks

    def phase(self, beside: Declared | None) -> DeclaredPhase:
        """What the line says of a phase; its blend may be in a list beside it."""
        blend = self.blend or (Blend({}, {}) if beside is None else beside.phases[0])
        return DeclaredPhase(
            blend.weights,
            self.place,
            name=self.name,
            sequence_length=self.counts.get("--seq-length"),
            batch_sequences=self.counts.get("--global-batch-size"),
            epochs=blend.epochs,
        )

    @classmethod
    def of(cls, program: StartedProgram, source: SourceFile, *, is_read: bool = True) -> _Start:
        """is_read: whether the lists that it names are read, too."""
        words, place, _ = program
        options = dict(_options(words, place))
        blend: Words = [(word, place) for name in _BLENDS for word in _list_words(options.get(name, []))]
        if blend and blend[0][0].startswith(_OUTPUT):
            blend = []
        name = None
        for word, _ in blend:
            _check_known(word, program)
        for option in _FILES:
            for path in options.get(option, []):
                _check_known(path, program)
                if not is_read:
                    blend = [(path, place)]
                    continue
                file = source.beside(path)
                blend = train_words(file)[0] if option == _FILES[1] else list(list_words(file))
                name = phase_name(file) or PurePath(path).stem
        steps = [
            _count(text, place) for word in options.get(_TRANSITIONS, []) for text in word.replace(",", " ").split()
        ]
        # Those of other programs of the script may be known to a run alone.
        counts = {
            name: _count(options[name][0], place)
            for name in _COUNTS
            if options.get(name) and (blend or is_known(options[name][0]))
        }
        tokenizers = [name for name in _TOKENIZERS if options.get(name) and is_known(options[name][0])]
        read = _READ - ({*_TOKENIZERS} - {*tokenizers})
        return cls(
            place=place,
            words=blend,
            name=name,
            counts=counts,
            transitions=tuple(sorted(steps)),
            tokenizer=next((options[name][0] for name in tokenizers), None),
            left_out=tuple(name for name in options if name not in read),
            batches=tuple(_ramp(options.get(_RAMP), counts.get("--global-batch-size"), place)),
            blend=blend_of(blend, place) if blend and is_read else None,
        )


def _ramp(words: Sequence[str] | None, batch: int | None, place: Place) -> Iterator[tuple[int, int]]:
    """First step and batch of each stretch: the batch grows by an increment after equal numbers of samples."""
    if not words:
        return
    if len(words) != 3 or batch is None:
        hint = f"{_RAMP} START INCREMENT SAMPLES, beside --global-batch-size"
        refuse_at(place, f"expected a start, an increment and samples: {' '.join(words)}", "not-arguments", hint)
    start, increment, samples = (_count(word, place) for word in words)
    number, rest = divmod(batch - start, increment) if increment else (0, 1)
    if not start or rest or not 0 <= number <= _MOST_INCREMENTS:
        message = f"a batch of {start:,} sequences does not grow by {increment:,} to {batch:,}"
        refuse_at(place, message, "not-arguments", f"at most {_MOST_INCREMENTS:,} increments that end at the batch")
    step = consumed = 0
    for i in range(number):
        own = start + i * increment
        steps = max(0, ceil((Fraction((i + 1) * samples, number) - consumed) / own))
        if steps:
            yield step, own
        step, consumed = step + steps, consumed + steps * own
    yield step, batch


def _list_words(words: Sequence[str]) -> list[str]:
    """The words of a list; of `NAME: 0.6 0:1 web, 0.4 0:1 code`, one word for a shell, without name and commas."""
    if len(words) == 1 and is_named_list(words[0]):
        return named_list(words[0])
    return list(words)


def _options(words: Sequence[str], place: Place) -> Iterator[tuple[str, list[str]]]:
    """Each option with all words up to the next. Those before the first option are the command itself."""
    name: str | None = None
    values: list[str] = []
    seen: set[str] = set()
    for word in [*words, "--"]:
        if not word.startswith("--"):
            values.append(word)
            continue
        if name is not None and (name not in seen or name in _READ):
            if name in seen:
                refuse_at(place, f"{name} is given twice on a line", "duplicate-key", "remove one of the two")
            seen.add(name)
            yield name, values
        name, _, value = word.partition("=")
        values = [value] if value else []


def _check_known(text: str, program: StartedProgram) -> None:
    """Raises FormatError `unknown-variable` for a word of a blend that the script does not say for certain.

    A variable from elsewhere may begin a path.
    """
    names = _VARIABLE.findall(text)
    if "$(" in text or "`" in text:
        message = f"{quote(text)} is the output of a command, and no command is run"
        hint = "--set NAME=VALUE gives the variable that holds it; or write the value into a copy of the file"
    elif names and (_VARIABLE.fullmatch(text) or any(name in program.unsure for name in names)):
        message = f"the script does not say for certain what {quote(text)} is"
        hint = f"--set {names[0]}=VALUE gives it"
    else:
        return
    refuse_at(program.place, message, "unknown-variable", hint)


def _count(text: str, place: Place) -> int:
    if not is_known(text):
        name = _VARIABLE.search(text)
        hint = f"--set {name[1] if name else 'NAME'}=VALUE gives it"
        refuse_at(place, f"the script does not say for certain what {quote(text)} is", "unknown-variable", hint)
    try:
        return partial(parse_whole, least=0)(text)
    except UnitError as error:
        raise UnitError(error.message, code=error.code, place=place, hint=error.hint) from error
