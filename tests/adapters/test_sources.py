"""Steps and sequences by index, from any thread and process, as streams have them."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from mixture.adapters.columns import Column, Columns
from mixture.adapters.grain import SequenceSource, StepSource
from mixture.data.store import Store
from mixture.errors import StreamError
from mixture.lock import Lock
from mixture.stream import open_stream
from mixture.testing import difference

COLUMNS = Columns(
    (Column.INPUT_IDS, Column.LABELS, Column.POSITION_IDS, Column.DOMAIN, Column.POSITION), dtype="uint16"
)


def test_a_step_is_what_a_stream_has_there_in_any_order_and_from_many_threads(
    opener: partial, lock: Lock, store: Store
) -> None:
    source = StepSource(opener, rank=3, world_size=4, replicas=2, columns=COLUMNS)
    batches = list(open_stream(lock, store, 1, 2, next_token=True, documents=True))
    expected = [COLUMNS.of(batch) for batch in batches]
    assert len(source) == len(expected) == 17
    assert expected[0]["input_ids"].dtype == np.uint16
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(17), 8)).tolist()
    for reader in (source, pickle.loads(pickle.dumps(source))):
        with ThreadPoolExecutor(8) as threads:
            for step, found in zip(order, threads.map(reader.__getitem__, order), strict=True):
                assert difference(expected[step], found) is None
    assert source.state_at(9) == StepSource(opener).state_at(9)


def test_a_sequence_is_the_row_at_its_position_in_any_order_and_from_many_threads(
    opener: partial, lock: Lock, store: Store
) -> None:
    source = SequenceSource(opener, columns=COLUMNS)
    whole = [COLUMNS.of(batch) for batch in open_stream(lock, store, next_token=True, documents=True)]
    assert len(source) == 9 * 24 + 8 * 48
    order = np.random.default_rng(0).permutation(len(source)).tolist()
    with ThreadPoolExecutor(8) as threads:
        for position, found in zip(order, threads.map(source.__getitem__, order), strict=True):
            batch = whole[found["step"]]
            row = position - int(batch["position"][0])
            assert all(np.array_equal(found[name], batch[name][row]) for name in COLUMNS.names)


def test_what_is_outside_is_an_index_error_as_of_a_list(opener: partial) -> None:
    for source in (StepSource(opener), SequenceSource(opener)):
        assert difference(source[-1], source[len(source) - 1]) is None
        for outside in (len(source), -len(source) - 1):
            with pytest.raises(IndexError):
                source[outside]


def test_a_checkpoint_of_grain_names_a_source_by_its_lock(opener: partial, lock: Lock) -> None:
    for source in (StepSource(opener), SequenceSource(opener)):
        assert lock.digest in repr(source)
        assert repr(pickle.loads(pickle.dumps(source))) == repr(source)


def test_columns_that_there_are_none_of_are_refused(opener: partial) -> None:
    with pytest.raises(StreamError, match="position_ids") as caught:
        StepSource(opener, columns=Columns(("positions",)))
    assert caught.value.code == "unknown-column"
