"""From sources to clusters by quality, partition by partition."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from mixture.clusters.embed import TFIDF
from mixture.clusters.engine import Engine, Processes, Task, one_thread
from mixture.clusters.model import Model, fit, read_model
from mixture.clusters.names import check_labels
from mixture.clusters.options import ClusterOptions, Labels, find_labels
from mixture.clusters.partitions import Partition, PartitionResult, partitions
from mixture.clusters.report import add_up, domain_names, make_overview, sources_text
from mixture.clusters.survey import SurveyTask
from mixture.clusters.workplace import Workplace, workplace
from mixture.clusters.write import WriteTask
from mixture.data.ingest import Sources, read_sources
from mixture.data.texts import Unreadable, check_errors
from mixture.errors import ClusterError, Place
from mixture.planning.catalog import OVERVIEW, Overview, write_overview
from mixture.whole_file import whole_file

R = TypeVar("R")

SOURCES = "sources.yaml"


def _check(sources: Sources, path: Path) -> None:
    """Refuse what belongs to the ingest of the clusters, and would be lost on the way there."""
    held = sources.holdout.share or any(domain.holdout is not None for domain in sources.domains)
    for key, is_there in (("domain_column", sources.by_column is not None), ("holdout", held)):
        if is_there:
            hint = f"leave it out here; `{key}` is for the sources that are ingested"
            place = Place(file=str(path), path=key)
            raise ClusterError(f"`{key}` says nothing of clusters", code="key-unused", place=place, hint=hint)


class ClusterStage(StrEnum):
    """READ and WRITE count bytes of sources; FIT is one thing."""

    READ = "read"
    FIT = "fit"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    """How far a stage is."""

    stage: ClusterStage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What was made: the folder, its overview, and the documents of each domain, by (cluster, quality), in order."""

    path: Path
    overview: Overview
    domains: dict[tuple[str, str], int]
    dropped: dict[str, int]


def cluster(
    sources: str | os.PathLike[str],
    out: str | os.PathLike[str],
    options: ClusterOptions,
    *,
    engine: Engine | None = None,
    progress: Callable[[ClusterProgress], None] | None = None,
) -> ClusterReport:
    """Put the documents of a sources file into clusters by quality, at `out`, ready for `ingest`.

    engine:    None: as many processes as there are processors; the result is the same with any; closed at the end
    progress:  called in this process

    Killed at any moment and started again with the same options, it goes on with the partitions that are not done, and
    gives the same bytes. The overview is written last. Errors: ClusterError; IngestError and SpecError for sources that
    can not be read.
    """
    options.check()
    path, out = Path(sources).absolute(), Path(out).absolute()
    read = read_sources(path)
    _check(read, path)
    labels = find_labels(options, read, path)
    parts = partitions(read, label_columns=labels.columns)
    with workplace(out, _asked(options, labels, read)) as place:
        with closing(engine or Processes(os.cpu_count() or 1)) as doer:
            work = _Clustering(place, parts, options, labels, doer, progress)
            work.survey()
            check_labels((place.vectors(part.number) for part in parts), labels, Place(file=str(path)))
            model = work.fit()
            work.write()
        totals = add_up([place.receipt(part.number) for part in parts])
        overview = make_overview(totals, model, options, labels)
        text = sources_text(totals, model, overview, read, labels)
        with whole_file(out / SOURCES) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
        write_overview(overview, out / OVERVIEW)
    domains = {key: totals.cells[key]["documents"] for key in domain_names(totals, model)}
    return ClusterReport(out, overview, domains, dict(totals.dropped))


def _asked(options: ClusterOptions, labels: Labels, sources: Sources) -> dict[str, object]:
    """All that decides the result; of files their names and sizes."""
    files = {
        domain.name: [asdict(domain.columns), *((file.shown, file.size) for file in domain.files)]
        for domain in sources.domains
    }
    taken = {"clusters": asdict(labels.cluster), "levels": asdict(labels.quality)}
    return asdict(options) | {"floor": str(options.floor), "files": files} | taken


@dataclass(frozen=True, slots=True)
class _Clustering:
    """One run, at work in its folder."""

    place: Workplace
    parts: Sequence[Partition]
    options: ClusterOptions
    labels: Labels
    engine: Engine
    progress: Callable[[ClusterProgress], None] | None

    def survey(self) -> None:
        """The first look at each partition that has no vectors yet.

        Errors: those of files that cannot be read, of all of them at once.
        """
        tasks = {
            part.number: SurveyTask(
                part, self.place.vectors(part.number), self.options.seed, self.labels, self.options.embed
            )
            for part in self.parts
            if not self.place.vectors(part.number).exists()
        }
        results = sorted(self._run(ClusterStage.READ, tasks), key=lambda result: result.number)
        # A file may be several pieces, and fail in each of them.
        errors = {str(error): error for result in results for error in result.errors}
        check_errors(list(errors.values()), Unreadable.REFUSE)

    def fit(self) -> Model:
        """The model, fitted now where none is there."""
        self._tell(ClusterStage.FIT, 0, 1)
        if not self.place.model.exists():
            paths = [self.place.vectors(part.number) for part in self.parts]
            with one_thread():
                made = fit(paths, self.options, self.labels, has_model=self.options.embed != TFIDF)
            made.write(self.place.model)
        model = read_model(self.place.model)
        self._tell(ClusterStage.FIT, 1, 1)
        return model

    def write(self) -> None:
        """The second look at each partition that is not written yet."""
        tasks = {
            part.number: WriteTask(
                partition=part,
                vectors=self.place.vectors(part.number),
                model=self.place.model,
                out=self.place.out,
                receipt=self.place.receipt(part.number),
                seed=self.options.seed,
                labels=self.labels,
            )
            for part in self.parts
            if not self.place.receipt(part.number).exists()
        }
        self._run(ClusterStage.WRITE, tasks)

    def _run(self, stage: ClusterStage, tasks: Mapping[int, Task[PartitionResult]]) -> list[PartitionResult]:
        sizes = {part.number: part.size for part in self.parts}
        total = sum(sizes.values())
        done = total - sum(sizes[number] for number in tasks)
        self._tell(stage, done, total)
        results = []
        try:
            for result in self.engine.results(list(tasks.values())):
                results.append(result)
                done += sizes[result.number]
                self._tell(stage, done, total)
        except OSError as error:
            place = Place(file=str(error.filename or self.place.out))
            message = f"can not be written: {error.strerror or error}"
            raise ClusterError(message, code="output-unwritable", place=place) from error
        return results

    def _tell(self, stage: ClusterStage, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(ClusterProgress(stage, done, total))
