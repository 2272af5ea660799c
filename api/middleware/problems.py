"""Problems (RFC 9457): every answer that is not a success is one, with a stable code for programs.

    {"type": "urn:mixture:unknown-domain", "title": "Unprocessable Content", "status": 422, "code": "unknown-domain",
     "detail": "unknown domain 'cod'", "hint": "did you mean 'code'?", "instance": "/v1/…", "trace_id": "…"}

The code is also in the header X-Error-Code. Routes raise `Problem`, or let a MixtureError through: `problem_of` says
which status its code has. `install` makes answers of both, and of what the framework raises.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from pathlib import PurePath
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from mixture.api.middleware.addresses import nearest_address, own_path
from mixture.errors import MixtureError, StoreError
from mixture.planning.plan import Finding, json_value

MEDIA_TYPE = "application/problem+json"
CODE_HEADER = "X-Error-Code"

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""Errors of the system that pass: a full disk, and no more files to be opened."""
OUTAGE_SECONDS = 60.0
MOST_ERRORS = 20
"""Single faults that a problem lists; it says how many more there are."""
LONGEST_TEXT = 2000
"""Characters of a text in a problem: a name that a request has may be as long as the request."""

logger = logging.getLogger("mixture.service")

CODES: Mapping[int, str] = {
    400: "bad-request",
    401: "token-missing",
    403: "scope-missing",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    408: "body-timeout",
    409: "conflict",
    412: "precondition-failed",
    413: "body-too-large",
    414: "query-too-long",
    415: "media-type-unsupported",
    416: "range-not-satisfiable",
    422: "invalid-request",
    428: "precondition-required",
    429: "too-many-requests",
    431: "header-too-long",
    500: "internal-error",
    503: "unavailable",
}
"""The code of a status where nothing more special is known."""

STATUS_OF_CODE: Mapping[str, int] = {
    "busy": 503,
    "content-differs": 409,
    "data-dir-unusable": 503,
    "database-damaged": 503,
    "database-newer": 503,
    "database-unreachable": 503,
    "database-url": 503,
    "digest-required": 428,
    "domain-not-in-store": 409,
    "history-differs": 409,
    "name-conflict": 409,
    "object-damaged": 503,
    "object-missing": 503,
    "progress-conflict": 409,
    "run-conflict": 409,
    "settings-invalid": 503,
    "store-replaced": 409,
    "tokenizer-differs": 409,
    "tokens-differ": 409,
    "unknown-mixture": 404,
    "unknown-run": 404,
    "unknown-token": 404,
}
"""Codes of MixtureError that are not 422 (what was asked or sent can not be done) or, of stores, 503.

503 may pass by itself, and clients ask again: that a store is another one than the lock's does not.
"""


class Problem(HTTPException):
    """An answer that is not a success.

    code:   a stable kebab-case word; `CODES` has one for each status
    hint:   what would be right
    errors: single faults, each `{detail, in, pointer, code, line, column, hint}` as far as known: the first are listed
    num_errors: how many there are, where `errors` does not have all of them
    facts:  figures and names that the detail is made of, plain JSON
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        errors: Sequence[Mapping[str, object]] = (),
        num_errors: int | None = None,
        facts: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code or CODES.get(status, "http-error")
        self.hint = hint
        self.errors = tuple(errors[:MOST_ERRORS])
        self.more_errors = (len(errors) if num_errors is None else num_errors) - len(self.errors)
        self.facts = facts or {}


class FieldError(BaseModel):
    """One fault. `pointer` is a JSON Pointer into the body, or into the path's, query's or header's parameters."""

    detail: str = Field(examples=["must be a finite number"])
    in_: str | None = Field(None, alias="in", examples=["body"], description="body, query, path, header or file")
    pointer: str | None = Field(None, examples=["/loss/web"])
    code: str | None = Field(None, examples=["finite_number"])
    line: int | None = Field(None, examples=[14])
    column: int | None = Field(None, examples=[7])
    hint: str | None = Field(None, examples=["did you mean 'code'?"])


class ProblemBody(BaseModel):
    """A problem as RFC 9457 has it, with our code."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(examples=["urn:mixture:invalid-request"])
    title: str = Field(examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    code: str = Field(examples=["invalid-request"], description="Stable; also in the header X-Error-Code.")
    detail: str = Field(examples=["body /loss/web: must be a finite number"])
    instance: str = Field(examples=["/v1/runs/r1/progress"])
    trace_id: str | None = Field(None, examples=["0f3a9c2b7d5e4f60"])
    hint: str | None = Field(None, examples=["a finite number is right here"])
    errors: list[FieldError] | None = Field(None, max_length=MOST_ERRORS)
    more_errors: int | None = Field(None, examples=[None], description="Faults that `errors` does not list.")
    facts: dict[str, Any] | None = Field(None, examples=[{"name": "cod"}])


def title_of(status: int) -> str:
    """The name of a status: RFC 9110's, whatever this Python still calls it."""
    return {413: "Content Too Large", 422: "Unprocessable Content"}.get(status) or HTTPStatus(status).phrase


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route: these statuses are problems."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {"description": title_of(status), "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses
    }


def problem_of(error: MixtureError, *, status: int | None = None) -> Problem:
    """The problem that a library's error is: 422 unless its code or kind says otherwise."""
    if status is None:
        status = STATUS_OF_CODE.get(error.code, 503 if isinstance(error, StoreError) else 422)
    singles: Sequence[Any] = getattr(error, "errors", ()) or error.facts.get("findings", ())  # type: ignore[assignment]
    return Problem(
        status,
        error.message,
        code=error.code,
        hint=error.hint,
        errors=[_single(one) for one in singles[:MOST_ERRORS] or ([error] if error.place else [])],
        num_errors=len(singles) or None,
        facts=_plain(error.facts),
        headers={"Retry-After": "5"} if error.code == "busy" else None,
    )


def _single(fault: MixtureError | Finding) -> dict[str, object]:
    found: dict[str, object] = {"detail": fault.message, "code": str(fault.code), "hint": fault.hint}
    if fault.place is not None:
        # The name of a file says where to look; the folders that it lies in are the server's own.
        name = None if fault.place.file is None else PurePath(fault.place.file).name
        found |= {"in": name, "pointer": fault.place.path, "line": fault.place.line, "column": fault.place.column}
    return {key: value for key, value in found.items() if value not in (None, "")}


def _plain(facts: Mapping[str, object]) -> dict[str, object]:
    """The facts that are plain figures and names."""
    plain: dict[str, object] = {}
    for name, value in facts.items():
        try:
            plain[name] = json_value(value)
        except TypeError:
            continue
    return plain


def problem_response(problem: Problem, *, instance: str, trace_id: str | None) -> Response:
    """The answer that a problem is."""
    status = problem.status_code
    body: dict[str, object] = {
        "type": f"urn:mixture:{problem.code}",
        "title": title_of(status),
        "status": status,
        "code": problem.code,
        "detail": problem.detail,
        "instance": instance,
        "trace_id": trace_id,
        "hint": problem.hint,
        "errors": list(problem.errors) or None,
        "more_errors": problem.more_errors or None,
        "facts": problem.facts or None,
    }
    shown = {name: _bounded(value) for name, value in body.items() if value is not None}
    # What a request holds may be half of a character; escaped, it is JSON all the same.
    content = json.dumps(shown, ensure_ascii=True, allow_nan=False).encode()
    headers = {**(problem.headers or {}), CODE_HEADER: problem.code, "Cache-Control": "no-store"}
    return Response(content, status, headers, MEDIA_TYPE)


def _bounded(value: object) -> object:
    """A value whose texts are cut where they are too long."""
    match value:
        case str() if len(value) > LONGEST_TEXT:
            return f"{value[:LONGEST_TEXT]}…"
        case Mapping():
            return {_bounded(name): _bounded(part) for name, part in value.items()}
        case list() | tuple():
            return [_bounded(part) for part in value]
        case _:
            return value


def answer(request: Request, problem: Problem) -> Response:
    """The answer to this request that a problem is."""
    state = request.scope.get("state", {})
    made = problem_response(
        problem, instance=state.get("asked_path", request.scope["path"]), trace_id=state.get("trace_id")
    )
    shown: Shown = request.app.state.problem_page
    return shown(request, problem, made)


Shown = Callable[[Request, Problem, Response], Response]
"""Gives the answer that a problem is another form, for those who asked for one."""


def install(app: FastAPI, *, page: Shown) -> None:
    """Make problems of everything that routes raise; page: shows them to people."""
    app.state.outages = {}
    app.state.problem_page = page
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(MixtureError, _on_mixture)
    app.add_exception_handler(OSError, _on_system)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, Problem):
        return answer(request, error)
    detail = {404: "there is nothing at this address", 405: f"{request.method} is not for this address"}
    text, headers = detail.get(error.status_code, str(error.detail)), dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(
            sorted(_methods(request) | set(filter(None, headers.get("Allow", "").split(", "))))
        )
    hint = None
    if error.status_code == HTTPStatus.NOT_FOUND:
        every = (request.app.openapi()["paths"], request.app.state.page_paths())
        path = own_path(request.scope)
        near = nearest_address(path, [*chain(*every), "/docs", "/openapi.json"])
        hint = near and f"did you mean '{request.scope['path'].removesuffix(path)}{near}'?"
    return answer(request, Problem(error.status_code, text, hint=hint, headers=headers))


def _methods(request: Request) -> set[str]:
    """All methods of an address: the router only names those of the first route that it found there."""
    described: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    there = (own for path, own in described.items() if compile_path(path)[0].match(own_path(request.scope)))
    methods = {method.upper() for own in there for method in own}
    return methods | ({"HEAD"} if "GET" in methods else set())


async def _on_mixture(request: Request, error: Exception) -> Response:
    assert isinstance(error, MixtureError)
    problem = problem_of(error)
    if problem.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log_outage(request, error)
    return answer(request, problem)


async def _on_system(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    if error.errno not in NO_ROOM:
        raise error
    outage = MixtureError(f"the service has no room for this now: {error.strerror}", code="unavailable")
    _log_outage(request, outage)
    return answer(request, Problem(503, outage.message, code=outage.code, headers={"Retry-After": "5"}))


def _log_outage(request: Request, error: MixtureError) -> None:
    """One line in so many seconds for each code: an outage meets every request, and its cause is no fault of ours."""
    outages: dict[str, float] = request.app.state.outages
    now = time.monotonic()
    if now >= outages.get(error.code, now):
        outages[error.code] = now + OUTAGE_SECONDS
        logger.error("%s %s: %s: %s", request.method, request.url.path, error.code, error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = error.errors()
    num_errors = error.num_errors if isinstance(error, InvalidBodyError) else len(errors)
    return answer(request, invalid([_in_words(one, request) for one in errors[:MOST_ERRORS]], num_errors))


def _in_words(fault: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
    """A fault that names a regular expression, with the description of the parameter in its place; of a field that is
    missing, with its description for a hint."""
    if fault["type"] not in ("string_pattern_mismatch", "missing"):
        return fault
    described = request.app.openapi()
    path = request.scope["route"].path_format
    methods = described["paths"].get(path) or request.app.state.page_paths().get(path, {})
    operation = methods.get(request.method.lower(), {})
    if fault["type"] == "missing":
        return {**fault, "hint": _field(described, operation, fault["loc"]).get("description")}
    names = {one["name"]: one.get("description") for one in operation.get("parameters", ())}
    words = names.get(fault["loc"][-1])
    return {**fault, "msg": f"has another form than expected: {words}" if words else "has another form than expected"}


def _field(described: Mapping[str, Any], operation: Mapping[str, Any], loc: Sequence[object]) -> Mapping[str, Any]:
    """The schema of a field of a request's body, as the description of the service has it; empty where it has none."""
    if len(loc) != 2 or loc[0] != "body" or "requestBody" not in operation:
        return {}
    schema = operation["requestBody"]["content"].get("application/json", {}).get("schema", {})
    own = described["components"]["schemas"].get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    found: Mapping[str, Any] = own.get("properties", {}).get(loc[1], {})
    return found


class InvalidBodyError(RequestValidationError):
    """A body is wrong in `num_errors` ways, the first of which are its errors."""

    def __init__(self, errors: Sequence[Mapping[str, Any]], num_errors: int) -> None:
        super().__init__(errors)
        self.num_errors = num_errors


def first_errors(error: ValidationError) -> list[dict[str, Any]]:
    """The first of pydantic's errors. All of them as Python's values take seconds for a body of a megabyte."""
    text = error.json(include_url=False, include_context=False, include_input=False)
    read, position, errors = json.JSONDecoder().raw_decode, 1, list[dict[str, Any]]()
    while len(errors) < MOST_ERRORS and position < len(text):
        value, end = read(text, position)
        errors.append(value)
        position = end + 1
    return errors


def invalid(errors: Sequence[Mapping[str, Any]], num_errors: int | None = None) -> Problem:
    """The problem of a request whose fields are wrong: pydantic's errors, each with a pointer to its field.

    num_errors: how many there are, where these are the first of them
    """
    found = []
    for error in errors:
        where, *path = error["loc"]
        if error["type"] == "json_invalid":
            found.append({"detail": f"not JSON: {error['ctx']['error']}", "in": "body", "code": "json_invalid"})
            continue
        pointer = "".join(f"/{pointer_token(part)}" for part in path)
        found.append({"detail": _plain_words(error["msg"]), "in": where, "pointer": pointer, "code": error["type"]})
        if error.get("hint"):
            found[-1]["hint"] = error["hint"]
    first = found[0]
    num_errors = num_errors or len(found)
    more = f", and {num_errors - 1:,} more" if num_errors > 1 else ""
    detail = f"{first['in']} {first.get('pointer', '')}".rstrip() + f": {first['detail']}{more}"
    return Problem(422, detail, hint=first.get("hint"), errors=found, num_errors=num_errors)


_WORDS = (
    (r"Input should be a valid integer.*", "must be an integer"),
    (r"Input should be a valid number.*", "must be a number"),
    (r"Input should be a valid boolean.*", "must be true or false"),
    (r"Input should be a valid string", "must be a text"),
    (r"Input should be a valid (?:list|tuple)", "must be a list"),
    (r"Input should be (?:a valid dictionary|an object).*", "must be an object"),
    (r"Input should be a finite number", "must be a finite number"),
    (r"Input should be greater than or equal to (.+)", r"must be at least \1"),
    (r"Input should be less than or equal to (.+)", r"must be at most \1"),
    (r"Input should be (greater|less) than (.+)", r"must be \1 than \2"),
    (r"Input should be ('.+)", r"expected one of: \1"),
    (r"String should have at (least|most) (\d+) (characters?)", r"must be at \1 \2 \3"),
    (r"(?:List|Dictionary|Tuple|Set) should have at (least|most) (\d+ items?) after validation, not (.+)",
     r"must have at \1 \2, and has \3"),
    (r"Value should have at (least|most) (\d+) items? after validation, not (.+)",
     r"must have a length of at \1 \2, not \3"),
    (r"Field required", "is missing"),
    (r"Extra inputs are not permitted", "unknown key"),
    (r"Value error, (.+)", r"\1"),
)  # fmt: skip
"""Messages of pydantic, and how this service words them."""


def _plain_words(message: str) -> str:
    for pattern, words in _WORDS:
        match = re.fullmatch(pattern, message, re.DOTALL)
        if match is not None:
            return match.expand(words)
    return message


def pointer_token(part: object) -> str:
    """A name or number as a part of a JSON Pointer (RFC 6901)."""
    return str(part).replace("~", "~0").replace("/", "~1")
