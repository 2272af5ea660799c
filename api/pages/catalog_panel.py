"""The panel of one cell."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class PanelView(BaseModel):
    """The panel of a cell."""

    model_config = ConfigDict(frozen=True)

    key: str
