"""Columns of packed rows: no label is of padding, nor of what follows it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from stream_helpers import lock_over

from mixture.adapters.columns import IGNORED, Column, Columns
from mixture.adapters.rank_reader import StepSource
from mixture.data.derived import pack_store
from mixture.data.store import Store, open_store
from mixture.stream import open_stream


def test_labels_of_padding_are_left_out_without_asking(store: Store, tmp_path: Path) -> None:
    pack_store(store, tmp_path / "packed", sequence_length=512)
    packed = open_store(tmp_path / "packed")
    keys = {"tokenizer": "bytes", "sequence_length": "512", "batch": "6 sequences", "budget": "8 steps"}
    lock = lock_over(packed, tmp_path / "m", "  - {phase: all, weights: {web: 50%, code: 50%}}", **keys)
    columns = Columns((Column.INPUT_IDS, Column.LABELS, Column.LOSS_MASK))
    source = StepSource(partial(open_stream, lock, packed), columns=columns)
    left_out = 0
    for batch in open_stream(lock, packed, documents=True, next_token=True):
        found = source[batch.step]
        padding = batch.padding()
        of_padding = padding[:, 1:]
        assert np.array_equal(found["input_ids"], batch.input_ids[:, :-1])
        assert (found["labels"][:, :-1][of_padding] == IGNORED).all()
        assert np.array_equal(found["labels"] != IGNORED, found["loss_mask"])
        assert (found["labels"][:, :-1] != IGNORED)[~of_padding & ~padding[:, :-1]].all()
        left_out += int(of_padding.sum())
    assert left_out
