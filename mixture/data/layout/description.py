"""What is known of a store without reading it: enough to compare it with a lock, and to say what a stream has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np


class ContentKind(StrEnum):
    """What a content digest is made of: all tokens and document spans, or files' names, sizes and fingerprints."""

    TOKENS = "tokens"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class StoreDomain:
    """A domain of a store. content is the SHA-256 of what `kind` says."""

    name: str
    tokens: int
    documents: int
    content: str
    kind: ContentKind = ContentKind.TOKENS


class StoreDescription(Protocol):
    """A store, here or at a service.

    path:            its folder or address
    tokenizer:       the name of the tokenizer
    vocabulary:      every id is below it; None: that is not known
    end_of_document: the id that stands once behind every document
    dtype:           of its tokens, uint16 or uint32
    domains:         by name, in order of name
    digest:          the SHA-256 of what it holds
    """

    @property
    def path(self) -> Path | str: ...

    @property
    def tokenizer(self) -> str: ...

    @property
    def vocabulary(self) -> int | None: ...

    @property
    def end_of_document(self) -> int: ...

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def domains(self) -> Mapping[str, StoreDomain]: ...

    @property
    def digest(self) -> str: ...
