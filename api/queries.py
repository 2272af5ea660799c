"""Parameters of queries: names that an operation does not have, names said twice, and values that are wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from fastapi import Depends, Request

from api.problems import Problem, pointer_token
from mixture.errors import nearest

LONGEST_SHOWN = 100


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
    """Refuse parameters that the description of the operation does not have: `?stpe=5` is no request for everything.

    And those that stand twice and are no lists: of `?step=1&step=2`, nobody can tell which is meant; and whole numbers
    that are not digits: `1_000`, `1.0`. What is not described (pages, figures for Prometheus) has no parameters, and is
    as it is whatever is asked.

    Raises Problem 422: `unknown-parameter`, with the name that is nearest; `invalid-request`.
    """
    if not request.query_params and not request.path_params:
        return
    operation = request.app.openapi()["paths"].get(request.scope["route"].path_format, {}).get(request.method.lower())
    if operation is None or operation.get("tags") == ["service"]:
        return
    described = {(one["in"], one["name"]): one["schema"] for one in operation.get("parameters", ())}
    known = {name: schema for (where, name), schema in described.items() if where == "query"}
    for name in request.query_params:
        _check_known(name, known)
        if len(request.query_params.getlist(name)) > 1 and not _holds(known[name], "array"):
            detail = f"the parameter {name!r} stands more than once, and has one value"
            raise wrong_query(name, detail, "invalid-request", parameter=name)
    said = [("query", name, text) for name, text in request.query_params.multi_items()]
    said += [("path", name, text) for name, text in request.path_params.items() if isinstance(text, str)]
    said += [
        (where, name, request.headers[name])
        for where, name in described
        if where == "header" and name in request.headers
    ]
    for where, name, text in said:
        if _holds(described.get((where, name), {}), "integer") and not DIGITS.fullmatch(text):
            errors = [{"in": where, "pointer": f"/{name}", "detail": NOT_DIGITS, "code": "int_parsing"}]
            several = _several(name, text) if _holds(described[where, name], "array") else None
            raise Problem(422, f"{where} /{name}: {NOT_DIGITS}", hint=several, errors=errors)


def _check_known(name: str, known: Collection[str]) -> None:
    if name not in known:
        shown = name[:LONGEST_SHOWN]
        hint = nearest(shown, known) or (f"its parameters: {', '.join(known)}" if known else "it has none")
        detail = f"there is no parameter {shown!r} here"
        raise wrong_query(shown, detail, "unknown-parameter", hint=hint, parameter=shown)


async def _fields_of_page(request: Request) -> None:
    """The same of a page, which no description has: its parameters are those that its function takes."""
    known = [one.alias for one in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        _check_known(name, known)


DIGITS = re.compile(r"-?[0-9]+", re.ASCII)
NOT_DIGITS = "a whole number is right here, in digits"


def _holds(schema: Mapping[str, Any], kind: str) -> bool:
    """Whether values of a type are among those of a schema, or of its items."""
    parts = (schema, *schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ()))
    return any(one.get("type") == kind or (one is not schema and _holds(one, kind)) for one in parts)


def _several(name: str, text: str) -> str | None:
    """How a list is written whose items stand between commas."""
    parts = text.split(",")
    return "&".join(f"{name}={part}" for part in parts) if all(map(DIGITS.fullmatch, parts)) else None


PageFields = Depends(_fields_of_page)
"""For a page's `dependencies`: it refuses parameters that it does not have."""
KnownNames = Depends(_known_names)
"""For the application's `dependencies`: every operation refuses parameters that it does not have, or has once."""
