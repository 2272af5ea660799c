"""The first page: what mixtures and runs there are."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
from pydantic import BaseModel, ConfigDict


class MixtureLine(BaseModel):
    """A mixture in the list."""

    model_config = ConfigDict(frozen=True)

    name: str
    digest: str
    tokens: int
    steps: int
    domains: int


class RunLine(BaseModel):
    """A run in the list, the last registered first; mixture: the reference that it was registered with."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    mixture: str
    registered: datetime


class IndexView(BaseModel):
    """Mixtures in order of name; next: the cursor of the page behind this one, or None."""

    model_config = ConfigDict(frozen=True)

    mixtures: tuple[MixtureLine, ...]
    runs: tuple[RunLine, ...] = ()
    next: str | None = None

    def table(self) -> pa.Table:
        """One row a mixture."""
        types = {"name": pa.string(), "digest": pa.string(), "tokens": pa.int64(), "steps": pa.int64()}
        schema = pa.schema([*types.items(), ("domains", pa.int64())])
        return pa.Table.from_pylist([one.model_dump() for one in self.mixtures], schema=schema)
