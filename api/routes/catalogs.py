"""/v1/catalogs: the domains that mixtures are made of, with their attributes, and sums over them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mixture.api.answers import (
    NOT_MODIFIED,
    By,
    JsonOnly,
    Page,
    PageAsked,
    PageQuery,
    TableFormat,
    TablePart,
    Where,
    asks_for_table,
    columns_of,
    encode_cursor,
    json_answer,
    name_after,
    page_answer,
    page_of,
    table_answer,
    table_page_query,
    table_responses,
    whole_answer,
)
from mixture.api.database import MixtureRecord
from mixture.api.dependencies import AppServices, AskedMixture, Reads, Services
from mixture.api.figures import SUMS, sums_by
from mixture.api.middleware import problems
from mixture.api.refs import DIGEST
from mixture.api.registry import LoadedMixture
from mixture.api.routes.mixtures import head
from mixture.names import DIGEST_MARK
from mixture.planning.catalog import Catalog

router = APIRouter(prefix="/v1/catalogs", tags=["catalogs"], dependencies=[Reads])

RowsQuery = Annotated[PageAsked, Depends(table_page_query(limit=1000, most=100_000, is_table=asks_for_table))]


class CatalogHead(BaseModel):
    """A catalog in the list, by the mixture that it is the catalog of."""

    name: str = Field(examples=["demo"], description="Of the mixture.")
    digest: str = Field(examples=[DIGEST], description="Of the mixture's lock.")
    ref: str = Field(examples=[f"demo{DIGEST_MARK}{DIGEST}"])
    catalog: str | None = Field(
        examples=["ca06a7e0f3e7a79f" * 4],
        description="Digest of what the catalog says, the same for all mixtures over one table; null where what was "
        "published can not be read.",
    )
    domains: int = Field(examples=[10], description="Those that phases may draw from: held-out ones are not counted.")
    url: str = Field(examples=["/v1/catalogs/demo"])


class Column(BaseModel):
    """A column of a catalog."""

    name: str = Field(examples=["quality"])
    type: str = Field(examples=["int64"], description="As Arrow names it.")


class CatalogShown(CatalogHead):
    """A catalog: its size and columns."""

    domain_column: str = Field(examples=["domain"], description="The column that names the domains.")
    tokens: int = Field(examples=[96486000000])
    columns: list[Column]


class DomainRow(BaseModel):
    """A domain: the columns of the catalog."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"example": {"domain": "web-high", "quality": 3}})

    tokens: int = Field(examples=[6230000000])


class SumRow(BaseModel):
    """A group of domains: the columns asked for, and sums."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"example": {"kind": "web", "domains": 3, "tokens": 9}})

    domains: int = Field(examples=[3])
    tokens: int = Field(examples=[75740000000])
    share: float | None = Field(examples=[0.785], description="Of the tokens of all groups; null where there are none.")
    documents: int | None = Field(examples=[71000000], description="Null unless all of them say how many they have.")
    tokens_per_document: float | None = Field(examples=[1066.8], description="Null where documents is null or 0.")


@router.get("", dependencies=[JsonOnly])
def list_catalogs(services: AppServices, page: PageQuery, request: Request, response: Response) -> Page[CatalogHead]:
    """The catalogs of all mixtures, in order of the mixtures' names."""
    services.check_started()
    found = [_head(one, services) for one in services.heads(after=name_after(page), limit=page.limit + 1)]
    return page_answer(page_of(found, page, key=lambda one: one.name, request=request), response)


def _head(one: LoadedMixture | MixtureRecord, services: Services) -> CatalogHead:
    of = head(one)
    return CatalogHead(
        name=of.name,
        digest=of.digest,
        ref=of.ref,
        catalog=services.catalog_digest(one),
        domains=of.domains,
        url=f"{router.prefix}/{of.name}",
    )


@router.get(
    "/{ref}", dependencies=[JsonOnly], response_model=CatalogShown, responses=NOT_MODIFIED | problems.documented(404)
)
def get_catalog(asked: AskedMixture, services: AppServices, request: Request) -> Response:
    """The catalog of a mixture: its size, and the columns that `where` and `by` may name."""
    mixture, catalog = asked.mixture, asked.mixture.catalog
    shown = CatalogShown(
        **_head(mixture, services).model_dump(),
        domain_column=mixture.domain_column,
        tokens=catalog.tokens,
        columns=[Column(name=one.name, type=str(one.type)) for one in catalog.table.schema],
    )
    return json_answer(request, of=shown.model_dump_json(), lifetime=asked.lifetime, make=lambda: shown)


def _says(mixture: LoadedMixture) -> str:
    """What answers from a catalog's rows follow from: its digest, and names, order and types of columns beside it."""
    columns = mixture.catalog.table.schema.remove_metadata()
    return f"{mixture.catalog.digest} {mixture.domain_column} {columns}"


@router.get(
    "/{ref}/domains",
    response_model=None,
    responses={
        **table_responses(Page[DomainRow], '"domain","kind","quality","tokens"\n"books","books",3,1904000000\n'),
        **problems.documented(404, 429),
    },
)
def list_domains(
    asked: AskedMixture,
    services: AppServices,
    form: TableFormat,
    page: RowsQuery,
    request: Request,
    where: Where = None,
) -> Response:
    """The domains in order of name, with all columns of the catalog."""
    catalog, after = asked.mixture.catalog, name_after(page)

    def make() -> TablePart:
        rows = selected(services, catalog, where)
        if after is not None:
            rows = rows[bisect_right(rows, after, key=lambda row: catalog.names[row]) :]
        shown = rows[: page.limit]
        cursor = encode_cursor(catalog.names[shown[-1]]) if len(rows) > page.limit else None
        return TablePart(catalog.table.take(pa.array(shown, pa.int64())), cursor)

    answer = whole_answer if page.is_whole else table_answer
    return answer(request, form, of=_says(asked.mixture), lifetime=asked.lifetime, make=make)


@router.get(
    "/{ref}/sums",
    response_model=None,
    responses={
        **table_responses(
            Page[SumRow], "kind,domains,tokens,share,documents,tokens_per_document\nweb,3,75740000000,…\n"
        ),
        **problems.documented(404),
    },
)
def sum_domains(
    asked: AskedMixture, services: AppServices, form: TableFormat, request: Request, by: By = None, where: Where = None
) -> Response:
    """Domains, tokens and documents, summed by columns of the catalog; exact, in order of the columns."""
    catalog = asked.mixture.catalog
    columns = columns_of(catalog, by or (), taken=SUMS)

    def make() -> pa.Table:
        return sums_by(catalog, columns, selected(services, catalog, where))

    return table_answer(request, form, of=_says(asked.mixture), lifetime=asked.lifetime, make=make)


def selected(services: Services, catalog: Catalog, where: str | None) -> Sequence[int]:
    """The rows of the catalog for which a condition is true; all, held-out ones too, where there is no condition."""
    return range(len(catalog.domains)) if where is None else services.select(catalog, where)
