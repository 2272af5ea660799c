"""SOURCES.yaml: which files are a domain, which of their columns are text, id and attributes, and its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from mixture.catalog import CATALOG_COLUMNS, Overview, check_overview, read_overview
from mixture.errors import IngestError, Place
from mixture.spec.document import parse_document
from mixture.spec.errors import Gatherer, refuse
from mixture.spec.fields import read_fields, read_items, unique_entries
from mixture.spec.nodes import Mapping, Node
from mixture.spec.source import decode_source, read_source
from mixture.spec.values import read_domain, read_path, read_text, read_word
from mixture.store.intake.batch import Columns
from mixture.store.intake.labels import Labels, label_columns, read_labels
from mixture.store.intake.matching import FileFormat, Matcher, SourceFile
from mixture.store.intake.report import Skipped
from mixture.units import quote

_TAKEN = ("domain", "id", "first_token", "tokens")  # columns of documents.parquet


class TokenType(StrEnum):
    """A store's type of token."""

    UINT16 = "uint16"
    UINT32 = "uint32"


@dataclass(frozen=True, slots=True)
class SourceDomain:
    """A domain to be made; place: where it stands in the sources file."""

    name: str
    files: tuple[SourceFile, ...]
    columns: Columns
    labels: Labels
    place: Place


@dataclass(frozen=True, slots=True)
class Sources:
    """What a sources file says, its files found; domains in order of name.

    end_of_document:  the tokenizer's token for it; None: one of the usual names
    tokenizer_name:   what catalog and spec call the tokenizer; None: by its file
    dtype:            the store's; None: the smallest that holds the vocabulary
    labels:           columns of the catalog, a value for each of the domains
    overview:         what is to be said of the catalog
    """

    domains: tuple[SourceDomain, ...]
    end_of_document: str | None
    tokenizer_name: str | None
    dtype: TokenType | None
    labels: dict[str, pa.Array[Any]]
    overview: Overview | None
    skipped: dict[Skipped, int]

    @property
    def attributes(self) -> list[str]:
        """The attributes of all domains, in order of name."""
        return sorted({name for domain in self.domains for name in domain.columns.attributes})


def read_sources(path: Path) -> Sources:
    """Read a sources file and find its files; patterns are relative to its folder.

    Errors: SpecError for what is not right in the file; IngestError `no-files`, `files-shared`, `source-unreadable`;
    CatalogError for what is not right in its overview.
    """
    data = read_source(path)
    root = parse_document(decode_source(data, file=str(path)), file=str(path))
    fields = read_fields(
        root,
        {
            "domains": _read_domains,
            "end_of_document": read_text,
            "tokenizer_name": read_text,
            "dtype": lambda node: read_word(node, TokenType, code="unknown-dtype"),
            "overview": lambda node: (read_path(node), node.place),
        },
        required=["domains"],
    )
    written = sorted(fields["domains"], key=lambda domain: domain.name)
    labels = label_columns([domain.labels for domain in written])
    overview = None
    if "overview" in fields:
        overview = _read_overview(*fields["overview"], domains={domain.name for domain in written}, labels=labels)
    matcher = Matcher(path.parent)
    return Sources(
        domains=tuple(_find_files(domain, matcher) for domain in written),
        end_of_document=fields.get("end_of_document"),
        tokenizer_name=fields.get("tokenizer_name"),
        dtype=fields.get("dtype"),
        labels=labels,
        overview=overview,
        skipped=dict(Counter(matcher.skipped)),
    )


@dataclass(frozen=True, slots=True)
class _Written:
    """A domain as the file has it."""

    name: str
    patterns: tuple[tuple[str, Place], ...]
    file_format: FileFormat | None
    columns: Columns
    labels: Labels
    place: Place


def _read_overview(path: Path, place: Place, *, domains: Set[str], labels: Iterable[str]) -> Overview:
    overview = read_overview(path, place=place)
    check_overview(overview, path, domains=domains, columns=[*CATALOG_COLUMNS, *labels])
    return overview


def _read_domains(node: Node) -> list[_Written]:
    if not isinstance(node, Mapping) or not node.entries:
        hint = "domains: {web: {files: ['web/*.parquet']}}"
        refuse(node.place, "this is not a mapping of domains", code="not-a-mapping", hint=hint)
    gatherer = Gatherer()
    domains = []
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            domains.append(_read_domain(read_domain(key), value))
    gatherer.finish()
    return domains


def _read_domain(name: str, node: Node) -> _Written:
    fields = read_fields(
        node,
        {
            "files": lambda value: tuple((read_text(item), item.place) for item in read_items(value)),
            "text": read_text,
            "id": read_text,
            "attributes": lambda value: tuple(sorted({_read_attribute(item) for item in read_items(value)})),
            "format": lambda value: read_word(value, FileFormat, code="unknown-format"),
            "labels": read_labels,
        },
        required=["files"],
    )
    columns = Columns(fields.get("text", "text"), fields.get("id"), fields.get("attributes", ()))
    return _Written(name, fields["files"], fields.get("format"), columns, fields.get("labels", {}), node.place)


def _read_attribute(node: Node) -> str:
    name = read_text(node)
    if name in _TAKEN:
        hint = f"the store itself has the columns {', '.join(_TAKEN)}"
        refuse(node.place, f"an attribute can not be called {quote(name)}", code="attribute-taken", hint=hint)
    return name


def _find_files(domain: _Written, matcher: Matcher) -> SourceDomain:
    files = [
        file
        for pattern, place in domain.patterns
        for file in matcher.find(pattern, domain.name, domain.file_format, place)
    ]
    if not files:
        raise IngestError(
            f"domain {quote(domain.name)}: all files that its patterns match are passed over",
            code="no-files",
            place=domain.place,
            hint="hidden files, _SUCCESS and *.crc are not sources",
        )
    return SourceDomain(domain.name, tuple(files), domain.columns, domain.labels, domain.place)
