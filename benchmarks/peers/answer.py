"""The side of a loader: batches in rounds, as they are asked for on lines of JSON. Needs NumPy alone.

A module in `ways` says what ways it has, and ends with `answer(...)`. What comes in is one object a line, what goes out
too; whatever libraries print goes to standard error.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.peers.text import Text

Asked = Mapping[str, Any]
Answer = dict[str, Any]
Opened = dict[tuple[str, int], Iterator[Any]]
"""What goes on from round to round, by way and rows of a batch."""


class Way(Protocol):
    """Opens batches of rows: arrays or tensors [rows, length], or dicts or tuples that have one."""

    def __call__(self, rows: int, first_row: int) -> Iterator[Any]:
        """first_row: where in the run the first batch begins. Raises NotImplementedError where that can be 0 only."""
        ...


def input_ids(batch: Any) -> Any:  # noqa: ANN401 (of any library)
    """The tokens of a batch."""
    if isinstance(batch, dict):
        return batch["input_ids"]
    return getattr(batch, "input_ids", batch)


def answer(
    make: Callable[[Text], Mapping[str, Way]],
    *,
    packages: tuple[str, ...] = (),
    goes_on: bool = False,
    whole: bool = False,
) -> None:
    """Make the ways over the text in the folder that the command names, and answer until nothing is asked any more.

    packages: whose versions are said
    goes_on:  a round goes on where the one before ended; else each opens the way anew
    whole:    a round is one pass over the text
    """

    def begin(folder: Path) -> tuple[Answer, Callable[[Asked], Answer]]:
        text = Text.read(folder)
        ways = make(text)
        open_ones: Opened | None = {} if goes_on else None
        said = {
            "ways": list(ways),
            "goes_on": goes_on,
            "whole": whole,
            "versions": {name: version(name) for name in packages},
        }
        return said, lambda asked: _asked(asked, ways, text, open_ones)

    serve(begin)


def serve(begin: Callable[[Path], tuple[Answer, Callable[[Asked], Answer]]]) -> None:
    """Say what there is, then answer each line; an error is an answer too."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(what: Answer) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    try:
        said, reply = begin(Path(sys.argv[1]))
    except Exception as error:  # noqa: BLE001 (whatever a library raises is said, and the next one is measured)
        say({"error": _of(error)})
        return
    say(said)
    for line in sys.stdin:
        try:
            say(reply(json.loads(line)))
        except Exception as error:  # noqa: BLE001
            say({"error": _of(error)})


def _of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _asked(asked: Asked, ways: Mapping[str, Way], text: Text, open_ones: Opened | None) -> Answer:
    way = ways[asked["way"]]
    match asked["question"]:
        case "round":
            return _round(way, asked, text, open_ones)
        case "late":
            start = time.perf_counter()
            try:
                next(way(asked["rows"], asked["first_row"]))
            except NotImplementedError:
                return {"first_ms": None}
            return {"first_ms": (time.perf_counter() - start) * 1e3}
        case "domains":
            return {"domains": _domains(way(asked["rows"], 0), asked["batches"], text)}
        case _:
            return {"anonymous_mb": _epochs(way(asked["rows"], 0), asked["epochs"], asked["batches"])}


def _round(way: Way, asked: Asked, text: Text, open_ones: Opened | None) -> Answer:
    gc.collect()
    key, first = (asked["way"], asked["rows"]), None
    batches = None if open_ones is None else open_ones.get(key)
    if batches is None:
        start = time.perf_counter()
        batches = way(asked["rows"], 0)
        shape = tuple(input_ids(next(batches)).shape)
        first = (time.perf_counter() - start) * 1e3
        if shape != (asked["rows"], text.length):
            raise ValueError(f"a batch is of shape {shape}")
    if open_ones is not None:
        open_ones[key] = batches
    for _ in range(asked["warm"]):  # what workers have ready is not of the round
        next(batches)
    start = time.perf_counter()
    for _ in range(asked["batches"]):
        next(batches)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "first_ms": first, "held_mb": held_mb(os.getpid())}


def _domains(batches: Iterator[Any], count: int, text: Text) -> list[int]:
    """The domain of each row, which its first tokens tell; a KeyError where a row is not one of the text."""
    known = text.domain_of_start()
    found: list[int] = []
    for _ in range(count):
        starts = np.asarray(input_ids(next(batches))[:, : text.telling]).astype(np.uint32)
        found.extend(known[start.tobytes()] for start in starts)
    return found


def _epochs(batches: Iterator[Any], epochs: int, batches_of_epoch: int) -> list[float]:
    held = []
    for _ in range(epochs):
        for _ in range(batches_of_epoch):
            next(batches)
        held.append(held_mb(os.getpid()))
    return held


def held_mb(process: int) -> float:
    """Anonymous and shared memory of a process and all below it, in MB; pages of files are the system's."""
    total = 0
    for number in _below(process):
        try:
            lines = Path(f"/proc/{number}/status").read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:  # it has ended
            continue
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        total += sum(int(fields.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem"))
    return total / 1e3


def _below(process: int) -> list[int]:
    found = [process]
    for number in found:
        for path in Path(f"/proc/{number}/task").glob("*/children"):
            try:
                found.extend(map(int, path.read_text(encoding="ascii").split()))
            except OSError:
                continue
    return found
