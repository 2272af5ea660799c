"""What came of reading and merging: what must be refused after all, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mixture.data.ingest.jobs import MergedDomain, ReadResult
from mixture.data.ingest.sources import SourceGroup, Sources
from mixture.data.ingest.targets import Target
from mixture.data.texts import (
    ColumnReport,
    DomainReport,
    Empty,
    Example,
    FileFormat,
    IngestReport,
    Kind,
    Reason,
    TokenInText,
    are_mixed,
    first_keys,
    place_of,
    printable,
)
from mixture.errors import IngestError, Place, nearest
from mixture.names import HELD_OUT_ENDING, look_alikes
from mixture.units import quote

_NO_OBJECT = (Reason.NOT_JSON, Reason.INVALID_UTF8, Reason.TOO_LARGE)
"""Why nothing is known of a line."""


def refusal(group: SourceGroup, example: Example) -> IngestError:
    """The error for a row that would be left out where nothing may be."""
    return example.refusal(_place(group, example))


def _place(group: SourceGroup, example: Example) -> Place:
    file = next(file for file in group.files if printable(file.shown) == example.file)
    return place_of(file, example.byte)


def check_read(group: SourceGroup, results: Sequence[ReadResult], empty: Empty) -> None:
    """Refuse files of lines of which none is JSON, a column that no row has, for it is misspelt, and a source without
    documents.

    Errors: IngestError `not-json-lines`, `missing-column`, `source-empty`.
    """
    rows = sum(result.rows for result in results)
    seen = frozenset[str]().union(*(result.seen for result in results))
    no_object = sum(one.count for result in results for one in result.dropped if one.reason in _NO_OBJECT)
    if rows and not seen and no_object == rows:
        example = next(one for result in results for one in result.examples)
        raise IngestError(
            f"{group.shown}: no line of its files is a JSON object: {example.detail or example.reason.value}",
            code="not-json-lines",
            place=_place(group, example),
            hint="`format: text` reads a file as one document",
        )
    for name in group.columns.names:
        if rows and name not in seen:
            raise IngestError(
                f"{group.shown}: no row of its files has {quote(name)}",
                code="missing-column",
                place=group.place,
                hint=_known(name, group),
                domain=group.name,
            )
    if empty is Empty.REFUSE and not any(result.runs for result in results):
        counts: Counter[Reason] = Counter()
        for result in results:
            for one in result.dropped:
                counts[one.reason] += one.count
        why = ", ".join(f"{count:,} {reason}" for reason, count in _ordered(counts).items()) or "they have no row"
        first = next((one for result in results for one in result.examples), None)
        where = f", the first in {first.file}{_detail(first)}" if first else ""
        raise IngestError(
            f"{group.shown}: no document in {_files(len(group.files))}: {why}{where}",
            code="source-empty",
            place=group.place,
            hint="`--allow-empty` allows it",
            domain=group.name,
        )


def _files(count: int) -> str:
    return "its file" if count == 1 else f"its {count:,} files"


def _detail(example: Example) -> str:
    said = example.detail or example.start
    return f" ({quote(said)})" if said else ""


def _known(name: str, group: SourceGroup) -> str | None:
    """What the first row that is an object has instead."""
    keys = next((keys for file in group.files if file.format is FileFormat.JSONL and (keys := first_keys(file))), ())
    return nearest(name, keys) or (f"the first row has {', '.join(keys[:20])}" if keys else None)


def kinds_of(read: Iterable[Iterable[ReadResult]]) -> dict[str, set[Kind]]:
    """What the values of each attribute are."""
    kinds: dict[str, set[Kind]] = {}
    for results in read:
        for result in results:
            for name, some in result.kinds.items():
                kinds.setdefault(name, set()).update(some)
    return kinds


def report(
    sources: Sources,
    read: Sequence[Sequence[ReadResult]],
    made: Sequence[tuple[Target, MergedDomain]],
    *,
    shared: Mapping[str, int],
    path: Path,
    digest: str,
    quarantine: int,
) -> IngestReport:
    """What an ingest tells. shared: documents with a shared id, by domain; quarantine: rows of the table."""
    dropped: dict[str | None, Counter[Reason]] = {}
    in_text: dict[str, Counter[TokenInText]] = {}
    for results in read:
        for result in results:
            for one in result.dropped:
                dropped.setdefault(one.domain, Counter())[one.reason] += one.count
            for some in result.tokens_in_text:
                in_text.setdefault(some.domain, Counter())[some.kind] += some.count
    names = {target.name for target, _ in made}
    by_column, holdouts = sources.by_column, sources.holdouts
    known = {domain.name: domain for domain in sources.domains}
    reports = []
    for target, merged in made:
        counts = dropped.get(target.name, Counter())
        counts[Reason.DUPLICATE] += merged.duplicates
        source = known.get(target.name)
        reports.append(
            DomainReport(
                name=target.name,
                files=None if source is None else len(source.files),
                source_bytes=None if source is None else source.num_bytes,
                documents=merged.record.documents,
                tokens=merged.record.tokens,
                dropped=_ordered(counts),
                shared_ids=shared.get(target.name, 0),
                tokens_in_text=_kinds(in_text.get(target.name, Counter())),
            )
        )
    # A domain that a column names may have no row that is a document.
    reports += [
        DomainReport(name, None, None, 0, 0, _ordered(counts), 0, _kinds(in_text.get(name, Counter())))
        for name, counts in dropped.items()
        if name is not None and name not in names
    ]
    of_column = None
    if by_column is not None:
        of_column = ColumnReport(len(by_column.files), by_column.num_bytes, _ordered(dropped.get(None, Counter())))
    return IngestReport(
        path=path,
        digest=digest,
        domains=tuple(sorted(reports, key=lambda one: one.name)),
        skipped_files=sources.skipped,
        by_column=of_column,
        look_alike=tuple(tuple(some) for some in look_alikes(sorted({target.source for target, _ in made}))),
        mixed=tuple(sorted(name for name, kinds in kinds_of(read).items() if are_mixed(kinds))),
        not_held=tuple(
            target.name
            for target, _ in made
            if target.source == target.name
            and holdouts.of(target.name).share
            and target.name + HELD_OUT_ENDING not in names
        ),
        quarantine=quarantine,
        end_of_document_in_text=sources.end_of_document_in_text,
    )


def _kinds(counts: Counter[TokenInText]) -> dict[TokenInText, int]:
    return {kind: counts[kind] for kind in TokenInText if counts[kind]}


def _ordered(counts: Counter[Reason]) -> dict[Reason, int]:
    """In order of reason."""
    return {reason: counts[reason] for reason in Reason if counts[reason]}
