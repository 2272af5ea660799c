"""The run as a table: a row for each phase and domain. Nothing reads it back; `mixture plan --json` has all of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from fractions import Fraction

from mixture.formats.format import Bodies, Body, Holds, MixtureFormat, WeightUnit
from mixture.formats.stages import Run
from mixture.spreadsheet import defused
from mixture.units import decimal

COLUMNS = (
    "phase", "first_step", "steps", "sequence_length", "batch_sequences",
    "domain", "path", "weight", "sequences", "tokens", "epochs",
)  # fmt: skip
HOLDS = frozenset(Holds)


def write(run: Run) -> Bodies:
    """One file; sequences, tokens and epochs are what the schedule draws."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(_rows(run))
    return Bodies((Body(None, "csv", text.getvalue(), comments=False),))


def _rows(run: Run) -> Iterator[tuple[object, ...]]:
    for stage in run.stages:
        for d, domain in enumerate(run.domains):
            tokens = stage.sequences[d] * stage.sequence_length
            held = domain.held
            yield (
                defused(stage.name), stage.first_step, stage.steps, stage.sequence_length, stage.batch_sequences,
                defused(domain.name), defused(run.paths[d]), stage.texts[d], stage.sequences[d], tokens,
                decimal(Fraction(tokens, held)) if held else "",
            )  # fmt: skip


FORMAT = MixtureFormat(
    name="csv",
    title="a table of phases and domains",
    units=(WeightUnit.TOKENS,),
    holds=HOLDS,
    draws="Its figures are those of the lock's schedule.",
    version=None,
    write=write,
    continues=True,
)
