"""Whether the files that a catalog leads to are still those that were counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mixture.errors import Place, StoreError
from mixture.store.foreign.files import sha256
from mixture.store.foreign.fingerprint import fingerprint
from mixture.store.linked import LinkedDomain, LinkedManifest, SeenFile, base_of, linked_path
from mixture.store.mapping import Standing


def check_linked(folder: Path, manifest: LinkedManifest, standing: Standing) -> None:
    """Compare the size of every file, and the fingerprint of those that were written since they were counted.

    standing: is told what the files are, so that it can say later whether they still are

    Errors: StoreError `file-missing`, `file-size`, `file-changed`; the first that is found.
    """
    base = base_of(folder)
    for domain in manifest.domains:
        for file in domain.files:
            for seen in file.seen():
                path = linked_path(base, seen.file)
                status = _status(path, seen, domain)
                standing.note(path, status)
                if status.st_mtime_ns != seen.modified:
                    check_fingerprint(path, seen, domain)


def check_fingerprint(path: str, seen: SeenFile, domain: LinkedDomain) -> None:
    """Errors: StoreError `file-changed`."""
    found = fingerprint(path)
    if found != seen.fingerprint:
        raise _refused(path, domain, f"was changed: its fingerprint is {found}, and it was {seen.fingerprint}")


def linked_damage(path: str, seen: SeenFile, domain: LinkedDomain) -> Iterator[StoreError]:
    """What is wrong with a file; all of it is read, where the digest of all of it was kept."""
    try:
        check_fingerprint(path, seen, domain)
    except StoreError as error:
        yield error
        return
    if seen.sha256 is None:
        return
    found = sha256(path)
    if found != seen.sha256:
        message = f"domain '{domain.name}': the file was changed: its SHA-256 is {found}, and it was {seen.sha256}"
        yield StoreError(message, code="digest-differs", place=Place(file=path), domain=domain.name)


def _status(path: str, seen: SeenFile, domain: LinkedDomain) -> os.stat_result:
    try:
        status = os.stat(path)  # noqa: PTH116 paths of a catalog are texts
    except FileNotFoundError:
        message = f"domain '{domain.name}': the file is missing, and had {seen.bytes:,} bytes when it was counted"
        place = Place(file=path)
        raise StoreError(message, code="file-missing", place=place, domain=domain.name) from None
    except OSError as error:
        message = f"domain '{domain.name}': the file can not be opened: {error.strerror}"
        raise StoreError(message, code="store-unreadable", place=Place(file=path), domain=domain.name) from error
    if status.st_size != seen.bytes:
        raise StoreError(
            f"domain '{domain.name}': the file has {status.st_size:,} bytes, and had {seen.bytes:,} when counted",
            code="file-size",
            place=Place(file=path),
            hint=_HINT,
            domain=domain.name,
            found=status.st_size,
            expected=seen.bytes,
        )
    return status


_HINT = "`mixture catalog refresh DIR` says what changed"


def _refused(path: str, domain: LinkedDomain, message: str) -> StoreError:
    return StoreError(
        f"domain '{domain.name}': the file {message}",
        code="file-changed",
        place=Place(file=path),
        hint=_HINT,
        domain=domain.name,
    )
