"""What building, adding and refreshing a catalog share: a place to work, the catalog that is there, the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixture.data.layout import DOMAINS, MANIFEST, TOKENIZER, LinkedManifest, ParquetTable, Standing, base_of, read_any
from mixture.data.linking.catalog_writer import CatalogHead, CountedBefore, Making, PlannedDomain, Progress
from mixture.data.linking.ids import look_at_ids
from mixture.data.linking.replacing import exchange, replacing
from mixture.data.linking.sources import LinkSource
from mixture.data.texts import Label, Labels
from mixture.data.writing import on_disk
from mixture.errors import Place, StoreError


@dataclass(frozen=True, slots=True)
class DomainChange:
    """A domain whose files are not those that were counted; each list has paths.

    tokens: before and now
    """

    name: str
    tokens: tuple[int, int]
    changed: tuple[str, ...]
    grown: tuple[str, ...]
    missing: tuple[str, ...]
    new: tuple[str, ...]

    def __str__(self) -> str:
        before, now = self.tokens
        tokens = f"had {before:,} tokens and has {now:,}" if before != now else f"has {now:,} tokens as before"
        parts = (("changed", self.changed), ("grown", self.grown), ("missing", self.missing), ("new", self.new))
        files = ", ".join(f"{len(names):,} {word} ({names[0]})" for word, names in parts if names)
        return f"domain '{self.name}' {tokens}: files {files}"


@dataclass(frozen=True, slots=True)
class CatalogReport:
    """A catalog as it is now. counted: how many files were; changes: what a refresh found."""

    path: Path
    manifest: LinkedManifest
    counted: int
    changes: tuple[DomainChange, ...] = ()


class Work:
    """A folder to make a catalog in, which gets to `folder`."""

    def __init__(self, work: Path, base: Path, threads: int | None, progress: Progress | None) -> None:
        self._spare = work / "documents"
        self._spare.mkdir()
        self.folder = work / "catalog"
        self._base, self._threads, self._progress = base, threads or os.cpu_count() or 1, progress

    def write(self, making: Making, numbers: Sequence[int], *, is_full: bool) -> LinkedManifest:
        """Make it, and look at the ids of the domains with these numbers."""
        manifest = making.write(
            self.folder,
            self._spare,
            threads=self._threads,
            is_full=is_full,
            progress=self._progress,
        )
        look_at_ids(self.folder, manifest, numbers, base=self._base, is_full=is_full)
        return manifest


def before_of(folder: Path) -> CountedBefore:
    """The catalog that is there. Errors: StoreError, `not-a-catalog` among them."""
    standing = Standing(folder)
    manifest = read_any(folder)
    if not isinstance(manifest, LinkedManifest):
        place = Place(file=str(folder))
        raise StoreError("has its tokens itself", code="not-a-catalog", place=place, hint="`mixture catalog build`")
    return CountedBefore(folder, manifest, standing)


def sources_of(before: CountedBefore) -> list[LinkSource]:
    """The domains as they were asked for."""
    place = Place(file=str(before.folder / MANIFEST))
    return [
        LinkSource(domain.name, domain.how, labels, place)
        for domain, labels in zip(before.manifest.domains, _labels(before, place), strict=True)
    ]


def _labels(before: CountedBefore, place: Place) -> list[Labels]:
    table = ParquetTable(before.folder / DOMAINS, Standing(before.folder)).range(0, len(before.manifest.domains))
    kept = table.drop_columns(["domain", "tokens", "documents", "tokenizer"])
    return [
        {name: Label(str(value), place) for name, value in row.items() if value is not None} for row in kept.to_pylist()
    ] or [{} for _ in before.manifest.domains]


def replace_catalog(
    before: CountedBefore,
    planned: Sequence[PlannedDomain],
    numbers: Sequence[int],
    *,
    is_full: bool,
    threads: int | None,
    progress: Progress | None,
    changes: Callable[[LinkedManifest], tuple[DomainChange, ...]] = lambda _: (),
) -> CatalogReport:
    """Write a catalog anew, in the place of the one that is there.

    numbers: of the domains of which files are counted
    changes: gets what was written before it is put there, and refuses it by raising

    Errors: StoreError `catalog-busy`, and `store-replaced` where another process wrote one since `before` was read.
    """
    place = before.folder.resolve()
    base = base_of(before.folder)
    manifest = before.manifest
    definition = before.folder / TOKENIZER
    head = CatalogHead(
        tokenizer=manifest.tokenizer,
        definition=definition.read_bytes() if definition.is_file() else None,
        end_of_document=manifest.end_of_document.token,
        dtype=manifest.dtype,
    )
    with replacing(place) as work:
        before.check()
        made = Work(work, base, threads, progress)
        written = made.write(Making(head, planned, base=base, before=before), numbers, is_full=is_full)
        report = CatalogReport(
            before.folder,
            written,
            sum(isinstance(file, str) for one in planned for file in one.files),
            changes(written),
        )
        on_disk(made.folder)
        exchange(made.folder, place)
    return report
