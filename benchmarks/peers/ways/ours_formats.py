"""This library's stream in process, over the token files of others where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.peers.answer import Way, answer
from benchmarks.peers.forms import FORMS, lock_path, warm_store
from benchmarks.peers.text import Text
from mixture.data.store import Store
from mixture.stream import open_stream


def ways(text: Text) -> Mapping[str, Way]:
    """By name."""

    def opened(store: Store, form: str, rows: int, first_row: int) -> Iterator[Any]:
        return open_stream(str(lock_path(text.folder, form, rows)), store, first_step=first_row // rows)

    stores = {form: warm_store(text.folder, form) for form in FORMS if form != "native"}
    return {f"in process, from {form}": partial(opened, store, form) for form, store in stores.items()}


if __name__ == "__main__":
    answer(ways, goes_on=True)
