"""Where pages, their data and their assets are: at addresses of a service, or in files beside each other."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote, urlencode

from mixture.api.answers import Format

Query = str | int | None

ORIGIN = "http://ADDRESS"
"""What stands in a page for where the service is; page.js puts the address there by which the browser came. Host, which
says it to the service, may say anything, and a cache would show it to others."""
LONGEST_PART = 150
_PART_FILES = {"lock": "mixture.lock.json", "spec": "mixture.yaml", "plan": "plan.json"}
"""What the parts of a mixture are called in a folder of files."""


class Links(Protocol):
    """Addresses as a page writes them. `query` parameters that are None are left out.

    served: whether a service answers: searches, what-if and live figures need one
    """

    @property
    def served(self) -> bool: ...

    def asset(self, name: str) -> str:
        """A style sheet or script."""
        ...

    def index(self) -> str:
        """The list of all mixtures and runs."""
        ...

    def mixture(self, ref: str, **query: Query) -> str:
        """A mixture's page."""
        ...

    def compare(self, ref: str, other: str, **query: Query) -> str:
        """A mixture beside another."""
        ...

    def what_if(self, ref: str, **query: Query) -> str:
        """A mixture with changes; in files there is none, and it is the mixture's page."""
        ...

    def part(self, ref: str, part: str) -> str:
        """A file of a mixture: its `lock`, `spec` or `plan`."""
        ...

    def catalog(self, ref: str, **query: Query) -> str:
        """A catalog's page: of the mixture `ref`."""
        ...

    def cell(self, ref: str, domain: str, **query: Query) -> str:
        """The panel of one domain of a catalog."""
        ...

    def step(self, ref: str, step: int, **query: Query) -> str:
        """What a step reads."""
        ...

    def steps(self, ref: str) -> str:
        """Where a form asks for `step` or `position`."""
        ...

    def trace(self, ref: str, **query: Query) -> str:
        """Text followed through the run; in files there is none, and it is the mixture's page."""
        ...

    def run(self, run_id: str, **query: Query) -> str:
        """A run, against its plan."""
        ...

    def here(self, **query: Query) -> str:
        """This page with other parameters; those that are not named stay as they are, None takes one off."""
        ...

    def data(self, form: Format) -> str:
        """The data of this page, as it is shown, in a format."""
        ...

    def absolute(self, address: str) -> str:
        """An address that can be copied to elsewhere."""
        ...


@dataclass(frozen=True, slots=True)
class ServedLinks:
    """Addresses of a service.

    base:   what stands for where the service is, without a slash at its end
    prefix: the path below which it is put up (`root_path`), mostly empty
    path:   this page's path below the prefix
    query:  this page's parameters
    """

    base: str
    prefix: str
    path: str
    query: tuple[tuple[str, str], ...] = ()

    @property
    def served(self) -> bool:
        return True

    def asset(self, name: str) -> str:
        return f"{self.prefix}/assets/{name}"

    def index(self) -> str:
        return f"{self.prefix}/"

    def mixture(self, ref: str, **query: Query) -> str:
        return self._at(f"/mixtures/{_part(ref)}", query)

    def compare(self, ref: str, other: str, **query: Query) -> str:
        return self.mixture(ref, **{"with": other, **query})

    def what_if(self, ref: str, **query: Query) -> str:
        return self._at(f"/mixtures/{_part(ref)}/what-if", query)

    def part(self, ref: str, part: str) -> str:
        return self._at(f"/v1/mixtures/{_part(ref)}/{part}", {})

    def catalog(self, ref: str, **query: Query) -> str:
        return self._at(f"/catalogs/{_part(ref)}", query)

    def cell(self, ref: str, domain: str, **query: Query) -> str:
        return self._at(f"/catalogs/{_part(ref)}", {"cell": domain, **query})

    def step(self, ref: str, step: int, **query: Query) -> str:
        return self._at(f"/mixtures/{_part(ref)}/steps/{step}", query)

    def steps(self, ref: str) -> str:
        return self._at(f"/mixtures/{_part(ref)}/steps", {})

    def trace(self, ref: str, **query: Query) -> str:
        return self._at(f"/mixtures/{_part(ref)}/trace", query)

    def run(self, run_id: str, **query: Query) -> str:
        return self._at(f"/runs/{_part(run_id)}", query)

    def here(self, **query: Query) -> str:
        return self._at(_part(self.path, safe="/@:"), {**dict(self.query), **query})

    def data(self, form: Format) -> str:
        path = "/index" if self.path == "/" else _part(self.path, safe="/@:")
        return self._at(path + form.suffix, dict(self.query))

    def absolute(self, address: str) -> str:
        return self.base + address

    def _at(self, path: str, query: dict[str, Query]) -> str:
        return self.prefix + path + _query(query)


@dataclass(frozen=True, slots=True)
class FileLinks:
    """Addresses between files of one folder, relative, so that they work from `file://` and from any bucket.

    path: this page's file below the folder: `mixtures/demo/index.html`
    """

    path: str

    @property
    def served(self) -> bool:
        return False

    def asset(self, name: str) -> str:
        return self._to(f"assets/{name}")

    def index(self) -> str:
        return self._to("index.html")

    def mixture(self, ref: str, **query: Query) -> str:
        return self._to(f"mixtures/{_name(ref)}/index.html") + _query(query)

    def compare(self, ref: str, other: str, **query: Query) -> str:
        # A pair has one page: of the one whose name comes first.
        one, with_ = sorted((_name(ref), _name(other)))
        return self._to(f"mixtures/{one}/with-{with_}.html") + _query(query)

    def what_if(self, ref: str, **query: Query) -> str:
        return self.mixture(ref, **query)

    def part(self, ref: str, part: str) -> str:
        return self._to(f"mixtures/{_name(ref)}/{_PART_FILES[part]}")

    def catalog(self, ref: str, **query: Query) -> str:
        return self._to(f"catalogs/{_name(ref)}/index.html") + _query(query)

    def cell(self, ref: str, domain: str, **query: Query) -> str:
        return self._to(f"catalogs/{_name(ref)}/cells/{file_part(domain)}.html") + _query(query)

    def step(self, ref: str, step: int, **query: Query) -> str:
        return self.steps(ref) + _query({"step": step, **query})

    def steps(self, ref: str) -> str:
        return self._to(f"mixtures/{_name(ref)}/steps/index.html")

    def trace(self, ref: str, **query: Query) -> str:
        return self.mixture(ref, **query)

    def run(self, run_id: str, **query: Query) -> str:
        return self._to(f"runs/{_part(run_id)}.html") + _query(query)

    def here(self, **query: Query) -> str:
        return posixpath.basename(self.path) + _query(query)

    def data(self, form: Format) -> str:
        return posixpath.splitext(posixpath.basename(self.path))[0] + form.suffix

    def absolute(self, address: str) -> str:
        return address

    def _to(self, path: str) -> str:
        return posixpath.relpath(path, posixpath.dirname(self.path) or ".")


def file_part(text: str) -> str:
    """Any text as part of a file's name, different for different texts, that no address has to be quoted for."""
    plain = quote(text, safe="").replace("%", "=")
    return plain if len(plain) <= LONGEST_PART else f"{plain[:LONGEST_PART]}={sha256(text.encode()).hexdigest()[:16]}"


def _name(ref: str) -> str:
    """A folder's name for a mixture; a snapshot holds one digest of each name."""
    return _part(ref.partition("@")[0])


def _part(text: str, *, safe: str = "@:") -> str:
    return quote(text, safe=safe)


def _query(query: dict[str, Query]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""
