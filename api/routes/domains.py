"""/v1/catalogs/{ref}/domains/{domain}: one domain, what a plan makes of it, and documents of it to look at."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from mixture.api.answers import (
    NOT_MODIFIED,
    JsonOnly,
    Listed,
    Page,
    PageAsked,
    encode_cursor,
    json_answer,
    next_url,
    number_after,
    page_query,
)
from mixture.api.dependencies import AppServices, Asked, AskedMixture, Reads
from mixture.api.figures import CatalogFigures, DomainShown, PlannedDomains, axes_of, domain_shown
from mixture.api.middleware import Lifetime, Problem, problems
from mixture.api.registry import overview_of
from mixture.api.texts import DomainExamples, Example, ExampleKind, reading_store
from mixture.errors import nearest
from mixture.stream import masks_for

router = APIRouter(prefix="/v1/catalogs", tags=["catalogs"], dependencies=[Reads])

Domain = Annotated[str, Path(max_length=1000, description="A domain's name.", examples=["books"])]
ExamplesQuery = Annotated[PageAsked, Depends(page_query(limit=5, most=20))]


@router.get(
    "/{ref}/domains/{domain:path}/examples",
    dependencies=[JsonOnly],
    response_model=Page[Example],
    responses=NOT_MODIFIED | problems.documented(404),
)
def list_examples(
    asked: AskedMixture,
    domain: Domain,
    services: AppServices,
    page: ExamplesQuery,
    request: Request,
    kind: Annotated[
        ExampleKind, Query(description="Typical of it, or any.", examples=["random"])
    ] = ExampleKind.TYPICAL,
    seed: Annotated[int, Query(ge=0, le=2**63 - 1, description="Of the order of random ones.", examples=[0])] = 0,
) -> Response:
    """Documents of a domain to look at, with as much of their text as this service shows."""
    store, overview = asked.store(), overview_of(asked.mixture)
    if domain not in store.domains:
        raise unknown_domain(asked, domain)
    texts, after = services.settings.examples, number_after(page)
    some = DomainExamples(store, overview, domain, texts, masks_for(asked.mixture.lock))
    first = 0 if after is None else after + 1

    def make() -> Listed:
        with reading_store():
            shown = list(some.some(kind, first=first, most=page.limit, seed=seed))
        return Listed(items=[one.model_dump() for one in shown], next=cursor, next_url=url)

    end = first + page.limit
    cursor = encode_cursor(end - 1) if end < some.count(kind) else None
    url = next_url(request, cursor)
    down = asked.mixture.digest if asked.mixture.lock.masks else ""
    of = f"{store.digest} {texts} {down} {'' if overview is None else overview.model_dump_json()}"
    return json_answer(request, of=of, lifetime=Lifetime.SHORT, make=make)


@router.get(
    "/{ref}/domains/{domain:path}",
    dependencies=[JsonOnly],
    response_model=DomainShown,
    responses=NOT_MODIFIED | problems.documented(404),
)
def get_domain(asked: AskedMixture, domain: Domain, services: AppServices, request: Request) -> Response:
    """One domain: its figures, what each phase makes of it, and what its documents are where there is a store."""
    mixture = asked.mixture
    if domain not in mixture.catalog.names:
        raise unknown_domain(asked, domain)
    overview, store = overview_of(mixture), mixture.store

    def make() -> DomainShown:
        axes = axes_of(mixture.catalog, overview)
        figures = CatalogFigures(mixture.catalog, overview, PlannedDomains(mixture.plan_json), axes=axes)
        with reading_store():
            facts = None if store is None or domain not in store.domains else services.document_facts.of(store, domain)
        shown = domain_shown(figures, domain, facts)
        assert shown is not None
        return shown

    of = f"{mixture.digest} {store and store.digest} {'' if overview is None else overview.model_dump_json()}"
    return json_answer(request, of=of, lifetime=Lifetime.SHORT, make=make)


def unknown_domain(asked: Asked, domain: str) -> Problem:
    """There is no such domain in a catalog, or in its store."""
    hint = nearest(domain, asked.mixture.catalog.names)
    detail = f"the catalog of '{asked.ref}' has no domain {domain!r}"
    return Problem(404, detail, code="unknown-domain", hint=hint, facts={"domain": domain})
