"""Parameters of queries: names that an operation does not have, names said twice, and values that are wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import BeforeValidator, Field
from starlette.datastructures import QueryParams

from mixture.api.answers.lists import LARGEST_NUMBER
from mixture.api.middleware import Problem, pointer_token
from mixture.errors import nearest

LONGEST_SHOWN, MOST_NAMES = 100, 20


def wrong_query(name: str, detail: str, code: str, *, hint: str | None = None, **facts: object) -> Problem:
    """The problem 422 of one parameter, with a pointer to it."""
    errors = [{"in": "query", "pointer": f"/{pointer_token(name)}", "detail": detail}]
    return Problem(422, detail, code=code, hint=hint, errors=errors, facts=facts)


def check_step(step: int, steps: int, *, name: str = "step", where: str = "query") -> None:
    """Raise Problem 422, `step-out-of-range`, for a step that a run of so many steps has not."""
    if step >= steps:
        detail, hint = f"step {step:,} is not in a run of {steps:,} steps", f"steps are 0 to {steps - 1:,}"
        errors = [{"in": where, "pointer": f"/{name}", "detail": detail}]
        facts = {"step": step, "steps": steps}
        raise Problem(422, detail, code="step-out-of-range", hint=hint, errors=errors, facts=facts)


async def _known_names(request: Request) -> None:
    """Refuse parameters that the description of the operation, or page, does not have: `?stpe=5` is no request for
    everything.

    And those that stand twice and are no lists: of `?step=1&step=2`, nobody can tell which is meant; and whole numbers
    that are not digits: `1_000`, `1.0`. What programs ask with parameters of their own (figures for Prometheus, files
    that pages load) is as it is whatever is asked.

    Raises Problem 422: `unknown-parameter`, with the name that is nearest; `invalid-request`.
    """
    if not request.query_params and not request.path_params:
        return
    operation = _operation(request)
    if operation is None or operation.get("tags") in FREE:
        return
    described = {(one["in"], one["name"]): one["schema"] for one in operation.get("parameters", ())}
    if not operation.get(OWN_NAMES):
        check_names(
            request.query_params, {name: schema for (where, name), schema in described.items() if where == "query"}
        )
    said = [("query", name, text) for name, text in request.query_params.multi_items()]
    said += [("path", name, text) for name, text in request.path_params.items() if isinstance(text, str)]
    said += [
        (where, name, request.headers[name])
        for where, name in described
        if where == "header" and name in request.headers
    ]
    for where, name, text in said:
        if not text and operation.get("tags") == PAGES:
            continue  # a form sends fields that were left empty
        if _holds(described.get((where, name), {}), "integer") and not DIGITS.fullmatch(text):
            errors = [{"in": where, "pointer": f"/{name}", "detail": NOT_DIGITS, "code": "int_parsing"}]
            several = _several(name, text) if _holds(described[where, name], "array") else None
            raise Problem(422, f"{where} /{name}: {NOT_DIGITS}", hint=several, errors=errors)


FREE = (["service"], ["assets"])
PAGES = ["pages"]
"""Tags of operations."""
OWN_NAMES = "x-own-names"
"""Of an operation that checks the names of its parameters itself, since they depend on the mixture."""


def _operation(request: Request) -> Mapping[str, Any] | None:
    """The description of what a request is for: an operation, or a page; None for what is not described."""
    path, method = request.scope["route"].path_format, request.method.lower()
    every = (request.app.openapi()["paths"], request.app.state.page_paths())
    return next((paths[path][method] for paths in every if method in paths.get(path, {})), None)


def check_names(given: QueryParams, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise Problem 422 for a parameter that is not known, `unknown-parameter`, or given twice, `invalid-request`.

    known: the JSON Schema of each parameter
    """
    for name, times in Counter(name for name, _ in given.multi_items()).items():
        if name not in known:
            shown = name[:LONGEST_SHOWN]
            hint = nearest(shown, known) or (
                f"its parameters: {', '.join(list(known)[:MOST_NAMES])}" if known else "it has none"
            )
            detail = f"there is no parameter {shown!r} here"
            raise wrong_query(shown, detail, "unknown-parameter", hint=hint, parameter=shown)
        if times > 1 and not _holds(known[name], "array"):
            detail = f"the parameter {name!r} is given more than once, and takes one value"
            raise wrong_query(name, detail, "invalid-request", parameter=name)


DIGITS = re.compile(r"-?[0-9]+", re.ASCII)
NOT_DIGITS = "must be an integer, in digits"


def _holds(schema: Mapping[str, Any], kind: str) -> bool:
    """Whether values of a type are among those of a schema, or of its items."""
    parts = (schema, *schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ()))
    return any(part.get("type") == kind or (part is not schema and _holds(part, kind)) for part in parts)


def _several(name: str, text: str) -> str | None:
    """How a list is written whose items stand between commas."""
    parts = text.split(",")
    return "&".join(f"{name}={part}" for part in parts) if all(map(DIGITS.fullmatch, parts)) else None


KnownNames = Depends(_known_names)
"""For the application's `dependencies`: operations and pages refuse parameters that they do not have, or have once."""

_EMPTY = BeforeValidator(lambda text: text or None)
FormNumber = Annotated[Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] | None, _EMPTY, Query()]
"""A number of a form, from 0; None where its field was left empty."""
FormCount = Annotated[Annotated[int, Field(ge=1, le=LARGEST_NUMBER)] | None, _EMPTY, Query()]
"""The same, from 1."""
