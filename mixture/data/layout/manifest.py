"""store.json: what a store says of itself. It is written last, so a folder that has one is whole."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from mixture.errors import Place, StoreError
from mixture.file_names import STORE_FILE, STORE_TABLE
from mixture.json_text import by_line, digest, parse_json
from mixture.whole_file import whole_file

FORMAT = "mixture-store/1"
MANIFEST = STORE_FILE
DOMAINS = STORE_TABLE
DOCUMENTS = "documents.parquet"
DOCUMENTS_BY_ID = "documents_by_id.parquet"
DOCUMENT_ENDS = "document_ends.arrow"
TOKENIZER = "tokenizer.json"  # where the tokens were made with one
QUARANTINE = "quarantine.parquet"  # where an ingest left something out
BYTES = "bytes"  # the name of the tokenizer that needs none
TOKENS = "tokens"
TOKEN_COLUMN = "token"
END_COLUMN = "end"
ENDS_DTYPE = np.dtype(np.int64)

Count = Annotated[int, Field(ge=0, lt=2**63)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def _inside(file: str) -> str:
    """A path that can not lead out of the folder."""
    if "\0" in file or any(part in ("", ".", "..") for part in file.split("/")):
        raise ValueError(f"{file!r} is not the path of a file inside the store")
    return file


class Model(BaseModel):
    """A part of store.json."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FileRecord(Model):
    """A file of the store: its path inside the folder, its size, the SHA-256 of all of it."""

    file: Annotated[str, AfterValidator(_inside)]
    bytes: Count
    sha256: Digest


class TokenFile(FileRecord):
    """A file of tokens."""

    tokens: Annotated[int, Field(ge=1, lt=2**60)]


class TokenizerRecord(Model):
    """What the tokens were made with.

    digest:      the SHA-256 of tokenizer.json, or of the byte tokenizer's rule; None where a catalog that the store was
                 made from has none
    vocabulary:  every id is below it
    """

    name: str
    digest: Digest | None
    vocabulary: Annotated[int, Field(ge=1, le=2**32)]


class EndOfDocument(Model):
    """The token that stands once behind every document."""

    token: Count
    rule: Literal["after-every-document"] = "after-every-document"


class DomainTotals(Model):
    """A domain: its totals and its content digest."""

    name: str
    tokens: Count
    documents: Count
    content: Digest


class DomainRecord(DomainTotals):
    """A domain and its files in order. All but the last hold `file_tokens` tokens."""

    files: tuple[TokenFile, ...]


class Description(Model, ABC):
    """All of a store.json but the store's digest and the SHA-256 of the rest of it, both of which follow."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """The SHA-256 of what the store holds."""

    @abstractmethod
    def contradictions(self) -> Iterator[str]:
        """What can not be true of any store, so that no reader need ask again."""


D = TypeVar("D", bound=Description)


class Manifest(Description):
    """What a store says that has its tokens itself."""

    format: Literal["mixture-store/1", "mixture-packed/1"] = "mixture-store/1"
    tokenizer: TokenizerRecord
    dtype: Literal["uint16", "uint32"]
    end_of_document: EndOfDocument
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    file_tokens: Annotated[int, Field(ge=1, lt=2**60)]
    tables: tuple[FileRecord, ...]
    domains: tuple[DomainRecord, ...]

    @property
    def digest(self) -> str:
        """The SHA-256 of what the store holds: the same documents, tokenizer and order give it on every machine.

        How the tokens are cut into files, and the bytes of the tables, which differ between versions of pyarrow, do
        not enter.
        """
        said = {
            "format": self.format,
            "tokenizer": self.tokenizer.digest,
            "dtype": self.dtype,
            "end_of_document": self.end_of_document.model_dump(),
            "domains": [[d.name, d.tokens, d.documents, d.content] for d in self.domains],
        }
        return digest(said)

    @property
    def num_documents(self) -> int:
        return sum(domain.documents for domain in self.domains)

    def contradictions(self) -> Iterator[str]:
        """What can not be true of any store."""
        yield from wrong_tables(self.tables, {DOMAINS, DOCUMENTS, DOCUMENTS_BY_ID, DOCUMENT_ENDS})
        files = Counter(file.file for file in self.files())
        yield from (f"the file {file!r} is listed {count} times" for file, count in files.items() if count > 1)
        yield from wrong_totals(self.domains)
        for domain in self.domains:
            total = sum(file.tokens for file in domain.files)
            if total != domain.tokens:
                yield f"domain '{domain.name}' has {domain.tokens:,} tokens, and its files hold {total:,}"
            *full, last = [file.tokens for file in domain.files] or [0]
            if last > self.file_tokens or any(tokens != self.file_tokens for tokens in full):
                yield f"domain '{domain.name}' is not cut into files of {self.file_tokens:,} tokens"
        yield from wrong_ids(self.tokenizer.vocabulary, self.end_of_document.token, self.dtype)

    def files(self) -> Iterator[FileRecord]:
        """Every file but store.json."""
        yield from self.tables
        for domain in self.domains:
            yield from domain.files


def wrong_tables(tables: Sequence[FileRecord], needed: Set[str]) -> Iterator[str]:
    """What can not be true of a store's tables."""
    missing = needed - {table.file for table in tables}
    if missing:
        yield f"tables: {', '.join(sorted(missing))} is not among them"


def wrong_totals(domains: Sequence[DomainTotals]) -> Iterator[str]:
    """What can not be true of the order and the sizes of domains."""
    for before, domain in pairwise(domains):
        if before.name >= domain.name:
            yield f"domain {domain.name!r} stands behind {before.name!r}: domains are in order of name, each once"
    for domain in domains:
        if not (domain.tokens > 0) <= domain.documents <= domain.tokens:
            yield f"domain '{domain.name}' has {domain.tokens:,} tokens in {domain.documents:,} documents"
    if sum(domain.tokens for domain in domains) >= 2**63:
        yield "has 2^63 tokens or more"


def wrong_ids(vocabulary: int, end_of_document: int, dtype: str) -> Iterator[str]:
    """What can not be true of token ids."""
    if end_of_document >= vocabulary:
        yield f"end of document is {end_of_document:,}, and the vocabulary has {vocabulary:,} ids"
    if vocabulary - 1 > np.iinfo(dtype).max:
        yield f"a vocabulary of {vocabulary:,} ids does not go into {dtype}"


def content_digest(dtype: str, tokens: int, token_digest: str, documents: int, span_digest: str) -> str:
    """A domain's content digest.

    token_digest is the SHA-256 of all its tokens, little-endian in dtype; span_digest that of the numbers of tokens of
    its documents, in order of place, little-endian in 64 bits.
    """
    return joined_digest("mixture-content/1", dtype, str(tokens), token_digest, str(documents), span_digest)


def joined_digest(*parts: str) -> str:
    """The SHA-256 of texts, joined by U+001F."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def write_manifest(folder: Path, manifest: Description) -> None:
    """Write store.json, one domain and one table a line, by rename."""
    fields = manifest.model_dump(mode="json")
    fields["digest"] = manifest.digest
    fields["sha256"] = digest(fields)
    with whole_file(folder / MANIFEST) as beside:
        beside.write_text(by_line(fields), encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read the store.json of a store that has its tokens itself (`read_description`)."""
    return read_description(folder, {FORMAT: Manifest})


def read_description(folder: Path, forms: Mapping[str, type[D]]) -> D:
    """Read store.json and check it against its own digest and for what does not fit together. Errors: StoreError.

    forms: what to read, by the format that it says
    """
    path = folder / MANIFEST
    place = Place(file=str(path))
    try:
        fields = parse_json(path.read_bytes())
        own = fields.pop("sha256")
    except (FileNotFoundError, NotADirectoryError):
        raise _no_store(folder) from None
    except OSError as error:
        raise StoreError(f"can not be read: {error.strerror}", code="store-unreadable", place=place) from error
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise StoreError("is not a store's description", code="store-damaged", place=place) from error
    form = fields.get("format")
    if not isinstance(form, str) or form not in forms:
        hint = f"this reads {' and '.join(forms)}"
        raise StoreError(f"is of format {form!r}", code="store-format", place=place, hint=hint)
    try:
        found = digest(fields)
    except RecursionError as error:
        raise StoreError("is not a store's description", code="store-damaged", place=place) from error
    except UnicodeEncodeError as error:
        raise StoreError("holds half a character of UTF-16", code="store-damaged", place=place) from error
    if own != found:
        raise StoreError(
            f"says its SHA-256 is {own}, and it is {found}",
            code="store-damaged",
            place=place,
            hint="it was changed after it was written",
        )
    said = fields.pop("digest", None)
    try:
        manifest = forms[form].model_validate_json(json.dumps(fields))
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{at}: {first['msg']}", code="store-damaged", place=place) from error
    if manifest.digest != said:
        raise StoreError(
            f"says the store's digest is {said}, and it is {manifest.digest}", code="store-damaged", place=place
        )
    for wrong in manifest.contradictions():
        raise StoreError(wrong, code="store-damaged", place=place)
    return manifest


def _no_store(folder: Path) -> StoreError:
    place = Place(file=str(folder))
    if not folder.exists():
        return StoreError("no such folder", code="store-missing", place=place, hint="`mixture ingest` makes one")
    inside = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    hint = f"did you mean {inside[0]}?" if inside else "a store without it is not complete"
    return StoreError(f"has no {MANIFEST}", code="store-missing", place=place, hint=hint)
