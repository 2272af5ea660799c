"""What the repository gives: rows as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Source(StrEnum):
    """Where a mixture comes from: a folder that the service was started with, or somebody who published it."""

    BUILTIN = "builtin"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A mixture as it is kept: the texts as they were given, and what this service made of them.

    digest: of the lock, hex; it names the mixture
    tables: the bytes of each table by the name that the spec has for it
    plan:   JSON, as `mixture plan --json` prints it
    """

    digest: str
    mixture: str
    steps: int
    sequences: int
    tokens: int
    domains: int
    spec: bytes
    tables: Mapping[str, bytes]
    lock: bytes
    plan: bytes


@dataclass(frozen=True, slots=True)
class MixtureRecord:
    """A mixture that is kept. `name` is the one that it was asked for by, or is listed under.

    source:    of what the name led to: the same mixture may be in a folder and published under another name
    published: when it was first published; of one that nobody published, when it was first read from a folder
    by:        whose token published it; empty where nobody did
    """

    digest: str
    name: str | None
    mixture: str
    steps: int
    sequences: int
    tokens: int
    domains: int
    source: Source
    published: datetime
    by: str


class Change(StrEnum):
    """What publishing did to a name."""

    CREATED = "created"
    MOVED = "moved"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Published:
    """What publishing came to.

    text:     the SHA-256 of the spec's file that is kept: where the mixture was there, the one that it came with first
    replaced: the digest that the name pointed to before it was moved
    """

    name: str
    digest: str
    change: Change
    text: str
    replaced: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A line of a name's history: from then on it led to `to_digest`. `revision` counts from 1.

    from_digest: None for the first
    by:          whose token moved it; None where a folder of the service came to be another mixture
    """

    name: str
    revision: int
    from_digest: str | None
    to_digest: str
    at: datetime
    by: str | None


Losses = Mapping[str, float | str | None]


@dataclass(frozen=True, slots=True)
class ProgressEntry:
    """A line of a run's log: so many steps are done, and optionally the loss by domain.

    loss: a number; "NaN", "Infinity" or "-Infinity", which JSON has no numbers for; None: not known

    lock, lock_before: digests of the locks that the run reads from here on, and read before, where that changed
    """

    seq: int
    step: int
    loss: Losses | None
    key: str | None
    at: datetime
    by: str
    lock: str | None = None
    lock_before: str | None = None


@dataclass(frozen=True, slots=True)
class NextLock:
    """The lock that a run goes on under: its digest (hex) and the reference of its mixture.

    before:   the digest of the lock that it is to take the place of
    parts_at: the step at which the two part; the run must not have gone further
    """

    digest: str
    mixture: str
    before: str
    parts_at: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run of the mixture with this lock digest. `mixture` is that one's reference, `last` the run's newest report.

    steps: of the whole run; None where its mixture is not kept
    """

    number: int
    id: str
    name: str | None
    mixture: str
    digest: str
    steps: int | None
    last_seq: int
    last: ProgressEntry | None
    registered: datetime
    by: str


class Scope(StrEnum):
    """What a token lets its holder do.

    run: register runs, and report the progress of those that a token of the same name registered; run-all: of all runs
    """

    READ = "read"
    PUBLISH = "publish"
    RUN = "run"
    RUN_ALL = "run-all"


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token without its secret."""

    number: int
    id: str
    name: str
    scopes: frozenset[Scope]
    created: datetime
    revoked: datetime | None
