"""How a catalog was made: method, tokenizer, digests, dates, sources, quality; and what its name pointed to before."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from mixture.planning.catalog import Overview, OverviewMade, OverviewQuality


class MoveView(BaseModel):
    """From then on the name pointed to this lock; `at` and `by` are None for a built-in mixture."""

    model_config = ConfigDict(frozen=True)

    digest: str
    at: datetime | None
    by: str | None


class MadeView(BaseModel):
    """What is known of it; store: the digest of what the store holds, None where there is none."""

    model_config = ConfigDict(frozen=True)

    lock: str
    catalog: str
    store: str | None
    tokenizers: tuple[str, ...]
    made: OverviewMade | None
    quality: OverviewQuality | None
    moves: tuple[MoveView, ...]


def made_view(
    *,
    lock: str,
    catalog: str,
    store: str | None,
    tokenizers: tuple[str, ...],
    overview: Overview | None,
    moves: tuple[MoveView, ...],
) -> MadeView:
    """How a catalog was made, as its overview says."""
    return MadeView(
        lock=lock,
        catalog=catalog,
        store=store,
        tokenizers=tokenizers,
        made=None if overview is None else overview.made,
        quality=None if overview is None else overview.quality,
        moves=moves,
    )
