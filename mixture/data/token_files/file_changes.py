"""Whether the files that a catalog leads to are still those that were counted."""

from __future__ import annotations

import os
from collections.abc import Iterator

from mixture.data.layout import LinkedDomain, LinkedManifest, SeenFile, Standing, linked_path
from mixture.data.token_files.files import sha256
from mixture.data.token_files.fingerprint import fingerprint
from mixture.data.token_files.object_listing import pin_all
from mixture.errors import Place, StoreError


def check_linked(manifest: LinkedManifest, standing: Standing) -> None:
    """Compare the size of every file, and the fingerprint of those that were written since they were counted.

    standing: is told what the files are, so that it can say later whether they still are

    Errors: StoreError `file-missing`, `file-size`, `file-changed`; the first that is found; those of `Blocks`.
    """
    listed = [
        (linked_path(standing.base, seen.file), seen, domain)
        for domain in manifest.domains
        for file in domain.files
        for seen in file.seen()
    ]
    pin_all((path for path, _, _ in listed), standing)
    for path, seen, domain in listed:
        if _modified(path, seen, domain, standing) != seen.modified:
            check_fingerprint(path, seen, domain, standing)


def check_fingerprint(path: str, seen: SeenFile, domain: LinkedDomain, standing: Standing) -> None:
    """Errors: StoreError `file-changed`."""
    found = fingerprint(path, standing)
    if found != seen.fingerprint:
        raise _refused(path, domain, f"was changed: its fingerprint is {found}, and it was {seen.fingerprint}")


def linked_damage(path: str, seen: SeenFile, domain: LinkedDomain, standing: Standing) -> Iterator[StoreError]:
    """What is wrong with a file; all of it is read, where the digest of all of it was kept."""
    try:
        check_fingerprint(path, seen, domain, standing)
    except StoreError as error:
        yield error
        return
    if seen.sha256 is None:
        return
    found = sha256(path, standing)
    if found != seen.sha256:
        message = f"domain '{domain.name}': the file was changed: its SHA-256 is {found}, and it was {seen.sha256}"
        yield StoreError(message, code="digest-differs", place=Place(file=path), domain=domain.name)


def _modified(path: str, seen: SeenFile, domain: LinkedDomain, standing: Standing) -> int:
    """When a file of the right size was written, in nanoseconds."""
    try:
        found = standing.object_at(path)
        if found is not None:
            size, modified = found.facts.size, found.facts.written
        else:
            status = os.stat(path)  # noqa: PTH116 paths of a catalog are texts
            standing.note(path, status)
            size, modified = status.st_size, status.st_mtime_ns
    except (FileNotFoundError, StoreError) as error:
        if isinstance(error, StoreError) and error.code != "file-missing":
            raise
        message = f"domain '{domain.name}': the file is missing, and had {seen.bytes:,} bytes when it was counted"
        place = Place(file=path)
        raise StoreError(message, code="file-missing", place=place, domain=domain.name) from None
    except OSError as error:
        message = f"domain '{domain.name}': the file can not be opened: {error.strerror}"
        raise StoreError(message, code="store-unreadable", place=Place(file=path), domain=domain.name) from error
    if size != seen.bytes:
        raise StoreError(
            f"domain '{domain.name}': the file has {size:,} bytes, and had {seen.bytes:,} when counted",
            code="file-size",
            place=Place(file=path),
            hint=_HINT,
            domain=domain.name,
            found=size,
            expected=seen.bytes,
        )
    return modified


_HINT = "`mixture catalog refresh DIR` says what changed"


def _refused(path: str, domain: LinkedDomain, message: str) -> StoreError:
    return StoreError(
        f"domain '{domain.name}': the file {message}",
        code="file-changed",
        place=Place(file=path),
        hint=_HINT,
        domain=domain.name,
    )
