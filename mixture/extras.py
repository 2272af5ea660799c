"""Packages that a plain installation leaves out, because few need them: each belongs to an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mixture.errors import MixtureError

DISTRIBUTION = "mixture-lock"
"""What package indexes call this library: `mixture` is the name of another distribution there."""


def install_hint(name: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{name}]'"


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports of what an extra brings. Raises MixtureError, `extra-missing`, where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MixtureError(
            f"this needs the package {error.name!r}, which is not installed",
            code="extra-missing",
            hint=install_hint(name),
        ) from error
