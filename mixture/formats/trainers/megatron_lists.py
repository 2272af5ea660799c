"""Megatron's lists of weights and paths, as text and as JSON, read back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Never

from mixture.errors import FormatError, Place, UnitError
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Remark, WeightUnit
from mixture.formats.merging import phase_name
from mixture.formats.reading import (
    MappingNode,
    Node,
    Scalar,
    entries,
    exact,
    is_null,
    items,
    number,
    read_fields,
    read_text,
    root_of,
    whole,
)
from mixture.formats.reading import Sequence as SequenceNode
from mixture.units import quote
from mixture.wording import counted

Words = list[tuple[str, Place]]
"""The words of a list, each with its place."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_SPLITS = ("train", "valid", "test")
_RANGE = re.compile(r"[0-9.]+:[0-9.]+")
_NAMED_LIST = re.compile(r"\s*[\"']?([^\s:]+): +[0-9.]")
"""`NAME: WEIGHT START:END PATH, …`, as Megatron-DeepSpeed has it."""


@dataclass(frozen=True, slots=True)
class Blend:
    """Weights by path; or, where there are none, how often each path is read whole.

    num_ranges: paths of which a range of the documents is read
    """

    weights: dict[str, Fraction]
    epochs: dict[str, Fraction]
    num_ranges: int = 0

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """That ranges are left out."""
        if not self.num_ranges:
            return ()
        message = f"a spec has no place for the ranges of documents of {counted(self.num_ranges, 'path')}"
        return (Remark("keys-left-out", message),)


def is_named_list(text: str) -> bool:
    """Whether a list has a name, as those of Megatron-DeepSpeed have."""
    return _NAMED_LIST.match(text) is not None


def read_blend(source: SourceFile, unit: WeightUnit) -> Declared:
    """A file of weights and paths, or of paths alone, parted by white space."""
    blend = blend_of(list(list_words(source)), source.place)
    phase = DeclaredPhase(blend.weights, source.place, name=phase_name(source), epochs=blend.epochs)
    return _declared(phase, unit, blend.remarks)


def read_per_split(source: SourceFile, unit: WeightUnit) -> Declared:
    """Per-split JSON: the blend of `train`; that there are others is a remark. Or {name: [tokens, epochs, path]}."""
    root = root_of(source)
    if isinstance(root, MappingNode) and root.entries and all(map(_is_bank_row, root.entries)):
        return _read_bank(root, source, unit)
    words, others = train_words(source)
    remark = Remark("splits-left-out", f"a spec has no place for the blends of {' and '.join(others)}")
    blend = blend_of(words, source.place)
    phase = DeclaredPhase(blend.weights, source.place, name=phase_name(source), epochs=blend.epochs)
    return _declared(phase, unit, ((remark,) if others else ()) + blend.remarks)


def _is_bank_row(entry: tuple[Scalar, Node]) -> bool:
    key, row = entry
    return key.text not in _SPLITS and isinstance(row, SequenceNode) and len(row.items) == 3


def _read_bank(root: Node, source: SourceFile, unit: WeightUnit) -> Declared:
    """Tokens, epochs and path by name: the lists that a script makes weights of, as K2-V2 has them."""
    rows = entries(root, lambda row: (whole(row.items[0], least=1), number(row.items[1])))  # type: ignore[union-attr]
    phase = DeclaredPhase(
        {}, source.place, name=phase_name(source), epochs={name: times for name, (_, times) in rows.items()}
    )
    tokens = {name: size for name, (size, _) in rows.items()}
    return Declared((replace(phase, passes=Fraction(1)),), KeyedBy.DOMAIN, unit, tokens=tokens)


def _declared(phase: DeclaredPhase, unit: WeightUnit, remarks: tuple[Remark, ...] = ()) -> Declared:
    return Declared((phase,), KeyedBy.PATH, unit, remarks=remarks)


def named_list(text: str) -> list[str]:
    """The words of a list that has a name, without it and without commas."""
    return text.strip().strip("\"'").partition(": ")[2].replace(",", " ").split()


def train_words(source: SourceFile) -> tuple[Words, list[str]]:
    """The blend of the training split, and the names of the others that have one."""
    fields = read_fields(root_of(source), dict.fromkeys(_SPLITS, _split), required=("train",))
    if not fields["train"]:
        refuse_at(source.place, "the training split has no blend", "blend-missing", '{"train": ["0.7", "web"], …}')
    return fields["train"], [name for name in ("valid", "test") if fields.get(name)]


def _split(node: Node) -> Words:
    if is_null(node):
        return []
    if isinstance(node, SequenceNode):
        return items(node, lambda item: (read_text(item), item.place)) if node.items else []
    return [(word, node.place) for word in read_text(node).split()]


def list_words(source: SourceFile) -> Iterator[tuple[str, Place]]:
    """The words of a list, each with its line."""
    if is_named_list(source.text):
        yield from ((word, source.place) for word in named_list(source.text))
        return
    for line, place in _lines(source):
        yield from ((word, place) for word in line.split())


def blend_of(words: Words, place: Place) -> Blend:
    """Weights by path, also with ranges of documents between them; or paths alone, read by their size."""
    texts = [word for word, _ in words]
    if texts and len(texts) % 3 == 0 and all(map(_RANGE.fullmatch, texts[1::3])):
        weights: dict[str, Fraction] = {}
        for (text, where), path in zip(words[::3], texts[2::3], strict=True):
            weights[path] = weights.get(path, Fraction(0)) + weight_at(text, where)
        return Blend(weights, {}, len(weights))
    numbers = [text for text in texts if _NUMBER.fullmatch(text)]
    if texts and not numbers:
        _check_once(words)
        return Blend({}, dict.fromkeys(texts, Fraction(1)))
    if len(words) % 2 or not words or not _NUMBER.fullmatch(texts[0]):
        refuse_at(
            words[0][1] if words else place,
            "expected weights and paths in turn",
            "weights-missing",
            "0.7 web 0.3 code; or paths alone, which are read by their size",
        )
    _check_once(words[1::2])
    return Blend(
        {path: weight_at(text, where) for (text, where), path in zip(words[::2], texts[1::2], strict=True)}, {}
    )


def _check_once(paths: Words) -> None:
    seen: set[str] = set()
    for path, where in paths:
        if path in seen:
            refuse_at(where, f"the path {quote(path)} is listed twice", "duplicate-source", "remove one of the two")
        seen.add(path)


def weight_at(text: str, place: Place) -> Fraction:
    try:
        return exact(text)
    except UnitError as error:
        raise UnitError(error.message, code=error.code, place=place, hint=error.hint) from error


def _lines(source: SourceFile) -> Iterator[tuple[str, Place]]:
    for i, line in enumerate(source.text.splitlines(), start=1):
        yield line, Place(file=str(source.path), line=i)


def refuse_at(place: Place, message: str, code: str, hint: str | None = None) -> Never:
    raise FormatError(message, code=code, place=place, hint=hint)
