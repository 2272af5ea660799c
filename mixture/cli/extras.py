"""Commands of the service need packages that `pip install mixture` leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mixture.errors import MixtureError


@contextmanager
def api_extra() -> Iterator[None]:
    """Around imports of `api`. Raises MixtureError `extra-missing` where what it needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MixtureError(
            f"this command needs the package {error.name!r}, which is not installed",
            code="extra-missing",
            hint="pip install 'mixture[api]'",
        ) from error
