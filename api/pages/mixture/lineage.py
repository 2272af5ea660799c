"""The lineage on a mixture's page: what each amendment did, in words, and whose checkpoints go on under the lock."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from mixture.api.dependencies import KnownLineage
from mixture.api.registry import LoadedMixture
from mixture.planning.explain import amendment_words, explain

MOST_AMENDMENTS = 20
"""That the page lists, the last; /v1 has all of them."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class AmendmentView(_Frozen):
    """An amendment: its step, the lock that it amended and, where that is here, its reference; what it did, in words.

    by, at: who published what came of it, and when; None where that is not known, and `by` where a folder became it
    first_shown: the step as the page of steps has it, None where the run has no such step
    """

    number: int
    step: int
    amended: str
    ref: str | None
    by: str | None
    at: datetime | None
    first_shown: int | None
    is_void: bool
    words: tuple[str, ...]


class ResumableView(_Frozen):
    """Whose checkpoints go on, and up to which step; `ref` where the lock is here."""

    digest: str
    ref: str | None
    up_to_step: int
    is_own: bool


class LineageView(_Frozen):
    """Where a mixture came from. count: of all amendments, of which the last are listed, the newest first."""

    count: int
    amendments: tuple[AmendmentView, ...]
    resumable: tuple[ResumableView, ...]


def lineage_view(mixture: LoadedMixture, known: KnownLineage | None = None) -> LineageView | None:
    """The lineage of a mixture; None of one that amends nothing. known: with what a service knows of its ancestors."""
    if mixture.lock.amends is None:
        return None
    refs = {} if known is None else known.refs
    published = {} if known is None else known.published
    found = explain(mixture.lock) if known is None else known.explanation
    return LineageView(
        count=len(found.amendments),
        amendments=tuple(
            AmendmentView(
                number=one.number,
                step=one.step,
                amended=one.amended,
                ref=refs.get(one.amended),
                by=published[one.made].by if one.made in published else None,
                at=published[one.made].at if one.made in published else None,
                first_shown=one.step if one.step < found.steps else None,
                is_void=one.is_void,
                words=tuple(amendment_words(one, str)),
            )
            for one in reversed(found.amendments[-MOST_AMENDMENTS:])
        ),
        resumable=tuple(
            ResumableView(digest=one.lock, ref=refs.get(one.lock), up_to_step=one.up_to_step, is_own=one.is_own)
            for one in reversed(found.resumable[-MOST_AMENDMENTS - 1 :])
        ),
    )
