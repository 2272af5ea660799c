"""What clusters are asked for, and where their labels come from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from mixture.clusters.embed import TFIDF
from mixture.clusters.partitions import labels_in_folders
from mixture.data.ingest import Sources
from mixture.errors import ClusterError, Place
from mixture.planning.catalog import is_day
from mixture.units import quote

LEVELS = 5
MOST_CLUSTERS = 10_000


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What is asked for.

    k:                clusters to make; None: they are there, in a column or in folders
    quality:          levels to make; None: they are there, or five
    seed:             of the keyed draws
    embed:            `tfidf-svd`, or a model's name or folder
    sample:           documents that the clusters are fitted to, at most; all are then put into them
    floor:            the share of documents that a cluster has at least
    cluster_column, quality_column:  where labels stand that are taken as they are
    date:             the day to write into the overview, YYYY-MM-DD
    """

    k: int | None = None
    quality: int | None = None
    seed: int = 0
    embed: str = TFIDF
    sample: int = 20_000
    floor: Fraction = Fraction(1, 400)
    cluster_column: str | None = None
    quality_column: str | None = None
    date: str | None = None

    def check(self) -> None:
        """Refuse what can not be. Errors: ClusterError `k-outside` `quality-outside` `sample-outside` and so on."""
        bounds = (
            ("k", self.k, 1, MOST_CLUSTERS),
            ("quality", self.quality, 1, 100),
            ("sample", self.sample, 2, 10_000_000),
            ("seed", self.seed, 0, 2**63 - 1),
        )
        for name, value, least, most in bounds:
            if value is not None and not least <= value <= most:
                hint = f"from {least:,} to {most:,} is right here"
                raise ClusterError(f"{name} is {value:,}", code=f"{name}-outside", hint=hint)
        if not 0 <= self.floor < 1:
            raise ClusterError(f"a floor of {self.floor}", code="floor-outside", hint="0.25% is usual")
        if self.date is not None and not is_day(self.date):
            raise ClusterError(f"the date {quote(self.date)}", code="date-format", hint="2026-11-29 is right here")
        for number, column, what in (
            (self.k, self.cluster_column, "clusters"),
            (self.quality, self.quality_column, "levels of quality"),
        ):
            if number is not None and column is not None:
                message = f"{number:,} {what} to make, and a column {quote(column)} that has them"
                raise ClusterError(message, code="labels-or-number", hint="one of them is right")


class Origin(StrEnum):
    """Where labels come from: made here, or taken from a column or from folders `NAME=VALUE`."""

    MADE = "made"
    COLUMN = "column"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Label:
    """Where the labels of one kind come from. name: the column's, or the folders'."""

    origin: Origin
    name: str

    @property
    def is_made(self) -> bool:
        return self.origin is Origin.MADE


@dataclass(frozen=True, slots=True)
class Labels:
    """Where clusters and levels come from; levels: how many are made."""

    cluster: Label
    quality: Label
    levels: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read for their labels."""
        return tuple(label.name for label in (self.cluster, self.quality) if label.origin is Origin.COLUMN)


def find_labels(options: ClusterOptions, sources: Sources, path: Path) -> Labels:
    """Settle where labels come from: a column that is named, else what is to be made, else folders.

    Errors: ClusterError `labels-or-k`, `label-missing`.
    """
    cluster = _label(options.cluster_column, options.k, sources, "cluster")
    if cluster is None:
        raise ClusterError(
            "how many clusters? No column has them, and no folder is called cluster=…",
            code="labels-or-k",
            place=Place(file=str(path)),
            hint="-k 40, or --cluster-column NAME",
        )
    quality = _label(options.quality_column, options.quality, sources, "quality")
    return Labels(cluster, quality or Label(Origin.MADE, "quality"), options.quality or LEVELS)


def _label(column: str | None, number: int | None, sources: Sources, name: str) -> Label | None:
    if column is not None:
        return Label(Origin.COLUMN, column)
    if number is not None:
        return Label(Origin.MADE, name)
    return Label(Origin.FOLDER, name) if labels_in_folders(sources, name) else None
