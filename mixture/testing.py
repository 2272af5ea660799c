"""Helpers for your own tests: that a stream resumes exactly at every step, and that ranks share every step.

They take whatever yields batches and keeps its place as this library's streams do: your loader around a stream is such
a thing, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np


class Resumable(Protocol):
    """An iterator of batches that knows where it stands."""

    def __iter__(self) -> Iterator[Any]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any], /) -> object: ...


def check_resume(open_stream: Callable[[], Resumable], *, steps: int | None = None, ahead: int = 2) -> int:
    """Check that a stream goes on exactly where it stood, whichever step it is stopped before.

    open_stream: opens the same stream anew, at its first step
    steps:       look at the first so many; None: at all there are
    ahead:       batches that are read and compared after every resume

    At every step the state is saved, written as JSON, and loaded into a new stream. That stream must have an equal
    state, and give the batches of one that was never stopped: equal arrays of equal dtype, field by field. At the end
    of the stream, one that resumes gives nothing more.

    Gives the number of steps that were resumed at. Raises AssertionError, saying at which step and in which field.
    """
    states: list[str] = []
    whole: list[Any] = []
    stream = open_stream()
    batches = iter(stream)
    states.append(json.dumps(stream.state_dict()))
    for batch in batches if steps is None else islice(batches, steps):
        whole.append(batch)
        states.append(json.dumps(stream.state_dict()))
    if not whole:
        raise AssertionError("the stream gave no batch: nothing was checked")
    for i, state in enumerate(states):
        resumed = open_stream()
        resumed.load_state_dict(json.loads(state))
        again = json.dumps(resumed.state_dict())
        if json.loads(again) != json.loads(state):
            raise AssertionError(f"saved after {i} batches, loaded and saved again: {state} became {again}")
        expected = whole[i : i + ahead]
        # Behind the last batch of the whole stream nothing comes.
        most = len(expected) if expected or steps is not None else 1
        found = list(islice(iter(resumed), most))
        if len(found) != len(expected):
            raise AssertionError(f"resumed after {i} batches: {len(found)} batches came, expected were {len(expected)}")
        for j, (a, b) in enumerate(zip(expected, found, strict=True)):
            where = difference(a, b)
            if where is not None:
                raise AssertionError(f"resumed after {i} batches, batch {i + j} is another one: {where}")
    return len(states)


def check_ranks(
    open_stream: Callable[[int, int], Iterable[Any]], world_sizes: Sequence[int], *, steps: int | None = None
) -> int:
    """Check that every number of ranks reads the same steps: the ranks' batches, in order, are one rank's.

    open_stream: opens the stream of a rank of a world size, at its first step
    steps:       look at the first so many; None: at all there are

    Batches are dataclasses or mappings, whose arrays have a row for each sequence; what is no array is the same on all
    ranks. Gives the number of steps that were looked at. Raises AssertionError, saying where.
    """
    expected = list(islice(open_stream(0, 1), steps))
    for world_size in world_sizes:
        ranks = [iter(open_stream(rank, world_size)) for rank in range(world_size)]
        for step, whole in enumerate(expected):
            parts = [next(rank, None) for rank in ranks]
            if any(part is None for part in parts):
                raise AssertionError(f"of {world_size} ranks, rank {parts.index(None)} ends before step {step}")
            where = difference(whole, _joined(parts))
            if where is not None:
                raise AssertionError(f"step {step} is another one on {world_size} ranks: {where}")
        if steps is None and any(next(rank, None) is not None for rank in ranks):
            raise AssertionError(f"of {world_size} ranks, some go on behind step {len(expected) - 1}")
    return len(expected)


def difference(a: object, b: object, *, path: str = "") -> str | None:
    """Where two batches differ, in words; None where fields, dtypes, shapes and values of their arrays are equal."""
    one, other = _parts(a), _parts(b)
    if one is not None or other is not None:
        if one is None or other is None or one.keys() != other.keys():
            return f"{path or 'the batch'} has fields {_names(one)}, and {_names(other)}"
        found = (difference(one[name], other[name], path=f"{path}.{name}" if path else name) for name in one)
        return next((where for where in found if where is not None), None)
    if _is_array(a) or _is_array(b):
        left, right = np.asarray(a), np.asarray(b)
        if left.dtype != right.dtype or left.shape != right.shape:
            return f"{path or 'the batch'} is {left.dtype} {left.shape}, and {right.dtype} {right.shape}"
        apart = np.argwhere(left != right)
        if not len(apart):
            return None
        at = tuple(apart[0].tolist())
        return f"{path or 'the batch'}{list(at)} is {left[at]}, and {right[at]}"
    return None if a == b else f"{path or 'the batch'} is {a!r}, and {b!r}"


def _parts(value: object) -> dict[str, object] | None:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): held for name, held in value.items()}
    if isinstance(value, list | tuple) and any(map(_is_array, value)):
        return {str(i): held for i, held in enumerate(value)}
    return None


def _is_array(value: object) -> bool:
    return hasattr(value, "__array__") and hasattr(value, "shape")


def _names(parts: Mapping[str, object] | None) -> str:
    return "none" if parts is None else ", ".join(parts)


def _joined(batches: Sequence[Any]) -> dict[str, object]:
    parts = [_parts(batch) or {"batch": batch} for batch in batches]
    return {
        name: np.concatenate([np.asarray(part[name]) for part in parts]) if _is_array(value) else value
        for name, value in parts[0].items()
    }
