"""The colours of a catalog's cells: a ramp from 0 to the most, two sides around 1, or a ramp up to the cap.

Colour never stands alone: the figure is in the cell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import isqrt

from mixture.api.figures import Figures
from mixture.api.pages.catalog.order import Measure, figure_of

STEPS = 10
"""The ramp has colours 0 to 10."""
ENRICHED = (1 / 4, 1 / 2, 4 / 5, 5 / 4, 2.0, 4.0)
"""Where the seven colours around 1 begin: a quarter, a half, about one, twice, four times."""
WITHOUT_CAP = 4.0
"""Epochs that the ramp goes up to where there is no cap."""
FEW = 10
"""Where no cell has a tenth of its cap, the ramp goes up to the largest figure: else all cells would look alike."""


def most_of(cells: Sequence[Figures], measure: Measure) -> float | None:
    """The figure that the ramp goes up to; None: each cell has its own, its cap."""
    most = max((figure_of(cell, measure) or 0 for cell in cells), default=0)
    if measure is Measure.EPOCHS and any((cell.epochs or 0) * FEW > (cell.cap or WITHOUT_CAP) for cell in cells):
        return None
    return most


def level_of(figures: Figures, measure: Measure, most: float | None) -> int | None:
    """The colour of a measure. Figures lie orders of magnitude apart: the square root of their part of the most."""
    figure = figure_of(figures, measure)
    if figure is None:
        return None
    if measure is Measure.ENRICHMENT:
        return bisect_right(ENRICHED, figure)
    top = (figures.cap or WITHOUT_CAP) if most is None else most
    return min(STEPS, isqrt(int(STEPS * STEPS * figure / top))) if top else 0
