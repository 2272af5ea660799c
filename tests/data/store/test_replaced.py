"""A store that is open is not read on from another one that came to lie in its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stream_helpers import make_store

from mixture.data.store import Store
from mixture.errors import StoreError

TEXTS = {"a": {"1": "one", "2": "two"}, "b": {"3": "three"}}
READS: dict[str, Callable[[Store], object]] = {
    "tokens": lambda store: store.read("b", 0, 2),
    "documents": lambda store: store.documents("b", 0, 2),
    "a document": lambda store: store.document("3"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_was_not_read_before_a_store_was_replaced_is_not_read_from_the_other(tmp_path: Path, read):
    store = make_store(tmp_path / "one", TEXTS)
    held = store.read("a", 0, 4)
    tokens = held.tolist()
    other = make_store(tmp_path / "two", {name: {k: v.upper() for k, v in of.items()} for name, of in TEXTS.items()})
    store.path.rename(tmp_path / "away")
    other.path.rename(tmp_path / "one" / "store")
    with pytest.raises(StoreError, match=r"store\.json") as refused:
        read(store)
    assert refused.value.code == "store-replaced"
    assert held.tolist() == store.read("a", 0, 4).tolist() == tokens
