"""Mixtures from folders that the service was started with: read-only, re-read when a file that they say changes.

While a folder is being rewritten, and spec, catalog and lock do not agree, the last ones that did hold.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mixture.api.database import Bundle, Source
from mixture.api.refs import is_name
from mixture.api.registry.bundles import check_listed
from mixture.api.registry.folders import OWN_STORE, MixtureFiles, mixture_files
from mixture.api.registry.library import LoadedMixture
from mixture.api.registry.stores import Stores
from mixture.data.store import open_store
from mixture.errors import MixtureError, Place
from mixture.file_names import STORE_FILE, STORE_TABLE
from mixture.lock import Lock, lock_text, parse_lock
from mixture.planning.catalog import TableFiles
from mixture.planning.plan import Plan, check_lock, make_lock, make_plan, plan_json, read_inputs
from mixture.planning.spec import Spec, named_tables, parse_spec

MOST_BYTES = 2**28
RETRY_SECONDS = 3.0
"""A folder that could not be read is read again after that, or as soon as one of its files is another."""
SHOW_SECONDS = 0.5
FEW_FOLDERS, LOOKS_APART = 50, 20
"""Of more folders, the time of 20 looks passes from one to the next: a look at 1,000 takes 50 ms."""

logger = logging.getLogger("mixture.service")

Signature = tuple[tuple[int, int, int] | None, ...]
"""Times, sizes and numbers of files, None for one that is not there: changed when one of them was."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A folder that is not shown as it is, and why, without the folders of the server.

    folder: its name
    name:   that of the mixture, where its spec can be read
    code:   of the error
    digest: the lock that is shown instead, the last that could be read; None where nothing is
    hint:   what would be right, or None
    cause:  the error whole, whose place has the folder's path, for who started the service
    """

    folder: str
    name: str | None
    code: str
    detail: str
    digest: str | None
    hint: str | None
    cause: MixtureError = field(compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Folder:
    """What was last read from a folder, at `at`: `files` are those that it was read from, as they were before.

    loaded, bundle: None where it never held together
    left_out:       why it could not be read at the last attempt
    """

    files: tuple[Path, ...]
    signature: Signature
    at: float
    loaded: LoadedMixture | None
    bundle: Bundle | None
    left_out: LeftOut | None


@dataclass(frozen=True, slots=True)
class _Shown:
    """All folders as they were found by one look. unread: those that the first look has not come to yet"""

    folders: Mapping[MixtureFiles, _Folder]
    mixtures: dict[str, LoadedMixture]
    bundles: Mapping[tuple[str, str], Bundle]
    unread: int = 0


class BuiltinMixtures:
    """The mixtures at paths: each is a folder of one, or of some, or a spec or a lock."""

    def __init__(
        self,
        folders: Sequence[Path],
        store_dirs: Sequence[Path],
        shared: Stores,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders = tuple(folders)
        self._store_dirs = tuple(store_dirs)
        self._shared = shared
        self._clock = clock
        self._stores: dict[Path, Stores] = {}
        self._shown: _Shown | None = None
        self._looking = threading.Lock()
        self._next_look = self._clock()
        self._ending = False

    def all(self) -> Mapping[str, LoadedMixture]:
        """Mixtures by name, in order of name. Where two have one name, the later ones get `-2`, `-3`, …"""
        return self._look().mixtures

    def bundle(self, name: str, digest: str) -> Bundle | None:
        """All that was read of a mixture that is shown, as the repository keeps it; None for what is not shown."""
        return self._look().bundles.get((name, digest))

    def left_out(self) -> list[LeftOut]:
        """The folders that are not shown as they are, in order."""
        return [folder.left_out for folder in self._look().folders.values() if folder.left_out is not None]

    def count(self) -> int:
        """How many folders there are, read or not."""
        return sum(1 for _ in mixture_files(self._folders))

    def unread(self) -> tuple[int, int]:
        """How many folders `read` has not come to yet, and how many there are."""
        shown = self._shown
        return (0, 0) if shown is None else (shown.unread, shown.unread + len(shown.folders))

    def read(self) -> bool:
        """Read all folders, unless they are read. False: it was ended.

        Of many, those that are read are shown meanwhile; a few are waited for by who asks.
        """
        with self._looking:
            if self._shown is not None:
                return True
            self._ending = False
            paths = list(mixture_files(self._folders))
            found: dict[MixtureFiles, _Folder] = {}
            is_many = len(paths) > FEW_FOLDERS
            self._shown = _named(found, unread=len(paths)) if is_many else None
            try:
                for path in paths:
                    if self._ending:
                        return False
                    found[path] = self._current(path, None)
                    if is_many and self._clock() >= self._next_look:
                        self._shown = _named(dict(found), unread=len(paths) - len(found))
                        self._next_look = self._clock() + SHOW_SECONDS
                self._shown = _named(found)
                return True
            finally:
                if self._shown is not None and self._shown.unread:
                    self._shown = None  # so that who asks next reads them, and is told what is wrong

    def end(self) -> None:
        """Let `read` end before it is done."""
        self._ending = True

    def _look(self) -> _Shown:
        """What is there now; while one thread reads what changed, the others go on with what was there before."""
        if self._looking.acquire(blocking=self._shown is None):
            try:
                if self._shown is None or self._clock() >= self._next_look:
                    self._shown = self._looked(self._shown)
            finally:
                self._looking.release()
        assert self._shown is not None, "the first look is waited for"
        return self._shown

    def _looked(self, shown: _Shown | None) -> _Shown:
        before, began = {} if shown is None else shown.folders, self._clock()
        found = {path: self._current(path, before.get(path)) for path in mixture_files(self._folders)}
        took = self._clock() - began
        if shown is None or found != before:
            return _named(found)
        # A look at many takes longer than an answer: they are looked at in a part of the time only.
        self._next_look = began + (took * LOOKS_APART if len(found) > FEW_FOLDERS else 0)
        return shown

    def _current(self, path: MixtureFiles, known: _Folder | None) -> _Folder:
        now = self._clock()
        if known is not None and _signature(known.files) == known.signature:
            is_settled = known.left_out is None or now - known.at < RETRY_SECONDS
            return known if is_settled else self._read(path, known, now)
        return self._read(path, known, now)

    def _read(self, where: MixtureFiles, known: _Folder | None, now: float) -> _Folder:
        folder = where.folder
        files: tuple[Path, ...] = (folder / where.spec, *([folder / where.lock] if where.lock else []))
        signature = _signature(files)
        spec: Spec | None = None
        try:
            data = _bytes_of(folder / where.spec, missing="file-missing")
            spec = parse_spec(data, path=Path(where.spec))
            tables = _tables(spec)
            signature += _signature(more := tuple(_beside(folder / table for table in tables.values())))
            files += more
            made = self._load(where, data, spec, tables)
            if _signature(files) != signature:
                raise MixtureError("its files changed while they were read", code="changed-meanwhile")
        except (MixtureError, OSError) as error:
            loaded, bundle = (None, None) if known is None else (known.loaded, known.bundle)
            left_out = LeftOut(
                folder=where.path.name,
                name=None if spec is None else spec.mixture,
                code=error.code if isinstance(error, MixtureError) else "file-unreadable",
                detail=_reason(error),
                digest=None if loaded is None else loaded.digest,
                hint=error.hint if isinstance(error, MixtureError) else None,
                cause=_with_folder(error, where),
            )
            if known is None or known.left_out != left_out:
                kept = "is left out" if loaded is None else f"stays at {loaded.digest}"
                logger.warning("the mixture in %s %s: %s", where.path, kept, error)
            return _Folder(files, signature, now, loaded, bundle, left_out)
        return _Folder(files, signature, now, *made, None)

    def _load(
        self, where: MixtureFiles, data: bytes, spec: Spec, tables: Mapping[str, Path]
    ) -> tuple[LoadedMixture, Bundle]:
        files = TableFiles(where.folder, shown=lambda table: Path(table.name))
        if where.lock is None:
            plan = make_plan(spec, read_inputs(spec, tables=files))
            lock = _locked(plan, where.folder / spec.catalog.path)
        else:
            text = _bytes_of(where.folder / where.lock, missing="lock-missing")
            lock = parse_lock(text, place=Place(file=where.lock))
            plan = check_lock(lock, spec, inputs=read_inputs(spec, tables=files))
        check_listed(lock, plan.catalog)
        shown = plan_json(plan)
        bundle = Bundle(
            digest=lock.digest,
            mixture=lock.mixture,
            steps=plan.steps,
            sequences=plan.sequences,
            tokens=plan.tokens,
            domains=len(plan.domains),
            spec=data,
            tables={name: files.file(table).data for name, table in tables.items()},
            lock=lock_text(lock).encode(),
            plan=json.dumps(shown, ensure_ascii=False).encode(),
        )
        loaded = LoadedMixture(
            name=_name(lock, where.path),
            digest=lock.digest,
            lock=lock,
            lock_text=bundle.lock.decode(),
            plan_json=shown,
            spec_text=data.decode(),
            catalog=plan.catalog,
            domain_column=spec.catalog.domain,
            source=Source.BUILTIN,
            published=None,
            folder=where.folder,
            stores=self._stores_of(where.folder),
        )
        return loaded, bundle

    def _stores_of(self, path: Path) -> Stores:
        """The stores that a folder's mixtures are read from, its own first; the same ones however often it changes."""
        if path not in self._stores and (path / OWN_STORE).is_dir():
            self._stores[path] = Stores([path / OWN_STORE, *self._store_dirs])
        return self._stores.get(path, self._shared)


def _named(folders: Mapping[MixtureFiles, _Folder], *, unread: int = 0) -> _Shown:
    mixtures: dict[str, LoadedMixture] = {}
    bundles: dict[tuple[str, str], Bundle] = {}
    for folder in folders.values():
        if folder.loaded is None or folder.bundle is None:
            continue
        name, number = folder.loaded.name, 1
        while name in mixtures:
            number += 1
            name = f"{folder.loaded.name}-{number}"
        own = folder.loaded.name
        mixtures[name] = folder.loaded if name == own else replace(folder.loaded, name=name, renamed_from=own)
        bundles[name, folder.bundle.digest] = folder.bundle
    return _Shown(folders, dict(sorted(mixtures.items())), bundles, unread)


def _locked(plan: Plan, catalog: Path) -> Lock:
    """The lock that a plan gives, as `mixture lock` makes it: of a store, with what its domains hold."""
    held = open_store(catalog).domains.values() if catalog.is_dir() else None
    return make_lock(plan, content=None if held is None else {one.name: one.content for one in held})


def _tables(spec: Spec) -> dict[str, Path]:
    """What the spec names, by name alone; the catalog where another table has its name.

    A service answers from the catalog and the lock: what the other tables say is in the lock.
    """
    *others, catalog = reversed([path for _, path in named_tables(spec)])
    return {path.name: path for path in (*others, catalog)}


def _beside(tables: Iterable[Path]) -> Iterator[Path]:
    """The files that tables are read from: themselves, or those in a store's folder."""
    for table in tables:
        yield from (table / STORE_FILE, table / STORE_TABLE) if table.is_dir() else (table,)


def _bytes_of(path: Path, *, missing: str) -> bytes:
    """The bytes of a spec or a lock, which messages call by its name alone, or one more than a lock may have.

    Raises MixtureError, OSError. Opening what is not a plain file, such as a named pipe, could wait for ever.
    """
    place = Place(file=path.name)
    if not path.exists():
        raise MixtureError("there is no such file", code=missing, place=place)
    if not path.is_file():
        raise MixtureError("this is not a plain file", code="file-unreadable", place=place)
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _reason(error: MixtureError | OSError) -> str:
    """Why a folder can not be read, with the place in its file."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return error.message if error.place is None else f"{error.place}: {error.message}"


def _with_folder(error: MixtureError | OSError, where: MixtureFiles) -> MixtureError:
    """The error with its file as one finds it from here; of one without a file, the folder."""
    if isinstance(error, OSError):
        return MixtureError(_reason(error), code="file-unreadable", place=Place(file=str(where.path)))
    if error.place is None:
        error = error.with_places(lambda place: place)
        error.place = Place(file=str(where.path))
        return error
    is_name = error.place.file is not None and Path(error.place.file).name == error.place.file
    return (
        error.with_places(lambda place: replace(place, file=str(where.folder / str(place.file)))) if is_name else error
    )


def _name(lock: Lock, path: Path) -> str:
    if is_name(lock.mixture):
        return lock.mixture
    own = path.name if path.is_dir() else path.name.partition(".")[0]
    if is_name(own):
        return own
    raise MixtureError(f"neither {lock.mixture!r} nor {own!r} can be a name in an address", code="name-invalid")


def _signature(files: Iterable[Path]) -> Signature:
    return tuple(map(_written, files))


def _written(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
