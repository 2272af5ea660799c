"""A store of any size whose tokens are holes: to rehearse a run, or to measure one, before its tokens are there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from mixture.data.layout import (
    FILE_TOKENS,
    TOKEN_COLUMN,
    TOKENS,
    DomainRecord,
    Manifest,
    TokenFile,
    TokenizerRecord,
    document_schema,
    file_bytes,
    token_path,
    write_hole,
    write_tables,
)


def write_holes(
    folder: Path,
    domains: Mapping[str, int],
    *,
    file_tokens: int = FILE_TOKENS,
    tokenizer: str = "holes",
) -> Manifest:
    """Write a store of domains (name to tokens) that takes next to no space. Every token reads as 0.

    tokenizer: the name that the store says its tokens were made with: that of the lock whose run is rehearsed

    Each domain is one document. Digests of tokens are those of the sizes, so the store opens, and `verify_store`
    refuses it, as it should.
    """
    dtype = np.dtype(np.uint32)
    (folder / TOKENS).mkdir(parents=True)
    records = [
        _domain(folder, number, name, domains[name], dtype, file_tokens) for number, name in enumerate(sorted(domains))
    ]
    schema = document_schema({})
    documents = [
        pa.Table.from_pylist([{"domain": d.name, "id": d.name, "first_token": 0, "tokens": d.tokens}], schema)
        for d in records
        if d.documents
    ]
    return write_tables(
        folder,
        domains=records,
        documents=documents,
        attributes={},
        tokenizer=TokenizerRecord(name=tokenizer, digest=_digest("holes"), vocabulary=1),
        dtype=dtype,
        end_of_document=0,
        seed=0,
        file_tokens=file_tokens,
    )


def _domain(folder: Path, number: int, name: str, tokens: int, dtype: np.dtype, file_tokens: int) -> DomainRecord:
    files: list[TokenFile] = []
    for first in range(0, tokens, file_tokens):
        count = min(file_tokens, tokens - first)
        path = token_path(number, name, len(files))
        write_hole(folder / path, dtype, count, TOKEN_COLUMN)
        size = file_bytes(dtype, count, TOKEN_COLUMN)
        files.append(TokenFile(file=path, bytes=size, sha256=_digest(f"{dtype} {count}"), tokens=count))
    content = _digest(f"{name} {dtype} {tokens}")
    return DomainRecord(name=name, tokens=tokens, documents=1 if tokens else 0, content=content, files=tuple(files))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
