"""What tests of stores write and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from mixture.data.layout.documents import document_schema
from mixture.data.layout.files import DATA_START, file_bytes, write_hole
from mixture.data.layout.manifest import TOKEN_COLUMN, TOKENS, DomainRecord, TokenFile, TokenizerRecord
from mixture.data.layout.tables import token_path, write_tables
from mixture.data.store import Store

MakeStore = Callable[..., Store]
WriteSources = Callable[[str], Path]


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def text_of(tokens: np.ndarray) -> str:
    """The text of byte tokens; end-of-document as a bar."""
    return "".join("|" if token == 256 else chr(token) for token in tokens.tolist())


def bare_store(folder: Path, lengths: dict[str, list[int]]) -> Path:
    """A store of holes, of 32 bits a token, with documents of these lengths by domain; their ids are NAME-NUMBER."""
    dtype = np.dtype(np.uint32)
    (folder / TOKENS).mkdir(parents=True)
    records, tables = [], []
    for number, (name, sizes) in enumerate(lengths.items()):
        total, path = sum(sizes), token_path(number, name, 0)
        write_hole(folder / path, dtype, total, TOKEN_COLUMN)
        file = TokenFile(file=path, bytes=file_bytes(dtype, total, TOKEN_COLUMN), sha256="0" * 64, tokens=total)
        records.append(DomainRecord(name=name, tokens=total, documents=len(sizes), content="0" * 64, files=(file,)))
        starts = np.cumsum(sizes) - sizes
        columns = [[name] * len(sizes), [f"{name}-{i}" for i in range(len(sizes))], starts, sizes]
        tables.append(pa.table([pa.array(column) for column in columns], schema=document_schema({})))
    write_tables(
        folder,
        domains=records,
        documents=tables,
        attributes={},
        tokenizer=TokenizerRecord(name="t", digest="0" * 64, vocabulary=151_936),
        dtype=dtype,
        end_of_document=0,
        seed=0,
        file_tokens=2**50,
    )
    return folder


def write_tokens(folder: Path, tokens: Sequence[int], *, first_token: int = 0) -> None:
    """Write tokens over the holes of a bare store of one domain."""
    (path,) = (folder / TOKENS).iterdir()
    with path.open("r+b") as file:
        file.seek(DATA_START + 4 * first_token)
        file.write(np.array(tokens, np.uint32).tobytes())
