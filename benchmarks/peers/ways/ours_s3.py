"""This library's stream from a bucket of an S3 server on this machine; nothing of it is kept from round to round."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.bucket import SETTINGS, URL
from benchmarks.peers.forms import lock_path
from benchmarks.peers.text import Text
from mixture.data.storage import ObjectOptions
from mixture.stream import open_stream, read_ahead


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""
    settings = tuple((name, value) for name, value in json.loads(os.environ[SETTINGS]).items())
    numbers = count(10**10)

    def opened(rows: int, first_row: int) -> Iterator[Any]:
        # Who reads with the same options shares what was read: each round has options of its own.
        options = ObjectOptions(settings=settings, cache_bytes=next(numbers))
        lock = str(lock_path(text.folder, "native", rows))
        return read_ahead(open_stream(lock, os.environ[URL], first_step=first_row // rows, objects=options))

    return {"from S3 on this machine": opened}


if __name__ == "__main__":
    answer(ways, packages=("obstore", "moto"), whole=True)
