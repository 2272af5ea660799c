"""What an ingest tells: how far it is, what it kept, what it left out and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Reason(StrEnum):
    """Why a document is not in the store.

    NULL_TEXT:        its text is null, or its row has none
    NOT_TEXT:         its text is a number, a list or an object
    EMPTY_TEXT:       its text has no characters
    BLANK_TEXT:       its text has only white space, control characters and characters without width
    INVALID_UTF8:     its bytes are not UTF-8
    LONE_SURROGATE:   its text has half a character of UTF-16, which UTF-8 can not hold
    NOT_JSON:         its line is not a JSON object, or one with a key twice
    TOO_LARGE:        it has more than 2^31 bytes
    DOMAIN_MISSING:   the column that names its domain is null or empty, or not in its row
    DOMAIN_ILLEGAL:   that column has what no domain can be called
    NESTED_ATTRIBUTE: an attribute of it is a list or an object, and not a single value
    NO_TOKENS:        the tokenizer makes no token of it: it has none for what is unknown, or takes all away
    DUPLICATE:        another document of the domain has its id and its text
    RAGGED_CSV:       its row of CSV has more or fewer cells than the header
    EMPTY_FILE:       a file of lines without a byte; it counts as one
    UNREADABLE_FILE:  a file, or a part of it, that cannot be read, where such files are left out; it counts as one
    """

    NULL_TEXT = "null-text"
    NOT_TEXT = "not-text"
    EMPTY_TEXT = "empty-text"
    BLANK_TEXT = "blank-text"
    INVALID_UTF8 = "not-utf-8"
    LONE_SURROGATE = "lone-surrogate"
    NOT_JSON = "not-json"
    TOO_LARGE = "too-large"
    DOMAIN_MISSING = "domain-missing"
    DOMAIN_ILLEGAL = "domain-illegal"
    NESTED_ATTRIBUTE = "attribute-nested"
    NO_TOKENS = "no-tokens"
    DUPLICATE = "duplicate"
    RAGGED_CSV = "ragged-csv"
    EMPTY_FILE = "file-empty"
    UNREADABLE_FILE = "file-unreadable"


NO_ROW = frozenset({Reason.EMPTY_FILE, Reason.UNREADABLE_FILE})
"""Reasons of files, and not of rows."""


class Unfit(StrEnum):
    """What becomes of a row that is no document.

    QUARANTINE: it is left out, counted by reason, and listed in the store's quarantine.parquet
    REFUSE:     the ingest ends with an error that says where it stands
    """

    QUARANTINE = "quarantine"
    REFUSE = "refuse"


class Unreadable(StrEnum):
    """What becomes of a file that cannot be read: damaged, of a format that nothing reads, a pointer of Git LFS.

    REFUSE:     the ingest ends with the errors of all such files
    QUARANTINE: it is left out, counted, and listed in the store's quarantine.parquet
    """

    REFUSE = "refuse"
    QUARANTINE = "quarantine"


class Empty(StrEnum):
    """What becomes of a source, the files of a domain or those whose rows name it, that gave no document.

    REFUSE: the ingest ends with an error; ALLOW: its domain has no document
    """

    REFUSE = "refuse"
    ALLOW = "allow"


class TokenInText(StrEnum):
    """A token of the tokenizer's own that the text of a document spells, and the tokenizer takes for that token.

    END:        the text ends with end-of-document
    BEGINNING:  it begins with what the tokenizer puts before every text
    END_INSIDE: end-of-document stands inside the text, white space behind it included
    """

    END = "end-of-document"
    BEGINNING = "beginning-of-document"
    END_INSIDE = "end-of-document-inside"


class EndInText(StrEnum):
    """What becomes of end-of-document where a text itself ends with it, and of the beginning where it begins with it.

    DROP: it is dropped, so that each document has one
    KEEP: it is kept, and a second one follows it, or stands before it
    """

    DROP = "drop"
    KEEP = "keep"


class Skipped(StrEnum):
    """Why a file that a pattern matches is not read.

    HIDDEN:  it, or a folder in its path, begins with a dot
    MARKER:  it is what Hadoop, Spark and their kin leave beside data: _SUCCESS, _metadata, _temporary/…, *.crc
    AGAIN:   another pattern of the domain has matched it, or it is a link to a file that one has
    BESIDE:  it lies in the folder of a dataset that Hugging Face saved, and is none of its files of rows
    SPLIT:   it is of another split than the one that `split` names
    """

    HIDDEN = "hidden-file"
    MARKER = "marker-file"
    AGAIN = "matched-again"
    BESIDE = "beside-a-dataset"
    SPLIT = "other-split"


class Stage(StrEnum):
    """READ counts bytes of sources, WRITE bytes of tokens."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far a domain is in a stage, in bytes."""

    stage: Stage
    domain: str
    done: int
    total: int


ProgressCallback = Callable[[IngestProgress], None]


@dataclass(frozen=True, slots=True)
class DomainReport:
    """What became of a domain's sources.

    files, source_bytes:  how many were read, and their size as they lie
                          None of a domain that a column names, or whose documents were held out of another
    documents, tokens:    what is in the store; end-of-document tokens are counted
    dropped:              documents left out, by reason; with `documents`, and those held out, they are all that were
                          read of it
    shared_ids:           documents kept whose id another document of the domain has, with another text
    tokens_in_text:       documents read whose text spells the tokenizer's end-of-document or beginning, by kind
    """

    name: str
    files: int | None
    source_bytes: int | None
    documents: int
    tokens: int
    dropped: Mapping[Reason, int]
    shared_ids: int
    tokens_in_text: Mapping[TokenInText, int]


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """What was read of the files whose rows name their domain. dropped: the rows that are of none."""

    files: int
    source_bytes: int
    dropped: Mapping[Reason, int]


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest made: the store's folder and digest, its domains in order of name, and the files not read.

    by_column:   what was read of the files whose rows name their domain; None: there are none
    look_alike:  names of domains that differ, and hardly to the eye, such as `8` and `08`
    mixed:       attributes whose values are of several types, which are kept as text
    not_held:    domains of which a share was to be held out, and no document is
    quarantine:  rows in the store's table of documents left out; `dropped` counts all of them
    end_of_document_in_text: what became of end-of-document where a text ends with it
    """

    path: Path
    digest: str
    domains: tuple[DomainReport, ...]
    skipped_files: Mapping[Skipped, int]
    by_column: ColumnReport | None = None
    look_alike: tuple[tuple[str, ...], ...] = ()
    mixed: tuple[str, ...] = ()
    not_held: tuple[str, ...] = ()
    quarantine: int = 0
    end_of_document_in_text: EndInText = EndInText.DROP

    @property
    def documents(self) -> int:
        return sum(domain.documents for domain in self.domains)

    @property
    def tokens(self) -> int:
        return sum(domain.tokens for domain in self.domains)
