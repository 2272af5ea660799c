"""Steps on the command line: a number, or a percentage of the run's steps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import typer

from mixture.units import percent

STEP_HELP = "A number, or a percentage of the run: 25%."


@dataclass(frozen=True, slots=True)
class StepText:
    """A step as a person writes it: its number, or a share of the run's steps."""

    value: int | Fraction

    def of(self, steps: int) -> int:
        """The step of a run of so many steps; a share is rounded half up, as where phases end.

        Raises ScheduleError, `step-out-of-range`, for a share above 100%.
        """
        if isinstance(self.value, int):
            return self.value
        from mixture.planning.plan import round_half_up

        if self.value > 1:
            from mixture.errors import ScheduleError

            raise ScheduleError(
                f"{self} is beyond the run of {steps:,} steps",
                code="step-out-of-range",
                hint="100% is the end of the run",
                steps=steps,
            )
        return round_half_up(self.value * steps)

    def __str__(self) -> str:
        return str(self.value) if isinstance(self.value, int) else percent(self.value)


def parse_step(text: str) -> StepText:
    """Reads `108000`, `108_000`, `108K` or `25%`. Raises typer.BadParameter."""
    from mixture.errors import UnitError
    from mixture.units import Unit, parse_quantity, whole_number

    try:
        quantity = parse_quantity(text, units=(Unit.STEPS, Unit.PERCENT), bare=Unit.STEPS)
        if quantity.unit is Unit.PERCENT:
            return StepText(quantity.value)
        return StepText(whole_number(text, quantity.value, least=0))
    except UnitError as error:
        raise typer.BadParameter(str(error)) from error
