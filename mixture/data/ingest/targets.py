"""Which domains a store gets of what was read: those that are named, and those of documents held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mixture.data.ingest.holdout import CHANCES, Holdout, cut
from mixture.data.ingest.merge import Indices, MergedRuns
from mixture.data.ingest.sorted_runs import CHANCE, MOST_DOMAINS, Run, too_many_domains
from mixture.data.ingest.sources import Sources
from mixture.names import HELD_OUT_ENDING


@dataclass(frozen=True, slots=True)
class Target:
    """A domain of the store.

    source:  the domain that its documents are of, which is another one where they are held out
    runs:    where they are
    chances: of documents that may be held out, those with a chance in this range are the domain's
    """

    name: str
    source: str
    runs: tuple[Run, ...]
    chances: range

    @property
    def tokens(self) -> int:
        """In its runs, of which some may not be the domain's."""
        return sum(run.tokens for run in self.runs)

    @property
    def num_bytes(self) -> int:
        """Of its runs."""
        return sum(run.num_bytes for run in self.runs)


def targets(sources: Sources, runs: Iterable[Run], *, folder: Path, dtype: np.dtype[Any]) -> list[Target]:
    """The domains of a store in order of name. Of held-out documents there is a domain only where there are any.

    folder: what the runs' paths are in. Errors: IngestError `too-many-domains`.
    """
    open_runs: dict[str, list[Run]] = {domain.name: [] for domain in sources.domains}
    held_runs: dict[str, list[Run]] = {}
    for run in runs:
        (held_runs if run.held else open_runs).setdefault(run.domain, []).append(run)
        if len(open_runs) + len(held_runs) > MOST_DOMAINS and sources.by_column is not None:
            raise too_many_domains(str(sources.by_column.columns.domain), sources.by_column.place)
    made, holdouts = [], sources.holdouts
    for name in open_runs.keys() | held_runs.keys():
        mine, held = open_runs.get(name, []), held_runs.get(name, [])
        holdout = holdouts.of(name)
        bound = _bound(held, holdout, folder, dtype)
        if bound:
            made.append(Target(name + HELD_OUT_ENDING, name, tuple(held), range(bound)))
        given_back = held if bound < holdout.bound else []
        made.append(Target(name, name, (*mine, *given_back), range(bound, CHANCES)))
    return sorted(made, key=lambda target: target.name)


def _bound(runs: list[Run], holdout: Holdout, folder: Path, dtype: np.dtype[Any]) -> int:
    """The chance from which documents are not held out; 0: none is."""
    if not runs or holdout.most is None:
        return holdout.bound if runs else 0

    def parts() -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
        for part in MergedRuns(Indices(folder), runs, dtype, range(holdout.bound)).ranges():
            yield part.table[CHANCE].to_numpy(), part.table["tokens"].to_numpy()

    return cut(parts, bound=holdout.bound, most=holdout.most)


def labels_of(sources: Sources, made: Iterable[Target]) -> Mapping[str, pa.Array[Any]]:
    """The columns of labels for these domains: those of held-out documents have the labels of where they are from."""
    numbers = {domain.name: number for number, domain in enumerate(sources.domains)}
    rows = pa.array([numbers.get(target.source) for target in made], pa.int64())
    return {name: column.take(rows) for name, column in sources.labels.items()}
