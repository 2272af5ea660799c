"""What an ingest tells: how far it is, what it kept, what it left out and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Reason(StrEnum):
    """Why a document is not in the store.

    NULL_TEXT:       its text is null, or its row has none
    NOT_TEXT:        its text is a number, a list or an object
    EMPTY_TEXT:      its text has no characters
    BLANK_TEXT:      its text has only white space, control characters and characters without width
    INVALID_UTF8:    its bytes are not UTF-8
    LONE_SURROGATE:  its text has half a character of UTF-16, which UTF-8 can not hold
    NO_TOKENS:       the tokenizer makes no token of it: it has none for what is unknown, or takes all away
    DUPLICATE:       another document of the domain has its id and its text
    """

    NULL_TEXT = "null-text"
    NOT_TEXT = "not-text"
    EMPTY_TEXT = "empty-text"
    BLANK_TEXT = "blank-text"
    INVALID_UTF8 = "invalid-utf8"
    LONE_SURROGATE = "lone-surrogate"
    NO_TOKENS = "no-tokens"
    DUPLICATE = "duplicate"


class Skipped(StrEnum):
    """Why a file that a pattern matches is not read.

    HIDDEN:  it, or a folder in its path, begins with a dot
    MARKER:  it is what Hadoop, Spark and their kin leave beside data: _SUCCESS, _metadata, _temporary/…, *.crc
    AGAIN:   another pattern of the domain has matched it, or it is a link to a file that one has
    """

    HIDDEN = "hidden-file"
    MARKER = "marker-file"
    AGAIN = "matched-again"


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
    documents, tokens:    what is in the store; end-of-document tokens are counted
    dropped:              documents left out, by reason; with `documents` they are all that were read
    shared_ids:           documents kept whose id another document of the domain has, with another text
    """

    name: str
    files: int
    source_bytes: int
    documents: int
    tokens: int
    dropped: Mapping[Reason, int]
    shared_ids: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest made: the store's folder and digest, its domains in order of name, and the files not read."""

    path: Path
    digest: str
    domains: tuple[DomainReport, ...]
    skipped_files: Mapping[Skipped, int]

    @property
    def documents(self) -> int:
        return sum(domain.documents for domain in self.domains)

    @property
    def tokens(self) -> int:
        return sum(domain.tokens for domain in self.domains)
