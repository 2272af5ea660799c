"""The phases of a spec: their names, extents and weights, and what they change."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial

from mixture.names import odd_character
from mixture.planning.spec.extents import EXTENTS, read_extent
from mixture.planning.spec.models import BatchSize, Form, Phase, Transition
from mixture.planning.spec.weights import read_weights, weights_schema
from mixture.planning.yamlfile import (
    TEXT,
    Gatherer,
    Key,
    Keys,
    Mapping,
    Node,
    Scalar,
    Schema,
    count,
    read_count,
    read_items,
    read_number,
    read_text,
    read_whole,
    refuse,
)
from mixture.units import Unit, parse_count, quote

_DECIMAL_LENGTH = re.compile(r"([0-9]{1,6})([KM])(?: tokens?)?")

LARGEST_SIZE = 2**31 - 1
"""The largest sequence length, and batch in sequences."""

MOST_PARTS = 1000
"""Stairs of a transition: a lock has a line for each, with all weights."""


def read_phases(node: Node) -> tuple[Phase, ...]:
    """All phases, in order. Raises SpecFileError with all that is wrong in them."""
    items = read_items(node)
    gatherer = Gatherer()
    phases: list[Phase] = []
    names: dict[str, Scalar] = {}
    for item in items:
        with gatherer:
            phase = _read_phase(item, earlier_phases=names)
            if phase.extent is None and item is not items[-1]:
                message = f"phase {quote(phase.phase)} has no length, and is not the last"
                hint = "share, tokens, steps or until is right here"
                refuse(item.place, message, code="phase-without-length", hint=hint)
            phases.append(phase)
            if phase.transition is not None and item is items[0]:
                _refuse_first(item)
        with gatherer:
            _add_name(item, names)
    gatherer.finish()
    return tuple(phases)


def read_sequence_length(node: Node) -> int:
    """The tokens of a sequence. A suffix is refused: 8K is 8,000 here, and whoever writes it means 8,192."""
    if isinstance(node, Scalar) and (match := _DECIMAL_LENGTH.fullmatch(node.text)):
        power = {"K": 1024, "M": 1024**2}[match[2]]
        message = f"{quote(node.text)} would be decimal, {int(match[1]) * 1000 ** (1 + (match[2] == 'M')):,} tokens"
        hint = f"write the number out: {int(match[1]) * power}"
        refuse(node.place, message, code="length-with-suffix", hint=hint)
    return read_count(node, Unit.TOKENS, most=LARGEST_SIZE)


def read_batch(node: Node) -> BatchSize:
    """The size of a step; it says whether in sequences or in tokens."""
    return read_number(node, _parse_batch)


def _parse_batch(text: str) -> BatchSize:
    size = parse_count(text, units=(Unit.SEQUENCES, Unit.TOKENS))
    if size.unit is Unit.TOKENS:
        return BatchSize(amount=size.amount, unit=Unit.TOKENS)
    sequences = parse_count(text, units=(Unit.SEQUENCES,), most=LARGEST_SIZE)
    return BatchSize(amount=sequences.amount, unit=Unit.SEQUENCES)


def _read_phase(node: Node, *, earlier_phases: Collection[str]) -> Phase:
    fields = _phase_keys(earlier_phases).read(node)
    extents = [fields.pop(form.value) for form in Form if form.value in fields]
    return Phase(extent=extents[0] if extents else None, **fields)


def _read_transition(node: Node) -> Transition:
    transition = Transition(**_TRANSITION.read(node))
    if transition.parts > transition.steps:
        message = f"{transition.parts:,} parts of {transition.steps:,} steps: a part has at least one step"
        hint = f"at most {transition.steps:,} parts are right here"
        refuse(node.place, message, code="transition-parts", hint=hint, steps=transition.steps, parts=transition.parts)
    return transition


def _refuse_first(node: Node) -> None:
    entries = node.entries if isinstance(node, Mapping) else ()
    place = next((key.place for key, _ in entries if key.text == "transition"), node.place)
    hint = "a transition goes from the weights of the phase before: it stands in the phase that it leads to"
    refuse(place, "the first phase has a transition, and no phase before it", code="transition-first", hint=hint)


def _add_name(node: Node, names: dict[str, Scalar]) -> None:
    """Keeps a phase's name, also where something else in the phase is wrong, so that later phases can replay it."""
    entries = node.entries if isinstance(node, Mapping) else ()
    for key, name in entries:
        if key.text != "phase" or not isinstance(name, Scalar) or odd_character(name.text):
            continue
        first = names.setdefault(name.text, name)
        if first is not name:
            lines = (first.place.line, name.place.line)
            message = f"phase {quote(name.text)} stands twice, on line {lines[0]} and on line {lines[1]}"
            refuse(name.place, message, code="duplicate-phase", hint="give one another name", lines=lines)


LENGTH: Schema = {
    **count([Unit.TOKENS], most=LARGEST_SIZE),
    "not": {"type": "string", "pattern": f"^{_DECIMAL_LENGTH.pattern}$"},
}
"""What `read_sequence_length` takes."""

BATCH: Schema = count([Unit.SEQUENCES, Unit.TOKENS], bare=False)
"""What `read_batch` takes."""

_EXTENTS = {
    Form.SHARE: ("The phase's part of the budget.", ("80%", "3/5")),
    Form.TOKENS: ("The phase's length in tokens.", ("15T",)),
    Form.STEPS: ("The phase's length in steps.", (108000,)),
    Form.UNTIL: ("Where the phase ends, counted from the start of the run.", ("step 108000", "80%", "15T tokens")),
}


_TRANSITION = Keys(
    {
        "steps": Key(
            partial(read_count, unit=Unit.STEPS),
            count([Unit.STEPS]),
            "The phase's first steps, at most all of them.",
            (1000, "1000 steps"),
        ),
        "parts": Key(
            partial(read_whole, most=MOST_PARTS), count([], most=MOST_PARTS), "Stairs, each of at least a step.", (4,)
        ),
    },
    required=("steps", "parts"),
)


def _phase_keys(earlier_phases: Collection[str]) -> Keys:
    extents = {
        form.value: Key(partial(read_extent, form=form), EXTENTS[form], about, examples)
        for form, (about, examples) in _EXTENTS.items()
    }
    table = {
        "phase": Key(read_text, TEXT, "The phase's name.", ("pretraining",)),
        **extents,
        "weights": Key(
            partial(read_weights, earlier_phases=earlier_phases),
            weights_schema(),
            "The share of tokens that each domain has in the phase: one rule, or a list of groups.",
            ("proportional", {"web": "80%", "code": "20%"}),
        ),
        "sequence_length": Key(read_sequence_length, LENGTH, "Tokens of a sequence in this phase.", (65536,)),
        "batch": Key(read_batch, BATCH, "The size of a step in this phase.", ("1024 sequences", "4M tokens")),
        "transition": Key(
            _read_transition,
            _TRANSITION.schema(),
            "The phase's first steps go in stairs from the weights of the phase before to its own.",
            ({"steps": 1000, "parts": 4},),
        ),
    }
    return Keys(
        table,
        required=("phase", "weights"),
        at_most_one=tuple(form.value for form in Form),
        elsewhere={"mix": "remove it: it is not needed, since a batch of any size has the shares"},
    )


def phases_schema() -> Schema:
    """What `read_phases` takes, but that only the last phase has no length, and that names differ."""
    return {"type": "array", "minItems": 1, "items": _phase_keys(()).schema()}
