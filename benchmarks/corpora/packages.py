"""Packages fetched by name with their registries' ordinary clients, and unpacked without running anything of theirs."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote


class FetchError(Exception):
    """A package can not be had: its registry's client is not there, or says no."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package as it was fetched, its files below `folder`."""

    name: str
    version: str
    folder: Path


Fetch = Callable[[str, Path], Package]


def from_npm(names: Sequence[str], folder: Path) -> Package:
    """The first of these npm packages that there is, in its newest version."""
    return _first(names, folder, _npm)


def from_debian(names: Sequence[str], folder: Path) -> Package:
    """The first of these Debian packages that there is, in the release's version."""
    return _first(names, folder, _debian)


def _first(names: Sequence[str], folder: Path, fetch: Fetch) -> Package:
    refusals = []
    for name in names:
        try:
            return fetch(name, folder)
        except FetchError as error:
            refusals.append(str(error))
    raise FetchError("; ".join(dict.fromkeys(refusals)))


def _npm(name: str, folder: Path) -> Package:
    said = _run(["npm", "pack", "--json", "--ignore-scripts", name], folder, needs="npm")
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    archive.unlink()
    packed = json.loads(said)
    # A list of packages, or, in older clients, an object of them by name.
    (fields,) = packed if isinstance(packed, list) else packed.values()
    return Package(name, str(fields["version"]), folder / "package")


def _debian(name: str, folder: Path) -> Package:
    _run(["apt-get", "download", "--quiet", name], folder, needs="apt-get")
    (archive,) = folder.glob("*.deb")
    _run(["dpkg", "-x", archive.name, "package"], folder, needs="dpkg")
    version = unquote(archive.name.split("_")[1])
    archive.unlink()
    return Package(name, version, folder / "package")


def _run(command: list[str], folder: Path, *, needs: str) -> str:
    if shutil.which(needs) is None:
        raise FetchError(f"the program `{needs}` is not there, and fetches {command[-1]}")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith(("E:", "npm error", "npm ERR!", "dpkg"))]
        said = (lines or done.stderr.splitlines() or ["nothing"])[0]
        hint = " (`apt-get update` renews the lists of packages)" if needs == "apt-get" else ""
        raise FetchError(f"`{' '.join(command)}` says: {said}{hint}")
    return done.stdout
