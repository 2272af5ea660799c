"""Writing what makes a folder of token files a store: the catalog, the tables of documents, store.json."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mixture.data.layout.documents import document_schema
from mixture.data.layout.files import prefix, suffix
from mixture.data.layout.manifest import (
    DOCUMENT_ENDS,
    DOCUMENTS,
    DOCUMENTS_BY_ID,
    DOMAINS,
    END_COLUMN,
    ENDS_DTYPE,
    QUARANTINE,
    TOKENIZER,
    TOKENS,
    DomainRecord,
    DomainTotals,
    EndOfDocument,
    FileRecord,
    Manifest,
    TokenizerRecord,
    write_manifest,
)
from mixture.data.layout.packed import PackedManifest, Packing
from mixture.planning.catalog import OVERVIEW, Overview, write_overview

ROW_GROUP = 1 << 14
"""Documents. A group is read to look up one of them: 1.2 ms, and 4.4 ms with four times as many. Fewer would make the
footer, which every opened store keeps in memory, large: it has some 400 bytes a group."""
FILE_TOKENS = 1 << 30
_MEMORY = ("256MB", "1GB", "4GB")
"""Of DuckDB, each where the one before is too little, as for ids of 10 KB, of which it holds a row group at once. With
four times as much, it sorts ten million short ids in the same time."""


def token_path(domain: int, name: str, file: int) -> str:
    """Where a domain's file lies. The number keeps names apart that a path can not, such as `A` and `a`."""
    return f"{TOKENS}/{domain:05d}-{plain_name(name)}-{file:05d}.arrow"


def plain_name(name: str) -> str:
    """A name as part of a file's: what may not stand there is an underscore."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name[:40])


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_tables(
    folder: Path,
    *,
    domains: Sequence[DomainRecord],
    documents: Iterable[pa.Table],
    attributes: Mapping[str, pa.DataType],
    tokenizer: TokenizerRecord,
    dtype: np.dtype[Any],
    end_of_document: int,
    seed: int,
    file_tokens: int,
    definition: bytes | None = None,
    labels: Mapping[str, pa.Array[Any]] | None = None,
    overview: Overview | None = None,
    quarantine: pa.Table | None = None,
    packed: Packing | None = None,
) -> Manifest:
    """Write everything beside the token files, store.json last; the arguments are those of `write_table_files`.

    packed: how rows were packed, where the tokens are packed rows
    """
    kind = Manifest if packed is None else partial(PackedManifest, packed=packed)
    manifest = kind(
        tokenizer=tokenizer,
        dtype="uint16" if dtype == np.uint16 else "uint32",
        end_of_document=EndOfDocument(token=end_of_document),
        seed=seed,
        file_tokens=file_tokens,
        tables=write_table_files(
            folder,
            domains=domains,
            documents=documents,
            attributes=attributes,
            tokenizer=tokenizer.name,
            definition=definition,
            labels=labels,
            overview=overview,
            quarantine=quarantine,
        ),
        domains=tuple(domains),
    )
    write_manifest(folder, manifest)
    return manifest


def write_table_files(
    folder: Path,
    *,
    domains: Sequence[DomainTotals],
    documents: Iterable[pa.Table],
    attributes: Mapping[str, pa.DataType],
    tokenizer: str,
    definition: bytes | None = None,
    labels: Mapping[str, pa.Array[Any]] | None = None,
    overview: Overview | None = None,
    quarantine: pa.Table | None = None,
) -> tuple[FileRecord, ...]:
    """Write the catalog and the tables of documents.

    documents:  tables of `document_schema`, domain by domain in order, each domain's in order of place; a table becomes
                row groups of its own
    attributes: their types by name; an attribute that is text in a table is read as one of its type
    tokenizer:  its name
    definition: the tokenizer.json that the tokens were made with, to be kept beside them
    labels:     columns of the catalog by name, a value for each of the domains
    quarantine: what was left out, where something was
    """
    _write_documents(folder, documents, domains, document_schema(attributes))
    _write_index(folder)
    catalog: dict[str, list[Any]] = {
        "domain": [domain.name for domain in domains],
        "tokens": [domain.tokens for domain in domains],
        "documents": [domain.documents for domain in domains],
        "tokenizer": [tokenizer for _ in domains],
    }
    types: dict[str, pa.DataType] = {
        "domain": pa.string(),
        "tokens": pa.int64(),
        "documents": pa.int64(),
        "tokenizer": pa.string(),
    }
    table = pa.table(catalog, schema=pa.schema(types))
    for name, column in (labels or {}).items():
        table = table.append_column(name, column)
    pq.write_table(table, folder / DOMAINS)
    names = [DOMAINS, DOCUMENTS, DOCUMENTS_BY_ID, DOCUMENT_ENDS]
    if definition is not None:
        (folder / TOKENIZER).write_bytes(definition)
        names.append(TOKENIZER)
    if overview is not None:
        write_overview(overview, folder / OVERVIEW)
        names.append(OVERVIEW)
    if quarantine is not None:
        pq.write_table(quarantine, folder / QUARANTINE, compression="zstd")
        names.append(QUARANTINE)
    return tuple(file_record(folder, name) for name in names)


def file_record(folder: Path, name: str) -> FileRecord:
    """What store.json says of a file of the folder."""
    path = folder / name
    return FileRecord(file=name, bytes=path.stat().st_size, sha256=file_digest(path))


def _write_documents(
    folder: Path, documents: Iterable[pa.Table], domains: Sequence[DomainTotals], schema: pa.Schema
) -> None:
    """Write documents.parquet, and document_ends.arrow beside it."""
    count = sum(domain.documents for domain in domains)
    names = pa.array([domain.name for domain in domains], pa.string())
    before = np.array([*accumulate((domain.tokens for domain in domains), initial=0)], np.int64)
    with (
        pq.ParquetWriter(folder / DOCUMENTS, schema, compression="zstd") as writer,
        (folder / DOCUMENT_ENDS).open("wb") as ends,
    ):
        ends.write(prefix(ENDS_DTYPE, count, END_COLUMN))
        for table in documents:
            if table.num_rows:
                writer.write_table(table.cast(schema), row_group_size=ROW_GROUP)
                places = table["first_token"].to_numpy() + table["tokens"].to_numpy()
                places += before[pc.index_in(table["domain"], names).to_numpy()]
                ends.write(places.astype(ENDS_DTYPE).tobytes())
        ends.write(suffix(ENDS_DTYPE, count, END_COLUMN))


def _write_index(folder: Path) -> None:
    """Write documents_by_id.parquet: every id, in order, with its row in documents.parquet."""
    _asked(
        folder,
        f"COPY (SELECT id, file_row_number AS row FROM read_parquet({_quoted(folder / DOCUMENTS)}, "
        f"file_row_number = true) ORDER BY id, row) TO {_quoted(folder / DOCUMENTS_BY_ID)} "
        f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})",
    )


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """The documents of a domain, in order of place: record batches [first, stop) of an Arrow file. stop: None: all."""

    path: Path
    first: int = 0
    stop: int | None = None

    def tables(self) -> Iterator[pa.Table]:
        """They are read, not mapped: what is mapped of a file of all documents would count as this process's memory."""
        with pa.OSFile(os.fsencode(self.path)) as source:
            file = pa.ipc.open_file(source)
            for number in range(self.first, file.num_record_batches if self.stop is None else self.stop):
                yield pa.table(file.get_batch(number))


def document_tables(domains: Iterable[StoredDocuments]) -> Iterator[pa.Table]:
    """The documents of domains, in order of name, as `write_table_files` takes them: as many as a row group has."""
    waiting: list[pa.Table] = []
    count = 0
    for domain in domains:
        for table in domain.tables():
            waiting.append(table)
            count += len(table)
            if count >= ROW_GROUP:
                together = pa.concat_tables(waiting)
                whole = count - count % ROW_GROUP
                yield from (together.slice(first, ROW_GROUP) for first in range(0, whole, ROW_GROUP))
                waiting, count = [together.slice(whole)], count - whole
    if count:
        yield pa.concat_tables(waiting)


def shared_ids(folder: Path) -> dict[str, int]:
    """How many documents of each domain have an id that another document of it has."""
    return dict(
        _asked(
            folder,
            "SELECT domain, sum(n)::BIGINT FROM (SELECT domain, id, count(*) AS n FROM "
            f"read_parquet({_quoted(folder / DOCUMENTS)}) GROUP BY domain, id HAVING n > 1) GROUP BY domain",
        )
    )


def _asked(folder: Path, query: str) -> list[Any]:
    """What DuckDB answers. It spills to the folder what memory does not hold. Errors: duckdb.Error."""
    spill = folder / "spill"
    for memory in _MEMORY:
        try:
            with duckdb.connect() as connection:
                # One thread: the same rows give the same file.
                connection.execute(
                    f"SET threads = 1; SET memory_limit = '{memory}'; SET temp_directory = {_quoted(spill)}"
                )
                return connection.execute(query).fetchall()
        except duckdb.OutOfMemoryException:
            if memory == _MEMORY[-1]:
                raise
        finally:
            shutil.rmtree(spill, ignore_errors=True)
    raise AssertionError("the last attempt gives or raises")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
