"""The colours of a catalog's cells: a ramp from 0 to the most, two sides around 1, or a ramp up to the cap.

Colour never stands alone: the figure is in the cell.
"""

from __future__ import annotations

from bisect import bisect_right
from math import isqrt

from api.catalog_figures import Figures
from api.pages.catalog_order import Measure, figure_of

STEPS = 10
"""The ramp has colours 0 to 10."""
ENRICHED = (1 / 4, 1 / 2, 4 / 5, 5 / 4, 2.0, 4.0)
"""Where the seven colours around 1 begin: a quarter, a half, about one, twice, four times."""
WITHOUT_CAP = 4.0
"""Epochs that the ramp goes up to where there is no cap."""


def level_of(one: Figures, measure: Measure, most: float) -> int | None:
    """The colour of a measure, by the square root of its part of the most: shares lie orders of magnitude apart."""
    figure = figure_of(one, measure)
    if figure is None:
        return None
    if measure is Measure.ENRICHMENT:
        return bisect_right(ENRICHED, figure)
    if measure is Measure.EPOCHS:
        return min(STEPS, int(STEPS * figure / (one.cap or WITHOUT_CAP)))
    return min(STEPS, isqrt(int(STEPS * STEPS * figure / most))) if most else 0
