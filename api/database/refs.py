"""How the repository is asked for a mixture: `name`, `name@sha256:HEX`, or `sha256:HEX` alone."""

from __future__ import annotations

import re

from mixture.api.database.errors import RepositoryError
from mixture.api.refs import DIGEST_PATTERN, Ref, is_name, parse_ref

_HASH = "sha256:"
_DIGEST = re.compile(f"{_HASH}({DIGEST_PATTERN})")


def check_name(name: str) -> None:
    """Raise RepositoryError, `name-invalid`, where no mixture may have this name (see `mixture.api.refs`)."""
    if not is_name(name):
        raise RepositoryError(
            f"{name[:100]!r} can not be the name of a mixture",
            code="name-invalid",
            hint="up to 100 letters, digits, '.', '_' and '-', a letter or digit first, no ending such as .json",
        )


def read_digest(text: str) -> str | None:
    """The hex of `sha256:HEX`; None for what is something else."""
    found = _DIGEST.fullmatch(text)
    return None if found is None else found[1]


def write_digest(digest: str) -> str:
    """`sha256:HEX`."""
    return f"{_HASH}{digest}"


def read_ref(text: str) -> Ref | str:
    """A reference by name, or the hex of a digest alone. Raises RepositoryError, `ref-invalid`."""
    ref = read_digest(text) or parse_ref(text)
    if ref is None:
        raise RepositoryError(
            f"{text[:200]!r} does not say which mixture",
            code="ref-invalid",
            hint="NAME, NAME@sha256:HEX with 64 digits, or sha256:HEX is right",
        )
    return ref
