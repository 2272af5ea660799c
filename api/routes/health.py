"""/healthz, /readyz, /version, /metrics: for those who run the service."""

from __future__ import annotations

import platform
from importlib.metadata import version

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from mixture._version import __version__
from mixture.api.dependencies import AppServices, Reads
from mixture.api.middleware import Problem, problems
from mixture.errors import MixtureError

router = APIRouter(tags=["service"])
FRESH = {"Cache-Control": "no-store"}


class Health(BaseModel):
    """Answered by the process itself: it runs."""

    status: str = Field(examples=["ok"])


class LeftOutFolder(BaseModel):
    """A folder that is not shown as it is now, and why."""

    folder: str = Field(examples=["my-mixture"], description="Its name.")
    code: str = Field(examples=["spec-changed"])
    detail: str = Field(examples=["mixture.yaml:3: the spec no longer gives this lock: the seed is 0 in the lock, …"])
    hint: str | None = Field(examples=[None], description="What would be right.")
    digest: str | None = Field(
        examples=[None], description="Of the lock that is still shown, the last that could be read; null: nothing is."
    )


class Ready(BaseModel):
    """What the service can answer now."""

    status: str = Field(examples=["ready"])
    mixtures: int = Field(examples=[4], description="Built-in mixtures that can be read.")
    left_out: list[LeftOutFolder] = Field(
        examples=[[]],
        description="Folders with a spec that can not be read as it is; that does not keep requests away.",
    )


class Version(BaseModel):
    """What runs here."""

    mixture: str = Field(examples=["0.1.0"])
    python: str = Field(examples=["3.11.2"])
    duckdb: str = Field(examples=["2.0.0"])
    pyarrow: str = Field(examples=["25.0.0"])


@router.get("/healthz")
async def get_health(response: Response) -> Health:
    """Whether the process runs. Nothing is read or opened."""
    response.headers.update(FRESH)
    return Health(status="ok")


@router.get("/readyz", responses=problems.documented(503))
def get_readiness(services: AppServices, response: Response) -> Ready:
    """Whether requests should come here: the database answers, mixtures are read, the end has not been announced."""
    response.headers.update(FRESH)
    if services.stopping.is_set():
        raise Problem(503, "this copy is ending", code="stopping")
    services.check_started()
    try:
        services.repository.check()
    except MixtureError as error:
        raise problems.problem_of(error, status=503) from error
    left_out = [
        LeftOutFolder(folder=one.folder, code=one.code, detail=one.detail, digest=one.digest, hint=one.hint)
        for one in services.builtin.left_out()
    ]
    return Ready(status="ready", mixtures=len(services.builtin.all()), left_out=left_out)


@router.get("/version")
def get_version(response: Response) -> Version:
    """The versions of what runs here."""
    response.headers.update(FRESH)
    return Version(
        mixture=__version__, python=platform.python_version(), duckdb=version("duckdb"), pyarrow=version("pyarrow")
    )


@router.get("/metrics", dependencies=[Reads], response_class=Response, include_in_schema=False)
def metrics(services: AppServices) -> Response:
    """Figures for Prometheus."""
    from prometheus_client import CONTENT_TYPE_LATEST

    return Response(services.metrics.text(), headers=FRESH, media_type=CONTENT_TYPE_LATEST)
