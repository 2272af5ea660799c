"""The description of the service: OpenAPI 3.1, as `app.openapi()` and /openapi.json give it.

Besides what routes say of themselves, every operation has the problems that any of them may answer with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from mixture.api.middleware import CODE_HEADER, CODES, MEDIA_TYPE, ProblemBody, documented

DESCRIPTION = """\
Mixtures of training data: what they say, which sequence stands where in a run, the tokens themselves, and how runs
follow them. `{ref}` is a mixture's name, or `name@sha256:<digest>` for one that never changes.

Tables are answered in JSON, CSV, Parquet or as an Arrow stream: by `Accept`, or by the ending of the address (`.csv`).
Lists are `{items, next, next_url}`. Whatever is not a success is a problem (RFC 9457) with a stable `code`; a query
parameter that an operation does not have is one, `unknown-parameter`. HEAD is answered as GET is, without the body.
"""
TAGS = {
    "mixtures": "What mixtures there are, their specs, plans and locks.",
    "schedules": "What stands at any place of a run.",
    "composition": "What a run is made of, by any columns of its catalog.",
    "batches": "Tokens, streamed.",
    "catalogs": "The domains that mixtures are made of.",
    "runs": "Runs and their progress.",
    "service": "For those who run it.",
}
READS: list[dict[str, list[str]]] = [{"token": []}]
"""What an operation that reads, and writes nothing, asks of a caller: no scope of a token."""
ANYWHERE = (414, 429, 431, 500)
"""Problems of every operation."""
WITH_ROUTES = (401, 403, 404, 406, 422, 503)
"""Problems of every operation below /v1."""
WITH_BODIES = (400, 413, 415)


HEADERS: dict[str, Any] = {
    "ETag": {
        "description": "Of this answer: sent back as If-None-Match, it is answered 304 while nothing has changed.",
        "required": True,
        "schema": {"type": "string", "examples": ['"0f3a9c2b7d5e4f600f3a9c2b7d5e4f60"']},
    },
    "Cache-Control": {
        "description": "How long the answer holds: for good below `name@sha256:…`.",
        "required": True,
        "schema": {"type": "string", "examples": ["public, max-age=31536000, immutable"]},
    },
    "Link": {
        "description": "To the next page; none on the last.",
        "schema": {"type": "string", "examples": ['</v1/mixtures?limit=100&cursor=ImRlbW8i>; rel="next"']},
    },
}


_descriptions: dict[bool, dict[str, Any]] = {}  # by whether reading is open: all applications have the same routes


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of an application, built once in a process."""
    is_open = app.state.services.settings.public_reads
    if is_open not in _descriptions:
        _descriptions[is_open] = _describe(app, is_open=is_open)
    return _descriptions[is_open]


def page_paths(routes: Sequence[BaseRoute]) -> Mapping[str, Mapping[str, Any]]:
    """The same of pages, by path and method: it is not published, and says which parameters a page has."""
    paths: dict[str, dict[str, Any]] = get_openapi(title="pages", version="", routes=routes)["paths"]
    return paths


def _describe(app: FastAPI, *, is_open: bool) -> dict[str, Any]:
    openapi = get_openapi(
        title="mixture",
        version=app.version,
        openapi_version="3.1.0",
        summary="Data mixtures for language model training, over HTTP.",
        description=DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    schemas = openapi["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = ProblemBody.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs"))
    schemas["Problem"] = problem
    for path, methods in openapi["paths"].items():
        for operation in methods.values():
            _complete(operation, is_data=path.startswith("/v1/"))
            _say_headers(operation)
            if is_open and operation.get("security") == READS:
                operation["security"] = [{}, *READS]  # a token may be sent, and must then be known
    openapi["components"]["schemas"] = dict(sorted(schemas.items()))
    header = {"description": "The problem's code.", "schema": {"type": "string"}}
    openapi["components"]["responses"] = {
        str(status): said | {"headers": {CODE_HEADER: header}} for status, said in documented(*CODES).items()
    }
    openapi["components"]["headers"] = HEADERS
    return openapi


def _complete(operation: dict[str, Any], *, is_data: bool) -> None:
    """Say which problems an operation may answer with; 422 has the framework's own shape until here."""
    responses: dict[str, Any] = operation["responses"]
    if "application/json" in responses.get("422", {}).get("content", {}):
        del responses["422"]
    statuses = ANYWHERE + (WITH_ROUTES if is_data else ()) + (WITH_BODIES if "requestBody" in operation else ())
    problems = {status for status, response in responses.items() if MEDIA_TYPE in response.get("content", {})}
    for status in problems | set(map(str, statuses)):
        responses[status] = {"$ref": f"#/components/responses/{status}"}
    operation["responses"] = dict(sorted(responses.items()))


def _say_headers(operation: dict[str, Any]) -> None:
    """Say which headers of its own an answer has: those of lists that have pages, and of what has an entity tag."""
    responses: dict[str, Any] = operation["responses"]
    is_paged = any(one["name"] == "cursor" for one in operation.get("parameters", ()))
    is_tagged = "304" in responses
    names = [*(["ETag", "Cache-Control"] if is_tagged else []), *(["Link"] if is_paged else [])]
    for status in ("200", "304"):
        if names and status in responses:
            said = {
                name: {"$ref": f"#/components/headers/{name}"} for name in names if (name, status) != ("Link", "304")
            }
            responses[status]["headers"] = said
