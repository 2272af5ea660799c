"""SOURCES.yaml: which files are a domain, or which of their columns names it, which are text, id and attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from mixture.data.ingest.holdout import HOLDOUT, NOTHING, Holdout, Holdouts, read_holdout
from mixture.data.ingest.sorted_runs import ORIGIN
from mixture.data.texts import (
    LABELS,
    Columns,
    EndInText,
    FileFormat,
    Labels,
    Matcher,
    Skipped,
    SourceFile,
    chosen_split,
    label_columns,
    read_labels,
    recognised,
)
from mixture.errors import IngestError, Place
from mixture.planning.catalog import CATALOG_COLUMNS, Overview, check_overview, read_overview
from mixture.planning.spec import decode_source, read_source, whole_schema
from mixture.planning.yamlfile import (
    DOMAINS,
    TEXT,
    Gatherer,
    Key,
    Keys,
    Mapping,
    Node,
    Schema,
    Sequence,
    any_of,
    parse_document,
    read_domain,
    read_fields,
    read_items,
    read_path,
    read_text,
    read_word,
    refuse,
    unique_entries,
    words,
)
from mixture.units import quote

_TAKEN = ("domain", "id", "first_token", "tokens")  # columns of documents.parquet


class TokenType(StrEnum):
    """A store's type of token."""

    UINT16 = "uint16"
    UINT32 = "uint32"


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """Files that are read in one way: those of a domain, or those whose rows say of which domain they are.

    name:  of the domain; None: `columns.domain` has it
    place: where it stands in the sources file
    """

    name: str | None
    files: tuple[SourceFile, ...]
    columns: Columns
    place: Place

    @property
    def shown(self) -> str:
        """What it is called in sentences."""
        return (
            f"domain {quote(self.name)}"
            if self.name is not None
            else f"domain_column {quote(self.columns.domain or '')}"
        )

    @property
    def num_bytes(self) -> int:
        """Of its files, as they lie."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class SourceDomain(SourceGroup):
    """The files of a domain that the sources file names. holdout: None: that of all."""

    name: str
    labels: Labels
    holdout: Holdout | None


@dataclass(frozen=True, slots=True)
class Sources:
    """What a sources file says, its files found; domains in order of name.

    by_column:        the files whose rows say of which domain they are
    holdout:          of domains that do not say their own
    end_of_document:  the tokenizer's token for it; None: one of the usual names
    end_of_document_in_text: what becomes of it where a text ends with it
    tokenizer_name:   what catalog and spec call the tokenizer; None: by its file
    dtype:            the store's; None: the smallest that holds the vocabulary
    labels:           columns of the catalog, a value for each of `domains`
    overview:         what is to be said of the catalog
    places:           where the values of its keys stand
    """

    domains: tuple[SourceDomain, ...]
    by_column: SourceGroup | None
    holdout: Holdout
    end_of_document: str | None
    end_of_document_in_text: EndInText
    tokenizer_name: str | None
    dtype: TokenType | None
    labels: dict[str, pa.Array[Any]]
    overview: Overview | None
    skipped: dict[Skipped, int]
    places: Table[str, Place]

    @property
    def groups(self) -> list[SourceGroup]:
        """All that is to be read."""
        return [*self.domains, *([self.by_column] if self.by_column is not None else [])]

    @property
    def attributes(self) -> list[str]:
        """The attributes of all domains, in order of name."""
        return sorted({name for group in self.groups for name in group.columns.attributes})

    @property
    def origin(self) -> tuple[str, ...]:
        """Attributes that say where documents are from, in stores with some that have no id but the hash of their text.

        A column that the sources name is not among them.
        """
        files = [file for group in self.groups if group.columns.id is None for file in group.files]
        kinds = {file.row_and_byte(0) for file in files}
        wanted = {"file": bool(files), "row": (0, None) in kinds, "byte": (None, 0) in kinds}
        return tuple(name for name in ORIGIN if wanted[name] and name not in self.attributes)

    @property
    def holdouts(self) -> Holdouts:
        """How much of each domain is held out."""
        own = {domain.name: domain.holdout for domain in self.domains if domain.holdout is not None}
        return Holdouts(own, self.holdout)


def read_sources(path: Path) -> Sources:
    """Read a sources file and find its files; patterns are relative to its folder.

    Errors: SpecError for what is not right in the file; IngestError `no-files`, `files-shared`, `source-unreadable`;
    CatalogError for what is not right in its overview.
    """
    data = read_source(path)
    root = parse_document(decode_source(data, file=str(path)), file=str(path))
    fields = read_fields(root, _SOURCES, required=_required(root))
    written = sorted(fields.get("domains", ()), key=lambda domain: domain.name)
    labels = label_columns([domain.labels for domain in written])
    overview = None
    if "overview" in fields:
        overview = _read_overview(*fields["overview"], domains={domain.name for domain in written}, labels=labels)
    matcher = Matcher(path.parent)
    domains = tuple(_domain(domain, matcher) for domain in written)
    by_column = _group(fields, None, root.place, fields["domain_column"]) if "files" in fields else None
    return Sources(
        domains=domains,
        by_column=SourceGroup(None, *_found(by_column, matcher)) if by_column is not None else None,
        holdout=fields.get("holdout", NOTHING),
        end_of_document=fields.get("end_of_document"),
        end_of_document_in_text=fields.get("end_of_document_in_text", EndInText.DROP),
        tokenizer_name=fields.get("tokenizer_name"),
        dtype=fields.get("dtype"),
        labels=labels,
        overview=overview,
        skipped=dict(Counter(matcher.skipped)),
        places={key.text: value.place for key, value in root.entries} if isinstance(root, Mapping) else {},
    )


def _required(root: Node) -> list[str]:
    """Which keys a sources file needs: `domains`, or what a column that names them needs, or both."""
    written = {key.text for key, _ in root.entries} if isinstance(root, Mapping) else set()
    return ["files", "domain_column"] if written & {*_GROUP, "domain_column"} else ["domains"]


@dataclass(frozen=True, slots=True)
class _Group:
    """Files as the sources file has them. name: of their domain; None: a column names it."""

    name: str | None
    patterns: tuple[tuple[str, Place], ...]
    file_format: FileFormat | None
    columns: Columns
    place: Place
    split: tuple[str, Place] | None


@dataclass(frozen=True, slots=True)
class _Written:
    """A domain as the file has it."""

    name: str
    group: _Group
    labels: Labels
    holdout: Holdout | None


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
    fields = _DOMAIN.read(node)
    return _Written(name, _group(fields, name, node.place), fields.get("labels", {}), fields.get("holdout"))


def _group(fields: Table[str, Any], name: str | None, place: Place, domain_column: str | None = None) -> _Group:
    columns = Columns(fields.get("text", ("text",)), fields.get("id"), fields.get("attributes", ()), domain_column)
    return _Group(name, fields["files"], fields.get("format"), columns, place, fields.get("split"))


def _read_texts(node: Node) -> tuple[str, ...]:
    if isinstance(node, Sequence):
        return tuple(dict.fromkeys(read_text(item) for item in read_items(node)))
    return (read_text(node),)


def _read_attribute(node: Node) -> str:
    name = read_text(node)
    if name in _TAKEN:
        hint = f"the store itself has the columns {', '.join(_TAKEN)}"
        refuse(node.place, f"an attribute can not be called {quote(name)}", code="attribute-taken", hint=hint)
    return name


def _read_attributes(node: Node) -> tuple[str, ...]:
    if isinstance(node, Mapping):
        hint = "a list of columns that documents keep is right here; columns of the catalog are `labels`"
        refuse(node.place, "this is not a list", code="not-a-list", hint=hint)
    return tuple(sorted({_read_attribute(item) for item in read_items(node)}))


def _domain(written: _Written, matcher: Matcher) -> SourceDomain:
    return SourceDomain(written.name, *_found(written.group, matcher), written.labels, written.holdout)


def _found(group: _Group, matcher: Matcher) -> tuple[tuple[SourceFile, ...], Columns, Place]:
    owner = group.name if group.name is not None else f"domain_column {group.columns.domain}"
    shown = owner if group.name is None else f"domain {quote(owner)}"
    files: list[SourceFile] = []
    named = {PurePath(pattern).as_posix() for pattern, _ in group.patterns}
    for pattern, place in group.patterns:
        matches = matcher.find(pattern, owner, group.file_format, place)
        files += _recognised(matches, named=named if group.file_format is None else None)
    if not files:
        raise IngestError(
            f"{shown}: all files that its patterns match are passed over",
            code="no-files",
            place=group.place,
            hint="hidden files, _SUCCESS and *.crc are not sources",
        )
    chosen = chosen_split(
        files,
        group.split,
        named=named,
        shown=shown,
        place=group.place,
    )
    matcher.skipped += [Skipped.SPLIT] * (len(files) - len(chosen))
    # In an order that says nothing of the patterns': of rows left out, the first ones are told.
    return tuple(sorted(chosen, key=lambda file: file.shown)), group.columns, group.place


def _recognised(matches: list[SourceFile], *, named: Set[str] | None) -> list[SourceFile]:
    """The files of one pattern. Where it matches files of rows, text beside them, such as a README, is no document."""
    files = [recognised(file, named=named if file.chosen is None else None) for file in matches]
    rows = next((file for file in files if file.format is not FileFormat.TEXT), None)
    if rows is None or named is None:
        return files
    why = f"it is text beside files of {rows.format.value}, and '*{rows.path.suffix}' would not match it"
    return [replace(file, problem=file.problem or why) if file.format is FileFormat.TEXT else file for file in files]


_ITEMS: Schema = {"type": "array", "minItems": 1, "items": TEXT}
_GROUP = {
    "files": Key(
        lambda value: tuple((read_text(item), item.place) for item in read_items(value)),
        _ITEMS,
        "Names or patterns of files, from the folder of this one; a folder is a data set that was saved to disk.",
        (["web/*.parquet"],),
    ),
    "text": Key(
        _read_texts,
        any_of(TEXT, {**_ITEMS, "uniqueItems": True}),
        "The column of text, or several, which are joined by a blank line. Default: text.",
        ("content", ["title", "body"]),
    ),
    "id": Key(read_text, TEXT, "The column of documents' ids. Default: the hash of the text.", ("url",)),
    "attributes": Key(
        _read_attributes,
        {**_ITEMS, "items": {**TEXT, "not": {"enum": list(_TAKEN)}}},
        "Columns that documents keep.",
        (["url", "license"],),
    ),
    "format": Key(
        lambda value: read_word(value, FileFormat, code="unknown-format"),
        words(FileFormat),
        "What the files hold, where their names do not say it.",
        ("jsonl",),
    ),
    "split": Key(
        lambda value: (read_text(value), value.place),
        TEXT,
        "Which split of a dataset is read, where the files are of several; all: all of them.",
        ("train",),
    ),
}
"""How files are read."""

_HELD_OUT = Key(
    read_holdout, HOLDOUT.schema(), "Documents that are kept to evaluate on.", ({"share": "0.1%", "max": "10M tokens"},)
)
_DOMAIN = Keys(
    {
        **_GROUP,
        "labels": Key(read_labels, LABELS, "Columns of the catalog.", ({"cluster": "c03", "quality": 4},)),
        "holdout": _HELD_OUT,
    },
    required=("files",),
)
_SOURCES = {
    "domains": Key(
        _read_domains,
        {"type": "object", "minProperties": 1, "propertyNames": DOMAINS, "additionalProperties": _DOMAIN.schema()},
        "The domains, by name, and which files each of them is.",
        ({"web": {"files": ["web/*.jsonl"]}},),
    ),
    **_GROUP,
    "domain_column": Key(read_text, TEXT, "The column that says of which domain a document is.", ("label",)),
    "holdout": _HELD_OUT,
    "end_of_document": Key(
        read_text, TEXT, "The tokenizer's token for it. Default: one of the usual names.", ("<|endoftext|>",)
    ),
    "end_of_document_in_text": Key(
        lambda node: read_word(node, EndInText, code="unknown-rule"),
        words(EndInText),
        "What becomes of it where a text itself ends with it. Default: drop.",
        ("keep",),
    ),
    "tokenizer_name": Key(
        read_text, TEXT, "What catalog and spec call the tokenizer. Default: its file's name.", ("org/tokenizer",)
    ),
    "dtype": Key(
        lambda node: read_word(node, TokenType, code="unknown-dtype"),
        words(TokenType),
        "Of tokens. Default: the smallest that holds the vocabulary.",
        ("uint16",),
    ),
    "overview": Key(
        lambda node: (read_path(node), node.place),
        TEXT,
        "An overview.json to keep with the store: what its clusters are about.",
        ("overview.json",),
    ),
}


def sources_schema() -> Schema:
    """The JSON Schema of a sources file: it refuses none that `read_sources` takes, but for values that are null."""
    by_column = ["files", "domain_column"]
    needed = any_of({"required": ["domains"]}, {"required": by_column})
    dependencies = dict.fromkeys((*_GROUP, "domain_column"), by_column)
    schema = Keys(_SOURCES).schema() | needed | {"dependencies": dependencies}
    return whole_schema("Which files are the domains of a store", schema)
