"""The first page: what mixtures and runs there are."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.names import DIGEST_MARK


class MixtureLine(BaseModel):
    """A mixture in the list. renamed_from: its own name, where another folder's mixture is shown under that"""

    model_config = ConfigDict(frozen=True)

    name: str
    digest: str
    tokens: int
    steps: int
    domains: int
    renamed_from: str | None = None


class RunLine(BaseModel):
    """A run in the list, the last registered first.

    mixture: the reference that it was registered with
    step:    how many are done, by its last report; reported: when that came, None where there is none
    steps:   of the whole run; None where its mixture is not kept
    """

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    mixture: str
    registered: datetime
    step: int
    steps: int | None
    reported: datetime | None

    @property
    def mixture_name(self) -> str:
        """The mixture's name without its digest."""
        return self.mixture.partition(DIGEST_MARK)[0]

    @property
    def done(self) -> float | None:
        """The share of the run that is done."""
        return self.step / self.steps if self.steps else None


class IndexView(BaseModel):
    """Mixtures in order of name; next: the cursor of the page behind this one, or None.

    runs: the last ones; None where they can not be read now
    """

    model_config = ConfigDict(frozen=True)

    mixtures: tuple[MixtureLine, ...]
    runs: tuple[RunLine, ...] | None = ()
    next: str | None = None

    def table(self) -> pa.Table:
        """One row a mixture."""
        types = {"name": pa.string(), "digest": pa.string(), "tokens": pa.int64(), "steps": pa.int64()}
        schema = pa.schema([*types.items(), ("domains", pa.int64())])
        return pa.Table.from_pylist([mixture.model_dump() for mixture in self.mixtures], schema=schema)
