"""This library's stream in process, and with a thread that reads ahead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.forms import lock_path, warm_store
from benchmarks.peers.text import Text
from mixture.stream import open_stream, read_ahead


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    store = warm_store(text.folder, "native")

    def opened(rows: int, first_row: int) -> Iterator[Any]:
        return open_stream(str(lock_path(text.folder, "native", rows)), store, first_step=first_row // rows)

    def ahead(rows: int, first_row: int) -> Iterator[Any]:
        return read_ahead(open_stream(str(lock_path(text.folder, "native", rows)), store, first_step=first_row // rows))

    return {"in process": opened, "in process, reading ahead": ahead}


if __name__ == "__main__":
    answer(ways, goes_on=True)
