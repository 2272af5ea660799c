"""What a trainer's files say of a mixture, before it is made a spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction
from pathlib import Path

from mixture.errors import Place
from mixture.formats.format import Remark, WeightUnit
from mixture.planning.spec import decode_source, read_source


class KeyedBy(Enum):
    """What the weights of a file are keyed by: names of domains, or paths of their text."""

    DOMAIN = auto()
    PATH = auto()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that is imported.

    variables: values that a person gives for variables that it leaves open
    """

    path: Path
    text: str
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Its first line."""
        return Place(file=str(self.path), line=1)

    def beside(self, path: str) -> SourceFile:
        """A file that this one names, by its path from this one's folder. Raises SpecError as `read_file` does."""
        return read_file(self.path.parent / path, self.variables)


def read_file(path: Path, variables: Mapping[str, str] | None = None) -> SourceFile:
    """A text file, at most 4 MiB of UTF-8. Raises SpecError: `file-missing`, `file-unreadable`, `not-utf-8`, …"""
    return SourceFile(path, decode_source(read_source(path), file=str(path)), variables or {})


@dataclass(frozen=True, slots=True)
class DeclaredPhase:
    """A stretch of the run. What is None or empty, the file does not say.

    weights: exact, as written, by domain or path; they sum to whatever they sum to
    place:   where they are in the file
    epochs:  by domain or path, how often it is read whole; weights beside these are counts of samples and add to them
    steps, samples, tokens, passes: its length; at most one of them is set. A pass is all that weights and epochs count,
             or, where weights are shares, all that its domains have
    batch_sequences, batch_tokens: a step; at most one of them is set
    counts:  whether the weights are counts of samples rather than shares
    """

    weights: Mapping[str, Fraction]
    place: Place
    name: str | None = None
    steps: int | None = None
    samples: int | None = None
    tokens: int | None = None
    passes: Fraction | None = None
    sequence_length: int | None = None
    batch_sequences: int | None = None
    batch_tokens: int | None = None
    epochs: Mapping[str, Fraction] = field(default_factory=dict)
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """All that files say. What is None or empty, they do not.

    unit:   what the weights count
    tokens: the size of each domain, by name
    usual_length: the sequence length that the trainer has where nobody says one
    other_tokenizers: those that later files name instead of `tokenizer`
    """

    phases: tuple[DeclaredPhase, ...]
    keyed_by: KeyedBy
    unit: WeightUnit
    name: str | None = None
    tokenizer: str | None = None
    seed: int | None = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    usual_length: int | None = None
    other_tokenizers: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
