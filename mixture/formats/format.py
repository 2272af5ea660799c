"""What a foreign mixture format is here: its unit, what it can hold, how it is written and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mixture.formats.declared import Declared, SourceFile
    from mixture.formats.stages import Run


class WeightUnit(StrEnum):
    """What a trainer counts when it draws by a weight."""

    TOKENS = "tokens"
    SEQUENCES = "sequences"
    DOCUMENTS = "documents"


class Holds(StrEnum):
    """What may change with the weights within one file of a format. A file that counts in tokens need not say it."""

    PHASES = "phases"
    LENGTHS = "lengths"
    BATCHES = "batches"


@dataclass(frozen=True, slots=True)
class Remark:
    """What is lost, changed or added on the way: a stable code and a sentence."""

    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Body:
    """A file before its heading.

    part:     what sets it apart from the other files of the export, `1-pretraining`; None where it is the only one
    ending:   of its name, `yaml`
    about:    lines on what it holds, for the heading
    comments: whether the format has comments that begin with `#`, so that it can have a heading
    """

    part: str | None
    ending: str
    text: str
    about: str = ""
    comments: bool = True


@dataclass(frozen=True, slots=True)
class Bodies:
    """What a format makes of a run: files, and what this format in particular cannot say of it."""

    files: tuple[Body, ...]
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class MixtureFormat:
    """A format.

    name:   as commands and addresses have it
    title:  whose it is, and the keys that it is about
    units:  what its weights may count, the usual first: some trainers draw what they find, documents or packed rows
    holds:  what may change within one file; what may not goes into a file each, or into a remark
    draws:  a sentence on how its reader turns weights into data, which says how exact they are there
    version: the trainer's version that the files are for, and that they were tried with; None where there is no trainer
    continues: whether a phase continues in each domain's text where the one before it in the file ended
    write:  files for a run
    read:   what files say, each a phase of its own or one with all of them; None where it cannot be imported
    """

    name: str
    title: str
    units: tuple[WeightUnit, ...]
    holds: frozenset[Holds]
    draws: str
    version: str | None
    write: Callable[[Run], Bodies]
    read: Callable[[Sequence[SourceFile], WeightUnit], Declared] | None = field(default=None)
    continues: bool = False

    @property
    def unit(self) -> WeightUnit:
        """The unit that its weights count if nobody says otherwise."""
        return self.units[0]
