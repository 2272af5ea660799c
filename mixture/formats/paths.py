"""Where the text of a domain lies: a template over the catalog's columns, and back from a path to its domain."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mixture.data.derived import file_stem
from mixture.errors import FormatError, nearest
from mixture.planning.catalog import Catalog, cell_text
from mixture.units import quote

DOMAIN = "{domain}"
"""The template of those who call their datasets what the domains are called."""

_FIELD = re.compile(r"\{([^{}]*)\}")
_OWN = ("domain", "number", "file")
"""Words of a template that are no columns."""


def paths_of(names: Sequence[str], template: str, catalog: Catalog | None) -> tuple[str, ...]:
    """The path of each domain: the template with `{domain}` and `{COLUMN}` of the catalog filled in.

    `{number}` and `{file}` are what `export-store` calls the domain's files: `00012`, and `00012-web`.

    Raises FormatError: `no-catalog` where a column is asked for and there is none, `unknown-column`, `unknown-domain`,
    `template-empty` where a domain has no value there, and `paths-alike` where two domains would have one path.
    """
    fields = dict.fromkeys(_FIELD.findall(template))
    columns = {name: _column(name, names, catalog) for name in fields if name not in _OWN}
    is_numbered = "number" in fields or "file" in fields
    paths: dict[str, str] = {}
    for i, domain in enumerate(names):
        number = catalog.index(domain) if catalog is not None and is_numbered else i
        own = {"domain": domain, "number": f"{number:05d}", "file": file_stem(number, domain)}
        values = {name: cells[domain] for name, cells in columns.items()} | own
        path = _FIELD.sub(lambda field: values[field[1]], template)  # noqa: B023 it is called within the turn
        if path in paths:
            raise FormatError(
                f"domains {quote(paths[path])} and {quote(domain)} would both have the path {quote(path)}",
                code="paths-alike",
                hint="put {domain} into the template",
                domains=[paths[path], domain],
            )
        paths[path] = domain
    return tuple(paths)


def domain_of(path: str, known: Mapping[str, str], catalog: Catalog) -> str:
    """The domain that lies at a path; `known` is `paths_of` turned round. Raises FormatError `unknown-domain`."""
    name = known.get(path)
    if name is None:
        raise FormatError(
            f"{quote(path)} is not the path of a domain of {catalog.source.name}",
            code="unknown-domain",
            hint=nearest(path, known)
            or "--path-template says how paths are made of domains, as in 's3://bucket/{domain}'",
            path=path,
        )
    return name


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Names for paths that no catalog knows: each without the folders that all are in; itself where two were alike."""
    parts = [path.rstrip("/").split("/") for path in paths]
    shared = 0
    while parts and all(len(own) > shared + 1 and own[shared] == parts[0][shared] for own in parts):
        shared += 1
    names = ["/".join(own[shared:]) for own in parts]
    return dict(zip(paths, paths if len(set(names)) < len(names) or not all(names) else names, strict=True))


def _column(name: str, domains: Sequence[str], catalog: Catalog | None) -> Mapping[str, str]:
    if catalog is None:
        raise FormatError(
            f"the template uses the column {quote(name)}, but a lock has no columns",
            code="no-catalog",
            hint="give the table of its domains: --catalog TABLE",
            column=name,
        )
    if name not in catalog.table.column_names:
        known = catalog.table.column_names
        raise FormatError(
            f"the catalog has no column {quote(name)}",
            code="unknown-column",
            hint=nearest(name, known) or f"its columns: {', '.join(map(quote, known[:12]))}",
            column=name,
        )
    cells = catalog.table[name].to_pylist()
    values: dict[str, str] = {}
    for domain in domains:
        text = cell_text(cells[catalog.index(domain)])
        if text is None:
            raise FormatError(
                f"domain {quote(domain)} has no value in the column {quote(name)}, which the template uses",
                code="template-empty",
                domain=domain,
                column=name,
            )
        values[domain] = text
    return values
