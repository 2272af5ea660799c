"""Parameters of queries: names that an operation does not have, names said twice, and values that are wrong."""

from __future__ import annotations

from collections.abc import Mapping
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
        detail, hint = f"step {step} is not in a run of {steps} steps", f"steps are 0 to {steps - 1}"
        errors = [{"in": where, "pointer": f"/{name}", "detail": detail}]
        facts = {"step": step, "steps": steps}
        raise Problem(422, detail, code="step-out-of-range", hint=hint, errors=errors, facts=facts)


async def _known_names(request: Request) -> None:
    """Refuse parameters that the description of the operation does not have: `?stpe=5` is no request for everything.

    And those that stand twice and are no lists: of `?step=1&step=2`, nobody can tell which is meant. What is not
    described (pages, figures for Prometheus) has no parameters, and is as it is whatever is asked.

    Raises Problem 422: `unknown-parameter`, with the name that is nearest; `invalid-request`.
    """
    if not request.query_params:
        return
    operation = request.app.openapi()["paths"].get(request.scope["route"].path, {}).get(request.method.lower())
    if operation is None or operation.get("tags") == ["service"]:
        return
    known = {one["name"]: one["schema"] for one in operation.get("parameters", ()) if one["in"] == "query"}
    for name in request.query_params:
        if name not in known:
            shown = name[:LONGEST_SHOWN]
            hint = nearest(shown, known) or (f"its parameters: {', '.join(known)}" if known else "it has none")
            detail = f"there is no parameter {shown!r} here"
            raise wrong_query(shown, detail, "unknown-parameter", hint=hint, parameter=shown)
        if len(request.query_params.getlist(name)) > 1 and not _is_list(known[name]):
            detail = f"the parameter {name!r} stands more than once, and has one value"
            raise wrong_query(name, detail, "invalid-request", parameter=name)


def _is_list(schema: Mapping[str, Any]) -> bool:
    return any(one.get("type") == "array" for one in (schema, *schema.get("anyOf", ())))


KnownNames = Depends(_known_names)
"""For the application's `dependencies`: every operation refuses parameters that it does not have, or has once."""
