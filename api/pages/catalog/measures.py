"""What a catalog's map shows of its cells: a measure's figures as text and colours, and what they say in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mixture.api.figures import Figures
from mixture.api.pages.catalog.colours import WITHOUT_CAP, level_of, most_of
from mixture.api.pages.catalog.order import Measure, figure_of
from mixture.api.pages.figures import epochs, percent, times, tokens

if TYPE_CHECKING:
    from mixture.api.pages.catalog.page import CatalogView, CellView, RowView

LABELS = {
    Measure.SHARE: "Share",
    Measure.ENRICHMENT: "Enrichment",
    Measure.TOKENS: "Tokens",
    Measure.WEIGHT: "Weight",
    Measure.EPOCHS: "Epochs",
}
_WRITTEN: dict[Measure, Callable[[Any], str]] = {
    Measure.SHARE: percent,
    Measure.ENRICHMENT: times,
    Measure.TOKENS: tokens,
    Measure.WEIGHT: percent,
    Measure.EPOCHS: epochs,
}
_ROOT = "The colour follows the square root of the figure."


def figure_text(figures: Figures, measure: Measure) -> str:
    """A figure as pages print it."""
    return _WRITTEN[measure](figure_of(figures, measure))


def ramp_of(measure: Measure) -> str:
    """The classes of colours: `d` to two sides, else `r`."""
    return "d" if measure is Measure.ENRICHMENT else "r"


def coloured(rows: Sequence[RowView], measure: Measure) -> Iterator[RowView]:
    """The rows with the colours of the measure in their cells."""
    most = most_of(list(_cells(rows)), measure)

    def painted(cell: CellView | None) -> CellView | None:
        return None if cell is None else cell.model_copy(update={"level": level_of(cell, measure, most)})

    for row in rows:
        yield row.model_copy(update={"cells": tuple(map(painted, row.cells))})


def caption_of(view: CatalogView, measure: Measure) -> str:
    """What the map shows, and what its colours say."""
    assert view.axes is not None
    of_plan = measure in (Measure.WEIGHT, Measure.EPOCHS)
    stretch = f" in the phase {view.stretch}" if view.stretch and of_plan else ""
    heading = f"{LABELS[measure]}{stretch} by {view.axes[0]} and {view.axes[1]}."
    cells = list(_cells(view.rows))
    if measure is Measure.ENRICHMENT:
        said = (
            "Blue: the two come together more often than each by itself; brown: less often; above 4 and below ¼ the "
            "strongest."
        )
    elif measure is Measure.EPOCHS:
        said = f"{_ROOT} {_epochs_said(cells)}"
    else:
        said = _ROOT
    return f"{heading} {said}" if cells else heading


def _epochs_said(cells: Sequence[CellView]) -> str:
    """What the colours of epochs go up to: each cell's own cap, which is of the whole run whatever phase is shown,
    or the largest figure where all are far below."""
    caps = {cell.cap for cell in cells}
    without = f"{epochs(WITHOUT_CAP)} epochs"
    most = most_of(cells, Measure.EPOCHS)
    if most is not None:
        why = "there is no cap" if caps == {None} else "none is above a tenth of what may be read in the whole run"
        said = f"It is strongest at the largest figure, {epochs(most)} epochs: {why}."
    elif caps == {None}:
        said = f"There is no cap; it is strongest from {without} on."
    elif len(caps) == 1:
        said = f"It is strongest at what may be read in the whole run, {epochs(caps.pop())} epochs."
    else:
        other = f"; at {without} where there is no cap" if None in caps else ""
        said = f"It is strongest at what may be read of each cell in the whole run{other}."
    return f"{said} “!” is read more often over the run than it may be." if any(cell.over for cell in cells) else said


def every_measure(view: CatalogView) -> str:
    """All measures of the map as JSON, for a script where no service can be asked; it may stand in HTML.

    By measure: `caption`, `ramp`, and for each row its cells and its total, then `all`: `[text, value, colour, over]`,
    null where there is no cell. Values have five digits: enough to sort by.
    """
    made = {measure.value: _measured(view, measure) for measure in Measure}
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _measured(view: CatalogView, measure: Measure) -> dict[str, object]:
    def written(figures: Figures | None, level: int | None = None) -> list[object] | None:
        if figures is None:
            return None
        value = figure_of(figures, measure)
        said: list[object] = [figure_text(figures, measure), None if value is None else float(f"{value:.5g}")]
        is_over = measure is Measure.EPOCHS and figures.over
        return said if level is None else [*said, level, 1] if is_over else [*said, level]

    rows = [
        [*(written(cell, None if cell is None else cell.level) for cell in row.cells), written(row.total)]
        for row in coloured(view.rows, measure)
    ]
    whole = [*(written(column.total) for column in view.columns), written(view.whole)]
    return {"caption": caption_of(view, measure), "ramp": ramp_of(measure), "rows": rows, "all": whole}


def _cells(rows: Sequence[RowView]) -> Iterator[CellView]:
    return (cell for row in rows for cell in row.cells if cell is not None)
