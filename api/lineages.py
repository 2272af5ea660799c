"""The lineage of a mixture, with what the service knows of the locks that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.library import LoadedMixture
from api.services import Services
from mixture.plan import Explanation, explain, lineage_of

MOST_ANCESTORS = 8
"""Of those that are here, the nearest, that a lock is compared with."""


@dataclass(frozen=True, slots=True)
class KnownLineage:
    """A lock explained, and the references of its ancestors that are here, by digest."""

    explanation: Explanation
    refs: Mapping[str, str]


def lineage_known(services: Services, mixture: LoadedMixture) -> KnownLineage:
    """The lineage of a mixture, explained once. The lock of an ancestor that is here says where the two really part."""
    line = lineage_of(mixture.lock)
    refs = services.repository.refs({one.lock for one in line}) if line else {}
    near = tuple(one.lock for one in line[-MOST_ANCESTORS:] if one.lock in refs)

    def make() -> Explanation:
        ancestors = (services.held(digest) for digest in near)
        return explain(mixture.lock, ancestors=[one.lock for one in ancestors if one is not None])

    return KnownLineage(services.lineages.get((mixture.digest, near), make), refs)
