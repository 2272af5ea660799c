"""/v1/mixtures/{ref}/exports: a mixture in the formats of trainers, as `mixture export` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import Annotated, Any
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from mixture.api.answers import NOT_MODIFIED, JsonOnly, json_answer, only, wrong_query
from mixture.api.dependencies import AppServices, Asked, AskedMixture, Reads, Services
from mixture.api.middleware import Freshness, Problem, address_of, not_modified, problem_of, problems, tag_of
from mixture.api.refs import DIGEST
from mixture.errors import MixtureError, nearest
from mixture.formats import DOMAIN, FORMATS, Exported, Holds, MixtureFormat, WeightUnit, format_of
from mixture.formats import export_mixture as export_lock

router = APIRouter(prefix="/v1/mixtures", tags=["mixtures"], dependencies=[Reads])

MOST_ROWS = 5_000
"""Domains times phases that are written at once: YAML of so many takes up to four seconds."""
TEXT, ZIP = "text/plain", "application/zip"
AS_ZIP: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
AS_TEXT: dict[str, Any] = {"schema": {"type": "string"}, "example": "# demo, lock 92ff…\ndata_stages:\n- name: …\n"}


class FormatHead(BaseModel):
    """A format that mixtures can be written in."""

    format: str = Field(examples=["levanter"])
    title: str = Field(examples=["Levanter: components and train_weights by step"])
    units: list[WeightUnit] = Field(
        examples=[["sequences"]], description="What weights in it may count; the first if nobody says otherwise."
    )
    holds: list[Holds] = Field(
        examples=[["batches", "phases"]], description="What one file can say of a run; other phases are a file each."
    )
    draws: str = Field(examples=["Megatron takes the dataset that is farthest behind its weight."])
    imported: bool = Field(examples=[True], description="Whether `mixture import` reads it.")
    url: str = Field(examples=["/v1/mixtures/demo/exports/levanter"])


class FormatList(BaseModel):
    """All formats."""

    items: list[FormatHead]


class RemarkShown(BaseModel):
    """What the format can not express, or how."""

    code: str = Field(examples=["order-not-kept"])
    message: str = Field(examples=["which sequence stands at which step is the trainer's own"])


class FileShown(BaseModel):
    """A file: its name, its text, and the address of the text alone."""

    name: str = Field(examples=["demo.nanotron.1-pretraining.yaml"])
    url: str = Field(examples=["/v1/mixtures/demo/exports/nanotron/text?file=demo.nanotron.1-pretraining.yaml"])
    text: str = Field(examples=["# demo, lock 92ff…\ndata_stages:\n- name: …\n"])


class ExportShown(BaseModel):
    """A mixture in a format: files, what their weights count, and what they can not say."""

    mixture: str = Field(examples=["demo"])
    digest: str = Field(examples=[DIGEST])
    format: str = Field(examples=["nanotron"])
    unit: WeightUnit = Field(examples=["sequences"])
    remarks: list[RemarkShown]
    files: list[FileShown]


FormatPath = Annotated[str, Path(alias="format", max_length=100, examples=["nanotron"])]
PhaseQuery = Annotated[
    str | None, Query(max_length=1000, description="Only this phase, its steps from 0.", examples=["midtraining"])
]
TemplateQuery = Annotated[
    str,
    Query(
        max_length=1000,
        description="Where a domain's text lies; `{domain}` and columns of the catalog are filled in.",
        examples=["s3://bucket/{domain}"],
    ),
]
UnitQuery = Annotated[
    WeightUnit | None,
    Query(description="What the trainer's samples are, where the format leaves that open.", examples=["sequences"]),
]


@router.get("/{ref}/exports", response_model=FormatList, dependencies=[JsonOnly], responses={**NOT_MODIFIED})
def list_export_formats(asked: AskedMixture, request: Request) -> Response:
    """The formats that a mixture can be written in, with what weights in them count."""
    heads = FormatList(items=list(_heads(asked)))
    return json_answer(request, of=asked.mixture.digest, lifetime=asked.lifetime, make=lambda: heads)


@router.get(
    "/{ref}/exports/{format}",
    response_model=ExportShown,
    dependencies=[JsonOnly],
    responses={**NOT_MODIFIED, **problems.documented(404)},
)
def export_mixture(
    asked: AskedMixture,
    services: AppServices,
    request: Request,
    form: FormatPath,
    phase: PhaseQuery = None,
    path_template: TemplateQuery = DOMAIN,
    unit: UnitQuery = None,
) -> Response:
    """A mixture in a format, with all its files, as `mixture export --json` gives it."""
    found = _format(form)
    make = partial(_export, services, asked, found, phase=phase, path_template=path_template, unit=unit)
    return json_answer(
        request,
        of=asked.mixture.digest,
        lifetime=asked.lifetime,
        make=lambda: _shown(asked, request, make()),
    )


@router.get(
    "/{ref}/exports/{format}/text",
    dependencies=[only(TEXT)],
    response_class=Response,
    responses={200: {"content": {TEXT: AS_TEXT}}, **NOT_MODIFIED, **problems.documented(404)},
)
def export_file(
    asked: AskedMixture,
    services: AppServices,
    request: Request,
    form: FormatPath,
    file: Annotated[
        str | None,
        Query(
            max_length=500, description="Which, where there are several.", examples=["demo.nanotron.1-pretraining.yaml"]
        ),
    ] = None,
    phase: PhaseQuery = None,
    path_template: TemplateQuery = DOMAIN,
    unit: UnitQuery = None,
) -> Response:
    """One file of an export as it is: to save, or to hand to a trainer."""
    form_of = _format(form)
    fresh = Freshness(tag_of(asked.mixture.digest, address_of(request)), asked.lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    made = _export(services, asked, form_of, phase=phase, path_template=path_template, unit=unit)
    name = _name(made, file)
    headers = fresh.headers(request) | {"Content-Disposition": f'inline; filename="{name}"'}
    return Response(made.files[name].encode(), headers=headers, media_type=TEXT)


@router.get(
    "/{ref}/exports/{format}/archive",
    dependencies=[only(ZIP)],
    response_class=Response,
    responses={200: {"content": {ZIP: AS_ZIP}}, **NOT_MODIFIED, **problems.documented(404)},
)
def export_archive(
    asked: AskedMixture,
    services: AppServices,
    request: Request,
    form: FormatPath,
    phase: PhaseQuery = None,
    path_template: TemplateQuery = DOMAIN,
    unit: UnitQuery = None,
) -> Response:
    """All files of an export in one, with what they can not say beside them."""
    form_of = _format(form)
    fresh = Freshness(tag_of(asked.mixture.digest, address_of(request)), asked.lifetime)
    known = not_modified(request, fresh)
    if known is not None:
        return known
    made = _export(services, asked, form_of, phase=phase, path_template=path_template, unit=unit)
    stem = next(iter(made.files)).partition(".")[0]
    headers = {"Content-Disposition": f'attachment; filename="{stem}.{made.format}.zip"'}
    return Response(_zipped(made, stem), headers=fresh.headers(request) | headers, media_type=ZIP)


def _zipped(made: Exported, stem: str) -> bytes:
    """The same bytes for the same export: every file is of the first day that a zip can say."""
    notes = "".join(f"{remark}\n" for remark in made.remarks)
    files = {**made.files, f"{stem}.{made.format}.remarks.txt": notes}
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = ZipInfo(name)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, text.encode())
    return content.getvalue()


def _heads(asked: Asked) -> Iterator[FormatHead]:
    for form in FORMATS.values():
        yield FormatHead(
            format=form.name,
            title=form.title,
            units=list(form.units),
            holds=sorted(form.holds),
            draws=form.draws,
            imported=form.read is not None,
            url=f"/v1/mixtures/{quote(str(asked.ref))}/exports/{form.name}",
        )


def _format(name: str) -> MixtureFormat:
    try:
        return format_of(name)
    except MixtureError as error:
        raise problem_of(error, status=404) from error


def _export(
    services: Services,
    asked: Asked,
    form: MixtureFormat,
    *,
    phase: str | None,
    path_template: str,
    unit: WeightUnit | None,
) -> Exported:
    """The export. Raises Problem 422 with the library's code, or `too-many-rows`."""
    lock = asked.mixture.lock
    begins = {*(phase.first_step for phase in lock.phases), *lock.data.boundaries}
    rows = len(lock.data.domains) * len(begins)
    most = min(MOST_ROWS, services.settings.max_rows)
    if rows > most:
        detail = f"its domains times its sets of weights are {rows:,}, more than {most:,}"
        hint = f"`mixture export {form.name}` writes them"
        raise Problem(422, detail, code="too-many-rows", hint=hint, facts={"max_rows": most})
    return export_lock(lock, form, catalog=asked.mixture.catalog, phase=phase, path_template=path_template, unit=unit)


def _shown(asked: Asked, request: Request, made: Exported) -> ExportShown:
    query = f"&{request.url.query}" if request.url.query else ""
    here = f"/v1/mixtures/{quote(str(asked.ref))}/exports/{made.format}/text?file="
    files = [{"name": name, "url": f"{here}{name}{query}", "text": text} for name, text in made.files.items()]
    return ExportShown.model_validate(made.json() | {"files": files})


def _name(made: Exported, file: str | None) -> str:
    """The file that is asked for; one alone needs no name. Raises Problem 422: `file-required`, `unknown-file`."""
    names = list(made.files)
    if file is None:
        if len(names) > 1:
            raise wrong_query(
                "file", f"there are {len(names)} files", "file-required", hint=f"one of {', '.join(names)}"
            )
        return names[0]
    if file not in made.files:
        hint = nearest(file, names) or f"its files: {', '.join(names)}"
        raise wrong_query("file", f"there is no file {file!r}", "unknown-file", hint=hint)
    return file
