"""The sources file of a catalog: which token files are a domain, and how they are read.

tokenizer: marin-community/marin-tokenizer
vocabulary_size: 128256
end_of_document: 128001
domains:
  web: {format: megatron, files: [web/*.bin], attributes: {license: ODC-BY}}
  code: {format: npy, files: [code/*.npy], dtype: uint32, documents: '{stem}.csv.gz'}
  math: {format: parquet, files: [math/*.parquet], column: input_ids, id: url}
  books: {format: store, path: ../store, domain: books}
  talk: {format: megatron, files: ['s3://bucket/talk/*.bin']}
"""

from __future__ import annotations

import glob
import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mixture.data.ingest import TokenType
from mixture.data.layout import How, LinkedFormat
from mixture.data.storage import Address
from mixture.data.texts import Labels, read_labels
from mixture.errors import Place
from mixture.planning.spec import decode_source, read_source
from mixture.planning.yamlfile import (
    Gatherer,
    Mapping,
    Node,
    parse_document,
    read_count,
    read_fields,
    read_items,
    read_located,
    read_path,
    read_stored_domain,
    read_text,
    read_word,
    refuse,
    unique_entries,
)
from mixture.units import Unit, quote


class StoredType(StrEnum):
    """A type that tokens of a file can have."""

    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"


@dataclass(frozen=True, slots=True)
class LinkSource:
    """A domain of a catalog as its sources say it; place: where."""

    name: str
    how: How
    labels: Labels
    place: Place


@dataclass(frozen=True, slots=True)
class CatalogSources:
    """What a sources file of a catalog says; domains in order of name.

    definition: the tokenizer.json to keep with the catalog
    dtype:      of the tokens that are handed out; None: the smallest that holds the vocabulary
    """

    tokenizer: str
    definition: Path | None
    vocabulary: int
    end_of_document: int
    dtype: TokenType | None
    domains: tuple[LinkSource, ...]
    place: Place


_KEYS = {
    LinkedFormat.MEGATRON: {"files"},
    LinkedFormat.NPY: {"files", "dtype", "documents"},
    LinkedFormat.PARQUET: {"files", "column", "id"},
    LinkedFormat.ARROW: {"files", "column", "id"},
    LinkedFormat.STORE: {"path", "domain"},
}
_ARGUMENTS = "arguments"
_NEEDED = {LinkedFormat.STORE: ("path",)}


def read_catalog_sources(path: Path, base: Path) -> CatalogSources:
    """Read a sources file of a catalog. Its patterns and paths, relative to its folder, get relative to `base`.

    Errors: SpecError for what is not right in the file.
    """
    root = parse_document(decode_source(read_source(path), file=str(path)), file=str(path))
    before = os.path.relpath(path.resolve().parent, base)
    fields = read_fields(
        root,
        {
            "tokenizer": read_text,
            "tokenizer_file": read_path,
            "vocabulary_size": lambda node: read_count(node, Unit.TOKENS, most=2**32),
            "end_of_document": lambda node: read_count(node, Unit.TOKENS, least=0),
            "dtype": lambda node: read_word(node, TokenType, code="unknown-dtype"),
            "domains": lambda node: _read_domains(node, before),
        },
        required=["tokenizer", "vocabulary_size", "end_of_document", "domains"],
    )
    if fields["end_of_document"] >= fields["vocabulary_size"]:
        message = (
            f"end of document is {fields['end_of_document']:,}, and the vocabulary has {fields['vocabulary_size']:,}"
        )
        refuse(root.place, message, code="id-outside-vocabulary", hint="ids go from 0 up to the vocabulary's size")
    return CatalogSources(
        tokenizer=fields["tokenizer"],
        definition=fields.get("tokenizer_file"),
        vocabulary=fields["vocabulary_size"],
        end_of_document=fields["end_of_document"],
        dtype=fields.get("dtype"),
        domains=tuple(sorted(fields["domains"], key=lambda domain: domain.name)),
        place=root.place,
    )


def _read_domains(node: Node, before: str) -> list[LinkSource]:
    if not isinstance(node, Mapping) or not node.entries:
        hint = "domains: {web: {format: megatron, files: ['web/*.bin']}}"
        refuse(node.place, "this is not a mapping of domains", code="not-a-mapping", hint=hint)
    gatherer = Gatherer()
    domains = []
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            domains.append(_read_domain(read_stored_domain(key), value, before))
    gatherer.finish()
    return domains


def _read_domain(name: str, node: Node, before: str) -> LinkSource:
    fields = read_fields(
        node,
        {
            "format": lambda value: read_word(value, LinkedFormat, code="unknown-format"),
            "files": lambda value: tuple(pattern_from(before, read_located(item)) for item in read_items(value)),
            "dtype": lambda value: read_word(value, StoredType, code="unknown-dtype"),
            "documents": read_text,
            "column": read_text,
            "id": read_text,
            "path": lambda value: path_from(before, read_located(value)),
            "domain": read_text,
            "attributes": read_labels,
        },
        required=["format"],
        elsewhere={"labels": "columns of the catalog are `attributes` in a sources file of tokens"},
    )
    form = fields["format"]
    for key, _ in node.entries if isinstance(node, Mapping) else ():
        if key.text not in _KEYS[form] | {"format", "attributes"}:
            hint = f"right here: {', '.join(sorted(_KEYS[form]))}"
            refuse(key.place, f"nothing reads {quote(key.text)} of the format {form}", code="unknown-key", hint=hint)
    for needed in _NEEDED.get(form, ("files",)):
        if needed not in fields:
            refuse(node.place, f"the key {quote(needed)} is missing", code="missing-key")
    how = How(
        format=form,
        patterns=fields.get("files", ()),
        path=fields.get("path"),
        domain=fields.get("domain", name) if form is LinkedFormat.STORE else None,
        dtype=fields.get("dtype"),
        column=fields.get("column"),
        id=fields.get("id"),
        documents=fields.get("documents"),
    )
    return LinkSource(name, how, fields.get("attributes", {}), node.place)


def link_source(name: str, fields: dict[str, object], base: Path) -> LinkSource:
    """A domain by the keys that a sources file has for it, relative to the folder that this process is in.

    Errors: SpecError, as for a sources file; its places are those in the keys written as JSON.
    """
    text = json.dumps({"domains": {name: fields}})
    root = parse_document(text, file=_ARGUMENTS)
    before = os.path.relpath(Path.cwd(), base)
    (source,) = read_fields(root, {"domains": lambda node: _read_domains(node, before)})["domains"]
    assert isinstance(source, LinkSource)
    return source


def path_from(before: str, place: Address | Path) -> str:
    """A path that is relative to the folder `before`; as it is, where it begins at the root, or is an address."""
    if isinstance(place, Address):
        return str(place)
    return os.path.normpath(os.path.join(before, place))  # noqa: PTH118 paths of a catalog are texts


def pattern_from(before: str, place: Address | Path) -> str:
    """A pattern that is relative to the folder `before`, whose own name is no pattern; or one of addresses."""
    if isinstance(place, Address):
        return str(place)
    pattern = os.fspath(place)
    if place.is_absolute() or before == os.curdir:
        return pattern
    return f"{glob.escape(before)}/{pattern}"
