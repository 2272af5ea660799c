"""The lineage of a mixture, with what the service knows of the locks that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mixture.api.database import Move
from mixture.api.dependencies.services import Services
from mixture.api.registry import LoadedMixture
from mixture.lock import lineage_of
from mixture.planning.explain import Explanation, explain

MOST_ANCESTORS = 8
"""Of those that are here, the nearest, that a lock is compared with."""
MOST_MOVES = 1000
"""Of the name, the last, that are looked through for who amended and when."""


@dataclass(frozen=True, slots=True)
class KnownLineage:
    """A lock explained, and by digest the references of its ancestors that are here, and when its name came to be it.

    published: the first time that the mixture's name led to a lock of the lineage, and by whom
    """

    explanation: Explanation
    refs: Mapping[str, str]
    published: Mapping[str, Move]


def lineage_known(services: Services, mixture: LoadedMixture) -> KnownLineage:
    """The lineage of a mixture, explained once. The lock of an ancestor that is here says where the two really part."""
    line = lineage_of(mixture.lock)
    refs = services.repository.refs({one.lock for one in line}) if line else {}
    near = tuple(one.lock for one in line[-MOST_ANCESTORS:] if one.lock in refs)

    def make() -> Explanation:
        ancestors = (services.held(digest) for digest in near)
        return explain(mixture.lock, ancestors=[ancestor.lock for ancestor in ancestors if ancestor is not None])

    moves = services.repository.last_moves(mixture.name, limit=MOST_MOVES) if line else []
    made = {mixture.digest, *(one.lock for one in line)}
    published = {move.to_digest: move for move in moves if move.to_digest in made}  # the newest first: the oldest stays
    return KnownLineage(services.lineages.get((mixture.digest, near), make), refs, published)
