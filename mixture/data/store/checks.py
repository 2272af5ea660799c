"""What can be said of a store's files without reading them: that they are there, their sizes and their ends."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from mixture.data.layout import (
    DOCUMENT_ENDS,
    END_COLUMN,
    ENDS_DTYPE,
    TOKEN_COLUMN,
    AnyManifest,
    DomainRecord,
    FileRecord,
    LinkedManifest,
    Standing,
    ends_agree,
    file_bytes,
)
from mixture.data.token_files import check_linked
from mixture.errors import Place, StoreError

SMALL_BYTES = 1 << 20  # a table up to this size is read whole by every opening: a megabyte takes 0.7 ms


def check_ends(folder: Path, manifest: AnyManifest, standing: Standing) -> None:
    """Compare the size of every file, both ends of every Arrow file, and the digests of the small tables.

    Of files that a catalog leads to is compared what `check_linked` says.

    standing: is told what the files are, so that it can say later whether they still are

    Errors: StoreError `file-missing`, `file-size`, `file-damaged`, `digest-differs`; the first that is found.
    """
    for table in manifest.tables:
        path = f"{folder}/{table.file}"  # making a Path takes as long as opening it
        descriptor = _open(path, table, None, standing)
        try:
            if table.file == DOCUMENT_ENDS:
                _check_array(descriptor, path, table, ENDS_DTYPE, manifest.num_documents, END_COLUMN, None)
            if table.bytes <= SMALL_BYTES:
                check_digest(path, table, hashlib.sha256(os.pread(descriptor, table.bytes, 0)).hexdigest(), None)
        finally:
            os.close(descriptor)
    if isinstance(manifest, LinkedManifest):
        check_linked(manifest, standing)
        return
    dtype = np.dtype(manifest.dtype)
    for domain in manifest.domains:
        for file in domain.files:
            path = f"{folder}/{file.file}"
            descriptor = _open(path, file, domain, standing)
            try:
                _check_array(descriptor, path, file, dtype, file.tokens, TOKEN_COLUMN, domain)
            finally:
                os.close(descriptor)


def check_digest(path: str, record: FileRecord, found: str, domain: DomainRecord | None) -> None:
    """Refuse a file whose digest is not the one that store.json keeps."""
    if found != record.sha256:
        raise StoreError(
            f"{_of(domain)}was changed: its SHA-256 is {found}, and store.json says {record.sha256}",
            code="digest-differs",
            place=Place(file=path),
            file=record.file,
            found=found,
            expected=record.sha256,
            domain=domain.name if domain else None,
        )


def _open(path: str, record: FileRecord, domain: DomainRecord | None, standing: Standing) -> int:
    """Open a file whose size is right, and note what it is."""
    facts: dict[str, Any] = {"file": record.file, "domain": domain.name if domain else None}
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise StoreError(
            f"{_of(domain)}is missing, and store.json says it has {record.bytes:,} bytes",
            code="file-missing",
            place=Place(file=path),
            **facts,
        ) from None
    except OSError as error:
        raise StoreError(
            f"{_of(domain)}can not be opened: {error.strerror}",
            code="store-unreadable",
            place=Place(file=path),
            **facts,
        ) from error
    status = os.fstat(descriptor)
    standing.note(path, status)
    size = status.st_size
    if size != record.bytes:
        os.close(descriptor)
        raise StoreError(
            f"{_of(domain)}has {size:,} bytes, and store.json says {record.bytes:,}",
            code="file-size",
            place=Place(file=path),
            found=size,
            expected=record.bytes,
            **facts,
        )
    return descriptor


def _check_array(
    descriptor: int,
    path: str,
    record: FileRecord,
    dtype: np.dtype[Any],
    length: int,
    name: str,
    domain: DomainRecord | None,
) -> None:
    if record.bytes != file_bytes(dtype, length, name) or not ends_agree(descriptor, dtype, length, name):
        raise StoreError(
            f"{_of(domain)}does not begin and end as an Arrow file of {length:,} integers of type {dtype} does",
            code="file-damaged",
            place=Place(file=path),
            file=record.file,
            domain=domain.name if domain else None,
        )


def _of(domain: DomainRecord | None) -> str:
    return f"domain '{domain.name}': the file " if domain else "the file "
