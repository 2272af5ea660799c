"""Documents that an amendment takes down, found in the store that holds the text of the new lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mixture.api.dependencies.services import Services
from mixture.api.middleware import Problem
from mixture.api.texts import reading_store
from mixture.lock import Lock, Mask, MaskLine
from mixture.planning.plan import with_masks
from mixture.stream import masks_of_lines


def masks_of_documents(services: Services, documents: Mapping[int, Sequence[MaskLine]], lock: Lock) -> Iterator[Mask]:
    """The masks that take documents down beside a lock's own; `documents`: by the step from which on.

    Raises Problem 422 `store-missing`, where no store here has the text, and as `masks_of_lines`.
    """
    if not documents:
        return
    store = services.stores.of(lock)
    if store is None:
        detail = "this service has no store of this mixture's text: which tokens a document has can not be said"
        raise Problem(422, detail, code="store-missing", hint="say domain, first_token and tokens")
    for first_step, lines in sorted(documents.items()):
        with reading_store():
            found = masks_of_lines(store, lines, first_step, lock)
        yield from found
        lock = with_masks(lock, found)
