"""A lock as formats write it: stretches of one weight set each, weights in the unit that a trainer counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from mixture.data.storage import Address, located
from mixture.data.store import open_store
from mixture.errors import FormatError, nearest
from mixture.formats.format import Bodies, Body, Holds, WeightUnit
from mixture.lock import Lock
from mixture.planning.catalog import TABLE_ENDINGS, Catalog
from mixture.schedule import Domain
from mixture.units import quote


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps of one phase with one set of weights, one length and one batch.

    run_step:  its first step in the lock's run, wherever steps are counted from here
    weights:   token shares as integers over 10**15, by domain
    texts:     the same in the unit of the export, as plain decimals that a float holds
    sequences: what the schedule draws of each domain
    """

    phase: str
    name: str
    first_step: int
    run_step: int
    steps: int
    sequence_length: int
    batch_sequences: int
    weights: tuple[int, ...]
    sequences: tuple[int, ...]
    texts: tuple[str, ...] = ()

    @property
    def end_step(self) -> int:
        """The first step after it."""
        return self.first_step + self.steps

    @property
    def tokens(self) -> int:
        """The tokens that it reads."""
        return self.steps * self.batch_sequences * self.sequence_length

    @property
    def about(self) -> str:
        """Where it lies in the run and what a step of it is."""
        return (
            f"Phase {self.phase}: steps {self.run_step:,} to {self.run_step + self.steps:,} of the run,"
            f" {self.batch_sequences:,} sequences of {self.sequence_length:,} tokens a step,"
            f" {self.tokens:,} tokens in all."
        )


@dataclass(frozen=True, slots=True)
class Run:
    """What is written: a lock's run, or one phase of it.

    paths:   where the text of each domain lies, as the trainer is told
    stages:  in order, end to end; steps count from the start of what is written
    catalog: the table of the domains, or the store, where one was given
    """

    lock: Lock
    unit: WeightUnit
    paths: tuple[str, ...]
    stages: tuple[Stage, ...]
    catalog: Catalog | None = None

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The lock's domains."""
        return self.lock.data.domains

    @property
    def about(self) -> str:
        """A line for each stage."""
        return "\n".join(stage.about for stage in self.stages)

    @property
    def stem(self) -> str:
        """The mixture's name as a file can have it."""
        return file_word(self.lock.mixture)

    @property
    def steps(self) -> int:
        """Steps of all that is written."""
        return self.stages[-1].end_step

    def drawn(self, stage: Stage) -> list[tuple[int, str, str]]:
        """The domains that a stage draws from: index, path, weight."""
        return [(d, self.paths[d], stage.texts[d]) for d, weight in enumerate(stage.weights) if weight]

    def groups(self, holds: frozenset[Holds]) -> list[tuple[Run, str | None]]:
        """The run in the pieces that one file can hold, and what to call each; their steps count from their own start.

        A file without phases holds one stage; one with phases those next to each other that have one length.
        """
        if Holds.PHASES not in holds:
            parts = [[stage] for stage in self.stages]
        elif Holds.LENGTHS in holds:
            parts = [list(self.stages)]
        else:
            parts = [list(part) for _, part in groupby(self.stages, key=lambda stage: stage.sequence_length)]
        if len(parts) == 1:
            return [(self, None)]
        return [(self._piece(part), f"{i}-{file_word(part[0].name)}") for i, part in enumerate(parts, start=1)]

    def _piece(self, stages: list[Stage]) -> Run:
        return replace(self, stages=tuple(_from_zero(stages)))


@dataclass(frozen=True, slots=True)
class TokenType:
    """What a store says of its tokens: ids are below `vocabulary`, and each has so many bytes."""

    vocabulary: int
    bytes: int


def token_type_of(catalog: Catalog | None) -> TokenType | None:
    """That of the store whose table the catalog is; None where it is a table alone."""
    if catalog is None:
        return None
    is_distant = isinstance(located(catalog.source), Address)
    if not (is_distant or catalog.source.is_dir()) or catalog.source.name.lower().endswith(TABLE_ENDINGS):
        return None
    store = open_store(catalog.source)
    return TokenType(store.vocabulary, store.dtype.itemsize)


def stage_writer(
    text: Callable[[Run, Stage], str],
    ending: str,
    *,
    about: Callable[[Run, Stage], str] = lambda _, stage: stage.about,
    comments: bool = True,
) -> Callable[[Run], Bodies]:
    """What writes a file for each stage; `ending`, `about` and `comments` are as in `Body`."""
    return lambda run: Bodies(
        tuple(
            Body(part, ending, text(piece, piece.stages[0]), about(piece, piece.stages[0]), comments)
            for piece, part in run.groups(frozenset())
        )
    )


def file_word(name: str) -> str:
    """A name in the letters that every file system takes, without dots, which part a file's name."""
    return re.sub(r"[^0-9A-Za-z_@+-]", "_", name)


def stages_of(lock: Lock, *, phase: str | None = None) -> tuple[Stage, ...]:
    """The stages of a lock, or of one of its phases, counted from that phase's first step.

    Raises FormatError `unknown-phase`.
    """
    stages = list(_stages(lock))
    if phase is None:
        return tuple(stages)
    chosen = [stage for stage in stages if stage.phase == phase]
    if not chosen:
        names = [one.name for one in lock.phases]
        raise FormatError(
            f"the mixture has no phase {quote(phase)}",
            code="unknown-phase",
            hint=nearest(phase, names) or f"its phases: {', '.join(names)}",
            phase=phase,
        )
    return tuple(_from_zero(chosen))


def _from_zero(stages: list[Stage]) -> Iterator[Stage]:
    first = stages[0].first_step
    for stage in stages:
        yield replace(stage, first_step=stage.first_step - first)


def _stages(lock: Lock) -> Iterator[Stage]:
    data, schedule = lock.data, lock.schedule()
    starts = {one.first_step for held in (lock.phases, data.segments, data.batches) for one in held}
    bounds = sorted({step for step in starts if step < data.steps} | {data.steps})
    counts = [schedule.counts(step) for step in bounds]
    pieces: dict[str, int] = {}
    names = [phase.name for step in bounds[:-1] if (phase := lock.phase_of(step)) is not None]
    for i, (first, end) in enumerate(pairwise(bounds)):
        segment = next(one for one in reversed(data.segments) if one.first_step <= first)
        batch = next(one for one in reversed(data.batches) if one.first_step <= first)
        pieces[names[i]] = pieces.get(names[i], 0) + 1
        is_whole = names.count(names[i]) == 1
        yield Stage(
            phase=names[i],
            name=names[i] if is_whole else f"{names[i]}-{pieces[names[i]]}",
            first_step=first,
            run_step=first,
            steps=end - first,
            sequence_length=segment.sequence_length,
            batch_sequences=batch.sequences,
            weights=segment.weights,
            sequences=tuple((counts[i + 1] - counts[i]).tolist()),
        )
