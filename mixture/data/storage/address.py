"""Addresses of objects: s3://BUCKET/KEY, gs://BUCKET/KEY, az://ACCOUNT/CONTAINER/KEY, http:// and https://."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from mixture.errors import Place, StoreError

# A command line makes a Path of what it gets, and a Path has one slash where an address has two.
_FORM = re.compile(r"(s3|gs|az|https?|file):/+(.*)", re.DOTALL | re.IGNORECASE)
_HOST = re.compile(r"([\w-]{1,63}(\.[\w-]{1,63})*\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?", re.ASCII)
_ROOT_PARTS = {"az": 2}


@dataclass(frozen=True, slots=True)
class Address:
    """Where an object lies, or a folder of them. root: the bucket or server; path: behind it, without a slash."""

    root: str
    path: str

    def __str__(self) -> str:
        return f"{self.root}/{self.path}" if self.path else self.root

    def __truediv__(self, file: str) -> Address:
        """What lies inside of it; `..` leads out, as in a path, and not out of the bucket."""
        path = posixpath.normpath(f"/{self.path}/{file}").lstrip("/")
        return Address(self.root, "" if path == "." else path)

    @property
    def parent(self) -> Address:
        """The folder that it lies in."""
        return Address(self.root, posixpath.dirname(self.path))

    @property
    def name(self) -> str:
        """The last part of its path."""
        return posixpath.basename(self.path)

    @property
    def is_web(self) -> bool:
        """Whether it is of a web server, which lists nothing."""
        return self.root.startswith("http")


def located(path: str | os.PathLike[str]) -> Address | Path:
    """Whether this is the address of an object, or the path of a file here; file:///PATH is the latter.

    Errors: StoreError `address-invalid`.
    """
    text = os.fspath(path)
    found = _FORM.fullmatch(text)
    if found is None:
        return Path(text)
    scheme, rest = found[1].lower(), found[2]
    if scheme == "file":
        return Path("/", unquote(rest))
    is_web = scheme.startswith("http")
    *root, key = [*rest.split("/", _ROOT_PARTS.get(scheme, 1)), ""][: _ROOT_PARTS.get(scheme, 1) + 1]
    # What may be a secret is in no message.
    if any("@" in part for part in root):
        raise _invalid(f"{scheme}://…", "has a name or a password in it; they come from the environment")
    if is_web and re.search("[?#]", rest):
        told = re.split("[?#]", rest)[0] if _HOST.fullmatch(root[0]) else "…"
        raise _invalid(f"{scheme}://{told}", "has a query, and names of files can not be put behind that")
    if "" in root or len(root) < _ROOT_PARTS.get(scheme, 1):
        raise _invalid(text, "names no bucket")
    if is_web and not _HOST.fullmatch(root[0]):
        raise _invalid(f"{scheme}://…", "names no server before its first slash")
    return Address(f"{scheme}://{'/'.join(root)}", key.strip("/"))


def _invalid(text: str, message: str) -> StoreError:
    hint = "s3://BUCKET/KEY, gs://BUCKET/KEY, az://ACCOUNT/CONTAINER/KEY, https://HOST/PATH are right here"
    return StoreError(message, code="address-invalid", place=Place(file=text), hint=hint)
