"""What a schedule is asked about, checked: integers in range, each kind with its code, and names of domains."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import SupportsIndex

import numpy as np

from mixture.errors import ScheduleError, nearest
from mixture.schedule.fields import ScheduleData
from mixture.schedule.permute import I64


class Arguments:
    """The checks for one schedule. Each gives its argument as int, or int64 array; NumPy's integers are integers.

    Raises ScheduleError. Booleans and floats are not integers: `counts(True)` is a mistake.
    """

    def __init__(self, data: ScheduleData, sequences: int) -> None:
        self._data, self._domains, self._steps, self._sequences = data, data.domains, data.steps, sequences
        self._names = {domain.name: i for i, domain in enumerate(data.domains)}

    def step(self, step: int, *, end: bool = False) -> int:
        """A step of the run. end: `steps` is one as well. Code: `step-out-of-range`."""
        number = integer(step, "step", code="step-out-of-range")
        if not 0 <= number < self._steps + end:
            raise ScheduleError(
                f"step {number:,} is not in a run of {self._steps:,} steps",
                code="step-out-of-range",
                hint=f"steps are 0 to {self._steps - 1:,}, and {self._steps:,} is the end of the run",
                step=number,
                steps=self._steps,
            )
        return number

    def step_range(self, first_step: int, end_step: int) -> tuple[int, int]:
        """Two places in the run, of which the second is not before the first. Code: `step-out-of-range`."""
        first, end = self.step(first_step, end=True), self.step(end_step, end=True)
        if end < first:
            message = f"steps that begin at {first:,} cannot end at {end:,}"
            raise ScheduleError(message, code="step-out-of-range", step=end, steps=self._steps)
        return first, end

    def position(self, position: int) -> int:
        """A position of the run. Code: `position-out-of-range`."""
        number = integer(position, "position", code="position-out-of-range")
        if not 0 <= number < self._sequences:
            raise self._not_a_position(number)
        return number

    def positions(self, positions: I64) -> I64:
        """Positions of the run, of any shape. Code: `position-out-of-range`."""
        numbers = integers(positions, "positions", code="position-out-of-range")
        outside = (numbers < 0) | (numbers >= self._sequences)
        if outside.any():
            raise self._not_a_position(int(numbers[outside][0]))
        return numbers

    def position_range(self, start: int, count: int) -> tuple[int, int]:
        """A start and a count of positions, all in the run; of no position, the start is in it or at its end.

        Codes: `position-out-of-range`, `count-invalid`.
        """
        first, number = integer(start, "position", code="position-out-of-range"), self.count(count)
        if number:
            self.position(first), self.position(first + number - 1)
        elif first != self._sequences:
            self.position(first)
        return first, number

    def _not_a_position(self, position: int) -> ScheduleError:
        return ScheduleError(
            f"position {position:,} is not in a run of {self._sequences:,} sequences",
            code="position-out-of-range",
            hint=f"positions are 0 to {self._sequences - 1:,}",
            position=position,
            sequences=self._sequences,
        )

    def count(self, count: int) -> int:
        """A number of things. Code: `count-invalid`."""
        number = integer(count, "count", code="count-invalid")
        if number < 0:
            raise ScheduleError(f"a count of {number:,} is below 0", code="count-invalid", count=number)
        return number

    def slots(self, slots: range, first_step: int, end_step: int) -> None:
        """Consecutive slots that each of these steps has. Code: `slot-out-of-range`."""
        if not isinstance(slots, range):
            raise ScheduleError(f"slots {slots!r} are not a range", code="slot-out-of-range", hint="range(0, 8)")
        for batch in self._data.batches_of(range(first_step, end_step)):
            if not (0 <= slots.start <= slots.stop <= batch.sequences and slots.step == 1):
                raise ScheduleError(
                    f"slots {slots.start:,} to {slots.stop - 1:,} are not in a step of {batch.sequences:,} sequences",
                    code="slot-out-of-range",
                    hint=f"slots are 0 to {batch.sequences - 1:,}, and are asked for one after the other",
                )

    def name(self, name: str) -> int:
        """The index of the domain with a name. Code: `unknown-domain`, with the nearest name."""
        if not isinstance(name, str) or name not in self._names:
            hint = nearest(name, self._names) if isinstance(name, str) else "the name of a domain, a str"
            raise ScheduleError(f"unknown domain {name!r}", code="unknown-domain", hint=hint, name=name)
        return self._names[name]

    def domain(self, domain: int) -> int:
        """The index of a domain. Code: `unknown-domain`."""
        number = integer(domain, "domain", code="unknown-domain", hint="`domain_index` gives the index of a name")
        if not 0 <= number < len(self._domains):
            raise self._not_a_domain(number)
        return number

    def _not_a_domain(self, number: int) -> ScheduleError:
        known = len(self._domains)
        message = f"domain {number:,} is not in a schedule of {known:,} domains"
        hint = f"indices are 0 to {known - 1:,}; `domain_index` gives that of a name"
        return ScheduleError(message, code="unknown-domain", hint=hint, domain=number, domains=known)

    def draws(self, domain: I64, number: I64, drawn: I64) -> tuple[I64, I64]:
        """Domains, and of each the number of a sequence that is drawn of it: int64 [n] both.

        drawn: how many the run draws of each domain. Codes: `unknown-domain`, `draw-out-of-range`.
        """
        domains = integers(domain, "domains", code="unknown-domain")
        numbers = integers(number, "numbers", code="draw-out-of-range")
        if domains.ndim != 1 or domains.shape != numbers.shape:
            message = f"domains of shape {domains.shape} and numbers of shape {numbers.shape} are not pairs"
            raise ScheduleError(message, code="draw-out-of-range", hint="two arrays of the same length")
        unknown = np.flatnonzero((domains < 0) | (domains >= len(self._domains)))
        if unknown.size:
            raise self._not_a_domain(int(domains[unknown[0]]))
        total = drawn[domains]
        outside = np.flatnonzero((numbers < 0) | (numbers >= total))
        if outside.size:
            first = outside[0]
            name, most = self._domains[domains[first]].name, int(total[first])
            asked = int(numbers[first])
            raise ScheduleError(
                f"the run reads {most:,} sequences of domain {name!r}; number {asked:,} is not one of them",
                code="draw-out-of-range",
                hint="numbers count from 0",
                name=name,
                sequences=most,
            )
        return domains, numbers

    def tokens(self, domain: int, first_token: int, num_tokens: int) -> tuple[int, int]:
        """Tokens of a domain, at least one: their first and number. Codes: `token-out-of-range`, `count-invalid`."""
        first = integer(first_token, "token", code="token-out-of-range")
        number = integer(num_tokens, "count", code="count-invalid")
        last, held = first + number - 1, self._domains[domain]
        if not 0 <= first <= last < held.tokens:
            what = f"token {first:,} is" if number == 1 else f"tokens {first:,} to {last:,} are"
            what = what if number > 0 else f"{number:,} tokens from {first:,} on are"
            raise ScheduleError(
                f"{what} not in domain {held.name!r} of {held.tokens:,} tokens",
                code="token-out-of-range",
                token=first,
                tokens=held.tokens,
            )
        return first, number


def integer(value: SupportsIndex, noun: str, *, code: str, hint: str | None = None) -> int:
    """An integer of Python's or NumPy's as Python's."""
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise ScheduleError(f"{noun} {value!r} is not an integer", code=code, hint=hint, value=value)


def integers(values: I64 | Iterable[int], noun: str, *, code: str) -> I64:
    """Integers of any type and shape as int64."""
    array = np.asarray(values)
    if not array.size:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        message = f"{noun} of type {array.dtype} are not integers of 64 bits"
        raise ScheduleError(message, code=code, value=array.reshape(-1)[0].item())
    if array.dtype == np.uint64 and int(array.max()) >= 1 << 63:
        raise ScheduleError(f"{noun} of up to {int(array.max()):,} are not integers of 63 bits", code=code)
    return array.astype(np.int64, copy=False)
