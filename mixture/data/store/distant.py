"""Stores at addresses: their tables are fetched as they are asked for, their tokens read where they are."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from mixture.data.layout import (
    MANIFEST,
    TOKENS,
    AnyManifest,
    FileRecord,
    M,
    Manifest,
    Standing,
    file_digest,
    read_description,
    readable,
)
from mixture.data.storage import Address, ObjectFile, ObjectOptions, StoredObject, blocks_of
from mixture.data.store.checks import SMALL_BYTES, check_digest, check_ends
from mixture.data.token_files import check_linked, look_at_all
from mixture.errors import Place, StoreError
from mixture.whole_file import whole_file

COPY_BYTES = 1 << 22


class DistantStanding(Standing):
    """A store at an address, and the folder that its tables are fetched into.

    That folder is called by the SHA-256 of store.json, which has those of the tables: it is of this store, whatever
    becomes of the address.
    """

    def __init__(self, address: Address, folder: Path, tables: Sequence[FileRecord], options: ObjectOptions) -> None:
        super().__init__(folder, options, base=address.parent)
        self.address = address
        self._tables = {table.file: table for table in tables}
        self._there: set[str] = set()
        self._fetching = threading.Lock()

    def at_hand(self, path: str | os.PathLike[str]) -> None:
        """Fetch a table that is not here, or not whole. Errors: StoreError, those of `Blocks`, `digest-differs`."""
        path = Path(path)
        record = self._tables.get(path.name)
        if record is None or path.name in self._there:
            return
        with self._fetching:
            if path.name not in self._there and not _is_whole(path, record):
                self._fetch(path, record)
            self._there.add(path.name)

    def path_of(self, file: str) -> str:
        """Where a file of the store lies."""
        return str(self.address / file)

    def _fetch(self, path: Path, record: FileRecord) -> None:
        address = self.address / record.file
        found = self.blocks.objects.look(address)
        check_size(found, record.bytes, None, record.file)
        disk = self.blocks.disk
        if disk is not None and record.bytes > disk.most_bytes:
            message = f"has {record.bytes:,} bytes, and the cache may have {disk.most_bytes:,}"
            raise StoreError(message, code="cache-too-small", place=Place(file=str(address)))
        with readable(path), whole_file(path) as beside:
            with beside.open("wb") as file, ObjectFile(self.blocks.objects, found) as source:
                while data := source.read(COPY_BYTES):
                    file.write(data)
            check_digest(str(address), record, file_digest(beside), None)


def compare(folder: Path, manifest: AnyManifest, standing: Standing) -> None:
    """Compare what can be without reading a store (`check_ends`, `pin_tokens`). Errors: StoreError, theirs."""
    if not isinstance(standing, DistantStanding):
        check_ends(folder, manifest, standing)
    elif isinstance(manifest, Manifest):
        pin_tokens(manifest, standing)
    else:
        check_linked(manifest, standing)


def fetch_description(
    address: Address, options: ObjectOptions, forms: Mapping[str, type[M]]
) -> tuple[Path, M, DistantStanding]:
    """The folder for the tables of a store at an address, what its store.json says, and what stands for it.

    forms: what to read, by the format that it says

    Errors: StoreError, those of `Blocks`, and of `read_description`.
    """
    blocks = blocks_of(options)
    try:
        data = blocks.objects.read_all(address / MANIFEST)
    except StoreError as error:
        if error.code != "file-missing":
            raise
        hint = "a store without it is not complete"
        place = Place(file=str(address))
        raise StoreError(f"has no {MANIFEST}", code="store-missing", place=place, hint=hint) from error
    folder = blocks.tables / hashlib.sha256(data).hexdigest()
    with readable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / MANIFEST).is_file() or (folder / MANIFEST).read_bytes() != data:
            with whole_file(folder / MANIFEST) as beside:
                beside.write_bytes(data)
    try:
        manifest = read_description(folder, forms)
    except StoreError as error:
        error.place = Place(file=str(address / MANIFEST))
        raise
    return folder, manifest, DistantStanding(address, folder, manifest.tables, options)


def pin_tokens(manifest: Manifest, standing: DistantStanding) -> None:
    """Look at all token files of a store, compare their sizes, and keep what they are.

    A list of them takes a request for each thousand; where there is none, as at web servers, each is asked for. Their
    ends are not read: that would take two requests a file, and a size, an ETag and `mixture verify` say as much.

    Errors: StoreError `file-missing`, `file-size`, which name the domain; those of `Blocks`.
    """
    wanted = {str(standing.address / file.file): (file, d.name) for d in manifest.domains for file in d.files}
    addresses = [standing.address / file.file for file, _ in wanted.values()]
    found = look_at_all(addresses, standing.blocks, [standing.address / TOKENS])
    for path, (record, domain) in wanted.items():
        one = found.get(path)
        if one is None:
            raise StoreError(
                f"domain '{domain}': the file is missing, and store.json says it has {record.bytes:,} bytes",
                code="file-missing",
                place=Place(file=path),
                file=record.file,
                domain=domain,
            )
        check_size(one, record.bytes, domain, record.file)
        standing.pin(one)


def check_size(found: StoredObject, size: int, domain: str | None, file: str) -> None:
    """Refuse an object of another size. Errors: StoreError `file-size`."""
    if found.facts.size != size:
        whose = f"domain '{domain}': " if domain is not None else ""
        raise StoreError(
            f"{whose}the file has {found.facts.size:,} bytes, and {size:,} were counted",
            code="file-size",
            place=Place(file=str(found.address)),
            file=file,
            domain=domain,
            found=found.facts.size,
            expected=size,
        )


def _is_whole(path: Path, record: FileRecord) -> bool:
    try:
        is_whole = path.stat().st_size == record.bytes
        return is_whole and (record.bytes > SMALL_BYTES or file_digest(path) == record.sha256)
    except OSError:
        return False
