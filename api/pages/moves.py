"""What a name leads to and led to before, as pages list it."""

from __future__ import annotations

from mixture.api.database import RepositoryError
from mixture.api.dependencies import Services
from mixture.api.pages.catalog.provenance import MoveView


def moves_of(services: Services, name: str, *, most: int) -> tuple[MoveView, ...]:
    """The last `most` that a name was moved to, the newest first; none where nobody can say it now."""
    try:
        kept = services.repository.name_history(name, limit=1000)
    except RepositoryError:
        return ()
    return tuple(MoveView(digest=one.to_digest, at=one.at, by=one.by) for one in reversed(kept))[:most]
