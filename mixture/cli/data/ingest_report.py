"""What `mixture ingest` tells: what it would read, and what it kept and left out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from mixture.cli.output import plain, print_table, printable, table

if TYPE_CHECKING:
    from mixture.data.ingest import SourcesReport
    from mixture.data.texts import IngestReport

W = TypeVar("W", bound=StrEnum)


ListAll = Annotated[bool, typer.Option("--all", help="List every file that cannot be read, not only the first five.")]


@contextmanager
def unreadable_files(*, every: bool) -> Iterator[None]:
    """Have the program print the errors of the first files that cannot be read, or of every one."""
    from mixture.data.texts import MOST_SHOWN, UnreadableError

    try:
        yield
    except UnreadableError as error:
        if every or len(error.errors) <= MOST_SHOWN:
            raise
        print(_first_of(len(error.errors), MOST_SHOWN), file=sys.stderr)
        raise UnreadableError(error.errors[:MOST_SHOWN]) from error


def _first_of(count: int, shown: int) -> str:
    return f"{count:,} files cannot be read as asked; the first {shown} follow, --all lists every one"


def show_sources(report: SourcesReport, *, every: bool) -> None:
    """Print what would be read. every: each file that cannot be read, not only the first ones"""
    from mixture.data.texts import MOST_SHOWN

    shown = table("what would be read", "<domain", "files", "source bytes", "<formats")
    for source in report.sources:
        name = f"by the column {source.name}" if source.by_column else source.name
        formats = ", ".join(f"{count:,} {name}" for name, count in source.formats.items())
        shown.add_row(plain(name), f"{source.files:,}", f"{source.source_bytes:,}", formats)
    print_table(shown)
    if report.skipped_files:
        print(f"files not read: {_counts(report.skipped_files)}")
    listed = report.unreadable if every else report.unreadable[:MOST_SHOWN]
    if len(listed) < len(report.unreadable):
        print(_first_of(len(report.unreadable), len(listed)))
    for reason in listed:
        print(printable(f"left out: {reason}"))


def sources_json(report: SourcesReport) -> dict[str, object]:
    """The same as one object."""
    return {
        "sources": [
            {
                "domain_column" if source.by_column else "domain": source.name,
                "files": source.files,
                "source_bytes": source.source_bytes,
                "formats": dict(source.formats),
            }
            for source in report.sources
        ],
        "skipped_files": _values(report.skipped_files),
        "unreadable": list(report.unreadable),
    }


def show_report(report: IngestReport) -> None:
    """Print what an ingest kept and left out."""
    shown = table(
        plain(f"{report.path}: {report.documents:,} documents, {report.tokens:,} tokens, one of each document its end"),
        "<domain", "files", "source bytes", "documents", "tokens", "<left out",
    )  # fmt: skip
    for domain in report.domains:
        counts = (domain.files, domain.source_bytes, domain.documents, domain.tokens)
        numbers = ("" if count is None else f"{count:,}" for count in counts)
        shown.add_row(plain(domain.name), *numbers, _counts(domain.dropped))
    if report.by_column is not None:
        files, size = report.by_column.files, report.by_column.source_bytes
        shown.add_row("(by column)", f"{files:,}", f"{size:,}", "", "", _counts(report.by_column.dropped))
    print_table(shown)
    for warning in _warnings(report):
        print(printable(warning))
    skipped = f" · files not read: {_counts(report.skipped_files)}" if report.skipped_files else ""
    print(f"digest {report.digest}{skipped}")


def _warnings(report: IngestReport) -> list[str]:
    warnings = [f"{' and '.join(map(repr, names))} are domains that look alike" for names in report.look_alike]
    warnings += [f"attribute {name!r} has values of several types: they are kept as text" for name in report.mixed]
    shared = {domain.name: domain.shared_ids for domain in report.domains if domain.shared_ids}
    if shared:
        warnings.append(
            f"{sum(shared.values()):,} documents have an id that another document of their domain has, with another "
            f"text: {_worst(shared)}; all are kept, and a takedown of the id takes each"
        )
    warnings += _token_warnings(report)
    if report.not_held:
        some = ", ".join(map(repr, report.not_held[:5])) + (", …" if len(report.not_held) > 5 else "")
        warnings.append(f"no document of {some} is held out: none is below the share, or fits below max")
    if report.quarantine:
        warnings.append(f"{report.path / 'quarantine.parquet'}: {report.quarantine:,} rows left out, with their places")
    return warnings


def _token_warnings(report: IngestReport) -> list[str]:
    """What is to be said of texts that spell the tokenizer's own tokens."""
    from mixture.data.texts import EndInText, TokenInText

    dropped = "it is dropped, so that each document has one (`end_of_document_in_text: keep` keeps it)"
    kept = "it is kept, so that these documents have two (`end_of_document_in_text: drop` drops it)"
    result = dropped if report.end_of_document_in_text is EndInText.DROP else kept
    inside = "it is kept, and a reader that splits documents at this token splits them there"
    words = {
        TokenInText.END: f"documents whose text ends with the tokenizer's end-of-document: {{}}; {result}",
        TokenInText.BEGINNING: f"documents whose text begins with what the tokenizer puts before it: {{}}; {result}",
        TokenInText.END_INSIDE: f"documents with the tokenizer's end-of-document inside their text: {{}}; {inside}",
    }
    warnings = []
    for kind, sentence in words.items():
        counts = {
            domain.name: domain.tokens_in_text[kind] for domain in report.domains if kind in domain.tokens_in_text
        }
        if counts:
            warnings.append(sentence.format(f"{sum(counts.values()):,} ({_worst(counts)})"))
    return warnings


def _worst(counts: Mapping[str, int]) -> str:
    """The five largest counts of domains."""
    worst = sorted(counts, key=lambda name: (-counts[name], name))[:5]
    return ", ".join(f"{counts[name]:,} of {name!r}" for name in worst) + (", …" if len(counts) > 5 else "")


def report_json(report: IngestReport) -> dict[str, object]:
    """The same as one object."""
    by_column = report.by_column
    return {
        "store": str(report.path),
        "digest": report.digest,
        "documents": report.documents,
        "tokens": report.tokens,
        "skipped_files": _values(report.skipped_files),
        "domains": [
            {
                "domain": domain.name,
                "files": domain.files,
                "source_bytes": domain.source_bytes,
                "documents": domain.documents,
                "tokens": domain.tokens,
                "dropped": _values(domain.dropped),
                "shared_ids": domain.shared_ids,
                "tokens_in_text": _values(domain.tokens_in_text),
            }
            for domain in report.domains
        ],
        "by_column": None
        if by_column is None
        else {
            "files": by_column.files,
            "source_bytes": by_column.source_bytes,
            "dropped": _values(by_column.dropped),
        },
        "look_alike": [list(names) for names in report.look_alike],
        "mixed": list(report.mixed),
        "not_held": list(report.not_held),
        "quarantine": report.quarantine,
        "end_of_document_in_text": report.end_of_document_in_text.value,
    }


def _counts(counts: Mapping[W, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)


def _values(counts: Mapping[W, int]) -> dict[str, int]:
    return {reason.value: count for reason, count in counts.items()}
