"""Parameters of queries that are wrong for what they are asked of, such as a step behind the run's end."""

from __future__ import annotations

from api.problems import Problem


def wrong_query(name: str, detail: str, code: str, *, hint: str | None = None, **facts: object) -> Problem:
    """The problem 422 of one parameter, with a pointer to it."""
    errors = [{"in": "query", "pointer": f"/{name}", "detail": detail}]
    return Problem(422, detail, code=code, hint=hint, errors=errors, facts=facts)
