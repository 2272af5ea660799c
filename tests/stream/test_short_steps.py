"""Steps of few rows, which are read many together: the same batches, and each error at the step that it is of."""

from __future__ import annotations

from pathlib import Path

import pytest
from stream_helpers import DOMAINS, bytes_of, lock_over, make_store

from mixture.data.store import Store
from mixture.errors import StoreError
from mixture.lock import Lock
from mixture.stream import open_stream

KEYS = {"tokenizer": "bytes", "sequence_length": "64", "batch": "2 sequences", "budget": "60 steps", "seed": "5"}
OFTEN = "  - {phase: all, weights: {code: 5%, web: 95%}}"


@pytest.fixture
def own(tmp_path: Path) -> Store:
    return make_store(tmp_path / "own", DOMAINS)


@pytest.fixture
def lock(own: Store, tmp_path: Path) -> Lock:
    return lock_over(own, tmp_path / "spec", OFTEN, **KEYS)


@pytest.mark.parametrize("options", [{}, {"next_token": True}, {"documents": True}, {"dtype": "int64"}])
def test_steps_read_together_are_those_read_one_by_one(own: Store, lock: Lock, options) -> None:
    one_by_one = [
        batch for step in range(60) for batch in open_stream(lock, own, **options).read(range(step, step + 1))
    ]
    assert bytes_of(open_stream(lock, own, **options)) == bytes_of(one_by_one)
    every_seventh = list(open_stream(lock, own, **options).read(range(3, 60, 7)))
    assert [batch.step for batch in every_seventh] == list(range(3, 60, 7))
    assert bytes_of(every_seventh) == bytes_of(one_by_one[3::7])


def test_what_is_written_to_one_batch_is_in_no_other(own: Store, lock: Lock) -> None:
    batches, plain = list(open_stream(lock, own)), list(open_stream(lock, own))
    for batch in batches[::2]:
        batch.input_ids[:] = 0
    assert bytes_of(batches[1::2]) == bytes_of(plain[1::2])


def test_a_file_that_can_not_be_read_is_refused_at_the_first_step_that_needs_it(own: Store, lock: Lock) -> None:
    code = lock.schedule().domain_index("code")
    plain = list(open_stream(lock, own))
    first = next(batch.step for batch in plain if code in batch.domain)
    assert 3 < first < 59
    (path,) = (path for path in own.path.glob("tokens/*") if "code" in path.name)
    path.touch()
    stream, found = open_stream(lock, own), []
    with pytest.raises(StoreError) as caught:
        found.extend(stream)
    assert caught.value.code == "store-changed"
    assert stream.step == len(found) == first
    assert bytes_of(found) == bytes_of(plain[:first])
