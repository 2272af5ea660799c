"""Mixtures from folders that the service was started with: read-only, re-read when their files change.

While a folder is being rewritten, and spec, catalog and lock do not agree, the last ones that did hold.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from api.library import LoadedMixture, Source
from api.refs import is_name
from api.stores import Stores
from mixture.errors import MixtureError
from mixture.plan import Lock, check_lock, lock_text, plan_json, read_lock
from mixture.spec import load_spec

SPEC_FILE = "mixture.yaml"
LOCK_FILE = "mixture.lock.json"

logger = logging.getLogger("mixture.service")

Signature = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class _Folder:
    """What was last read from a folder. `loaded` is None where it never held together."""

    signature: Signature
    loaded: LoadedMixture | None


class BuiltinMixtures:
    """The mixtures in folders: each folder is one, or holds some."""

    def __init__(self, folders: Sequence[Path], store_dirs: Sequence[Path], shared: Stores) -> None:
        self._folders = tuple(folders)
        self._store_dirs = tuple(store_dirs)
        self._shared = shared
        self._read: dict[Path, _Folder] = {}
        self._guard = threading.Lock()

    def all(self) -> dict[str, LoadedMixture]:
        """Mixtures by name, in order of name. Where two have one name, the later ones get `-2`, `-3`, …"""
        found: dict[str, LoadedMixture] = {}
        with self._guard:
            for path in self._paths():
                loaded = self._current(path)
                if loaded is None:
                    continue
                name, number = loaded.name, 1
                while name in found:
                    number += 1
                    name = f"{loaded.name}-{number}"
                found[name] = loaded if name == loaded.name else replace(loaded, name=name)
        return dict(sorted(found.items()))

    def _paths(self) -> Iterator[Path]:
        for folder in self._folders:
            if (folder / LOCK_FILE).is_file():
                yield folder
            elif folder.is_dir():
                yield from (path for path in sorted(folder.iterdir()) if (path / LOCK_FILE).is_file())

    def _current(self, path: Path) -> LoadedMixture | None:
        known = self._read.get(path)
        signature: Signature = ()
        try:
            signature = _signature(path)
            if known is not None and known.signature == signature:
                return known.loaded
            loaded: LoadedMixture | None = self._load(path)
        except (MixtureError, OSError) as error:
            last = known.loaded if known is not None else None
            kept = "is left out" if last is None else f"stays at {last.digest}"
            logger.warning("the mixture in %s %s: %s", path, kept, error)
            loaded = last
        self._read[path] = _Folder(signature, loaded)
        return loaded

    def _load(self, path: Path) -> LoadedMixture:
        lock = read_lock(path / LOCK_FILE)
        spec_text = (path / SPEC_FILE).read_text(encoding="utf-8")
        spec = load_spec(path / SPEC_FILE)
        plan = check_lock(lock, spec)
        own = [folder for folder in (path / "store",) if folder.is_dir()]
        return LoadedMixture(
            name=_name(lock, path),
            digest=lock.digest,
            lock=lock,
            lock_text=lock_text(lock),
            plan_json=without_folders(plan_json(plan)),
            spec_text=spec_text,
            catalog=plan.catalog,
            domain_column=spec.catalog.domain,
            source=Source.BUILTIN,
            published=None,
            stores=Stores([*own, *self._store_dirs]) if own else self._shared,
        )


def without_folders(plan: dict[str, object]) -> dict[str, object]:
    """A plan's JSON with the names of files alone in the places of findings: folders are the server's own."""
    findings = plan["findings"]
    assert isinstance(findings, list)
    for finding in findings:
        if finding["place"] is not None and finding["place"]["file"] is not None:
            finding["place"]["file"] = Path(finding["place"]["file"]).name
    return plan


def _name(lock: Lock, path: Path) -> str:
    if is_name(lock.mixture):
        return lock.mixture
    if is_name(path.name):
        return path.name
    raise MixtureError(f"neither {lock.mixture!r} nor {path.name!r} can be a name in an address", code="bad-name")


def _signature(path: Path) -> Signature:
    """Names, times, sizes and numbers of the files of a folder: changed when one of them was."""
    found = []
    for entry in sorted(path.iterdir()):
        if entry.is_file():
            status = entry.stat()
            found.append((entry.name, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)
