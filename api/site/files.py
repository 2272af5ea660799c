"""All pages of mixtures as files that need no service: pages, their data beside them, what they load, in one folder.

The same mixtures give the same bytes. Paths are those that `FileLinks` writes.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mixture.api.answers import Format, json_bytes, table_bytes
from mixture.api.pages.assets import assets
from mixture.api.pages.catalog.facts import catalog_facts
from mixture.api.pages.catalog.page import CatalogAsked, CatalogFacts, catalog_view, figures_of
from mixture.api.pages.catalog.panel import PanelPage, keys_of
from mixture.api.pages.catalog.parts import cell_panel
from mixture.api.pages.catalog.provenance import MoveView
from mixture.api.pages.index import IndexView, MixtureLine
from mixture.api.pages.links import FileLinks
from mixture.api.pages.mixture.compare import compare_view
from mixture.api.pages.mixture.page import mixture_view
from mixture.api.pages.render import View, render
from mixture.api.pages.step.lookup import step_lookup_files
from mixture.api.registry import LoadedMixture, overview_of
from mixture.api.settings import ExampleTexts

SERVED_ONLY = ("run.js", "what_if.js")
"""What pages load that are not among the files: they need a service."""
DATA = (Format.JSON, Format.CSV, Format.PARQUET)


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of a site; path: below its folder, with `/`."""

    path: str
    data: bytes


def site_files(mixtures: Sequence[LoadedMixture], *, texts: ExampleTexts = ExampleTexts.NONE) -> Iterator[SiteFile]:
    """The files of a site, each made when it is asked for; the index comes last.

    texts: how much of the text of examples is in them; NONE: no examples, not even what they are called

    Errors: those of stores, where a mixture has one that can not be read.
    """
    for name, data in assets().items():
        if name in SERVED_ONLY:
            continue
        yield SiteFile(f"assets/{name}", data)
    for mixture in mixtures:
        yield from _mixture_files(mixture, [one for one in mixtures if _shares_domains(one, mixture)])
        yield from _catalog_files(mixture, texts)
        for path, text in step_lookup_files(mixture.lock, mixture.name).items():
            yield SiteFile(path, text.encode())
    lines = (
        MixtureLine(
            name=one.name,
            digest=one.digest,
            tokens=int(one.lock.schedule().tokens(one.lock.data.steps).sum()),
            steps=one.lock.data.steps,
            domains=len(one.lock.data.domains),
        )
        for one in mixtures
    )
    yield from _page("index.html", "index.html", IndexView(mixtures=tuple(lines)))


def _page(path: str, template: str, view: View, data: Sequence[Format] = DATA) -> Iterator[SiteFile]:
    """A page, and its data beside it."""
    yield SiteFile(path, render(template, FileLinks(path), view).encode())
    stem = posixpath.splitext(path)[0]
    for form in data:
        made = json_bytes(view) if form is Format.JSON else table_bytes(form, view.table())
        yield SiteFile(stem + form.suffix, made)


def _mixture_files(mixture: LoadedMixture, others: Sequence[LoadedMixture]) -> Iterator[SiteFile]:
    """The page of a mixture, the files it is made of, and it beside each of the others."""
    links, overview = FileLinks(""), overview_of(mixture)
    names = [one.name for one in others]
    view = mixture_view(mixture, overview=overview, others=names)
    yield from _page(links.mixture(mixture.name), "mixture.html", view)
    plan = json.dumps(mixture.plan_json, ensure_ascii=False, separators=(",", ":"))
    for part, text in (("lock", mixture.lock_text), ("spec", mixture.spec_text), ("plan", plan)):
        yield SiteFile(links.part(mixture.name, part), text.encode())
    for other in others:
        if other.name < mixture.name:  # the pair has its page already
            continue
        compared = compare_view(mixture, other, overview=overview, other_overview=overview_of(other))
        yield from _page(links.compare(mixture.name, other.name), "mixture_compare.html", compared)


def _catalog_files(mixture: LoadedMixture, texts: ExampleTexts) -> Iterator[SiteFile]:
    """The page of a mixture's catalog, and one for each cell and each domain."""
    links, facts, asked = FileLinks(""), catalog_facts(mixture, moves=_this(mixture)), CatalogAsked()
    yield from _page(links.catalog(mixture.name), "catalog.html", catalog_view(facts, asked))
    for key in _keys(facts, asked):
        panel = cell_panel(facts, asked, key, texts)
        if texts is ExampleTexts.NONE:
            panel = panel.model_copy(update={"examples": None})
        page = PanelPage(name=facts.name, ref=facts.ref, panel=panel)
        yield from _page(links.cell(mixture.name, key), "catalog_cell.html", page, data=(Format.JSON, Format.CSV))


def _this(mixture: LoadedMixture) -> tuple[MoveView, ...]:
    """The only version that files know of."""
    return (MoveView(digest=mixture.digest, at=None, by=None),)


def _keys(facts: CatalogFacts, asked: CatalogAsked) -> list[str]:
    """Cells in order of the map, then domains that are in cells of several."""
    figures = figures_of(facts, asked)
    return list(dict.fromkeys([*keys_of(figures), *(facts.catalog.names[i] for i in figures.whole.domains)]))


def _shares_domains(loaded_mixture: LoadedMixture, other: LoadedMixture) -> bool:
    """Whether two mixtures have a domain of the same name, so that there is something to compare."""
    return loaded_mixture is not other and not set(loaded_mixture.catalog.names).isdisjoint(other.catalog.names)
