"""Errors in changes as a problem: each with the pointer to its place in the body."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mixture.api.middleware import Problem, pointer_token
from mixture.errors import SpecError
from mixture.planning.whatif import ChangesError

BODY_KEYS = {"weights": "shares"}
"""What the body of a request calls a key of changes."""


@contextmanager
def changes_refused() -> Iterator[None]:
    """Raise the ChangesError of the block as a Problem 422: the first error, with all as its `errors`."""
    try:
        yield
    except ChangesError as error:
        errors = [_field(single, path) for single, path in zip(error.errors, error.paths, strict=True)]
        raise Problem(
            422, error.message, code=error.code, hint=error.hint, errors=errors, num_errors=error.count
        ) from error


def _field(error: SpecError, path: tuple[str, ...]) -> dict[str, object]:
    fault = {"detail": error.message, "code": error.code, "hint": error.hint, "in": "body"}
    return {**{name: value for name, value in fault.items() if value}, "pointer": _pointer(path)}


def _pointer(path: tuple[str, ...]) -> str:
    """phases, NAME, and of a share its kind and name."""
    keys = (*path[:2], *(BODY_KEYS.get(key, key) for key in path[2:3]), *path[3:])
    return "".join(f"/{pointer_token(key)}" for key in keys)
