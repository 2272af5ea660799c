"""store.json: what a store says of itself. It is written last, so a folder that has one is whole."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from mixture.errors import Place, StoreError
from mixture.file_names import STORE_FILE, STORE_TABLE
from mixture.json_text import by_line, digest
from mixture.whole_file import whole_file

FORMAT = "mixture-store/1"
MANIFEST = STORE_FILE
DOMAINS = STORE_TABLE
DOCUMENTS = "documents.parquet"
DOCUMENTS_BY_ID = "documents_by_id.parquet"
DOCUMENT_ENDS = "document_ends.arrow"
TOKENIZER = "tokenizer.json"  # where the tokens were made with one
BYTES = "bytes"  # the name of the tokenizer that needs none
TOKENS = "tokens"
TOKEN_COLUMN = "token"
END_COLUMN = "end"
ENDS_DTYPE = np.dtype(np.int64)

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def _inside(file: str) -> str:
    """A path that can not lead out of the folder."""
    if "\0" in file or any(part in ("", ".", "..") for part in file.split("/")):
        raise ValueError(f"{file!r} is not the path of a file inside the store")
    return file


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FileRecord(_Model):
    """A file of the store: its path inside the folder, its size, the SHA-256 of all of it."""

    file: Annotated[str, AfterValidator(_inside)]
    bytes: _Count
    sha256: _Digest


class TokenFile(FileRecord):
    """A file of tokens."""

    tokens: Annotated[int, Field(ge=1, lt=2**60)]


class TokenizerRecord(_Model):
    """What the tokens were made with.

    digest:      the SHA-256 of tokenizer.json, or of the byte tokenizer's rule
    vocabulary:  every id is below it
    """

    name: str
    digest: _Digest
    vocabulary: Annotated[int, Field(ge=1, le=2**32)]


class EndOfDocument(_Model):
    """The token that stands once behind every document."""

    token: _Count
    rule: Literal["after-every-document"] = "after-every-document"


class DomainRecord(_Model):
    """A domain: its totals, its content digest, and its files in order. All but the last hold `file_tokens` tokens."""

    name: str
    tokens: _Count
    documents: _Count
    content: _Digest
    files: tuple[TokenFile, ...]


class Manifest(_Model):
    """All of store.json but the store's digest and the SHA-256 of the rest of it, both of which follow."""

    format: Literal["mixture-store/1"] = "mixture-store/1"
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

    def files(self) -> Iterator[FileRecord]:
        """Every file but store.json."""
        yield from self.tables
        for domain in self.domains:
            yield from domain.files


def content_digest(dtype: str, tokens: int, token_digest: str, documents: int, span_digest: str) -> str:
    """A domain's content digest.

    token_digest is the SHA-256 of all its tokens, little-endian in dtype; span_digest that of the numbers of tokens of
    its documents, in order of place, little-endian in 64 bits.
    """
    parts = ("mixture-content/1", dtype, str(tokens), token_digest, str(documents), span_digest)
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write store.json, one domain and one table a line, by rename."""
    fields = manifest.model_dump(mode="json")
    fields["digest"] = manifest.digest
    fields["sha256"] = digest(fields)
    with whole_file(folder / MANIFEST) as beside:
        beside.write_text(by_line(fields), encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read store.json and check it against its own digest and for what does not fit together. Errors: StoreError."""
    path = folder / MANIFEST
    place = Place(file=str(path))
    try:
        fields = json.loads(path.read_bytes())
        own = fields.pop("sha256")
    except (FileNotFoundError, NotADirectoryError):
        raise _no_store(folder) from None
    except OSError as error:
        raise StoreError(f"can not be read: {error.strerror}", code="store-unreadable", place=place) from error
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise StoreError("is not a store's description", code="store-damaged", place=place) from error
    if fields.get("format") != FORMAT:
        raise StoreError(
            f"is of format {fields.get('format')!r}", code="store-format", place=place, hint=f"this reads {FORMAT}"
        )
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
        manifest = Manifest.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{at}: {first['msg']}", code="store-damaged", place=place) from error
    if manifest.digest != said:
        raise StoreError(
            f"says the store's digest is {said}, and it is {manifest.digest}", code="store-damaged", place=place
        )
    for wrong in _contradictions(manifest):
        raise StoreError(wrong, code="store-damaged", place=place)
    return manifest


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """What can not be true of any store, so that no reader need ask again."""
    tables = [table.file for table in manifest.tables]
    missing = {DOMAINS, DOCUMENTS, DOCUMENTS_BY_ID, DOCUMENT_ENDS} - set(tables)
    if missing:
        yield f"tables: {', '.join(sorted(missing))} is not among them"
    files = Counter(file.file for file in manifest.files())
    yield from (f"the file {file!r} is listed {count} times" for file, count in files.items() if count > 1)
    names = [domain.name for domain in manifest.domains]
    for before, name in pairwise(names):
        if before >= name:
            yield f"domain {name!r} stands behind {before!r}: domains are in order of name, each once"
    for domain in manifest.domains:
        total = sum(file.tokens for file in domain.files)
        if total != domain.tokens:
            yield f"domain '{domain.name}' has {domain.tokens:,} tokens, and its files hold {total:,}"
        *full, last = [file.tokens for file in domain.files] or [0]
        if last > manifest.file_tokens or any(tokens != manifest.file_tokens for tokens in full):
            yield f"domain '{domain.name}' is not cut into files of {manifest.file_tokens:,} tokens"
        if not (domain.tokens > 0) <= domain.documents <= domain.tokens:
            yield f"domain '{domain.name}' has {domain.tokens:,} tokens in {domain.documents:,} documents"
    if sum(domain.tokens for domain in manifest.domains) >= 2**63:
        yield "has 2^63 tokens or more"
    vocabulary, token = manifest.tokenizer.vocabulary, manifest.end_of_document.token
    if token >= vocabulary:
        yield f"end of document is {token:,}, and the vocabulary has {vocabulary:,} ids"
    if vocabulary - 1 > np.iinfo(manifest.dtype).max:
        yield f"a vocabulary of {vocabulary:,} ids does not go into {manifest.dtype}"


def _no_store(folder: Path) -> StoreError:
    place = Place(file=str(folder))
    if not folder.exists():
        return StoreError("no such folder", code="store-missing", place=place, hint="`mixture ingest` makes one")
    return StoreError(
        f"has no {MANIFEST}", code="store-missing", place=place, hint="a store without it is not complete"
    )
