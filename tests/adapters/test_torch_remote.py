"""Torch's loaders over a stream that a service reads: the same batches as from the store, with workers too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest
from api_helpers import serving
from service_process import NAME, shown

from mixture.adapters.columns import Column, Columns
from mixture.adapters.rank_reader import SequenceSource, StepSource
from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.client import open_remote_stream
from mixture.data.store import Store
from mixture.errors import ServiceError, StreamError
from mixture.lock import Lock
from mixture.stream import open_stream, read_ahead
from mixture.testing import check_resume, difference

COLUMNS = Columns(tuple(Column), across_documents=False)


@pytest.fixture(scope="module")
def url(lock: Lock, store: Store, spec_folder: Path) -> Iterator[str]:
    with serving(create_app(Settings(**shown(lock, spec_folder, store).settings))) as address:
        yield f"{address}/v1/mixtures/{NAME}"


def test_a_service_says_whether_a_document_ends_with_a_row_and_gives_any_steps(
    url: str, lock: Lock, store: Store
) -> None:
    stream = open_stream(lock, store, next_token=True, documents=True, dtype="int64")
    with open_remote_stream(url, next_token=True, documents=True, dtype="int64") as remote:
        for steps in (range(17), range(2, 17, 5), range(16, 17), range(20, 17, 2)):
            found = list(remote.read(steps))
            assert [batch.step for batch in found] == list(steps)
            assert all(difference(a, b) is None for a, b in zip(stream.read(steps), found, strict=True))
        assert remote.step == 0


def test_a_remote_stream_reads_ahead_and_resumes_at_every_step(url: str) -> None:
    assert check_resume(lambda: read_ahead(open_remote_stream(url), steps=3), steps=6) == 7


def test_steps_of_a_service_are_those_of_the_store_and_it_has_no_single_sequences(url: str, opener: partial) -> None:
    here, there = (StepSource(opener, columns=COLUMNS) for opener in (opener, partial(open_remote_stream, url)))
    for step in (16, 0, 9):
        assert difference(here[step], there[step]) is None
    with pytest.raises(StreamError) as caught:
        SequenceSource(partial(open_remote_stream, url))
    assert caught.value.code == "stream-remote"
    with pytest.raises(ServiceError):
        StepSource(partial(open_remote_stream, url + "-not"))


@pytest.mark.needs_torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture-lock[torch]'")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_over_a_service_is_that_over_the_store(url: str, opener: partial, workers: int) -> None:
    from mixture.adapters.torch import MixtureBatches, MixtureLoader

    expected = list(MixtureBatches(opener, rank=1, world_size=2, columns=COLUMNS))
    remote = partial(open_remote_stream, url)
    loader = MixtureLoader(
        MixtureBatches(remote, rank=1, world_size=2, columns=COLUMNS, steps_ahead=2), num_workers=workers
    )
    found = list(islice(loader, 7))
    state = json.loads(json.dumps(loader.state_dict()))
    again = MixtureLoader(MixtureBatches(opener, rank=1, world_size=2, columns=COLUMNS))
    again.load_state_dict(state)  # from the store, which the service reads
    found += list(again)
    assert len(found) == 17
    assert all(difference(a, b) is None for a, b in zip(expected, found, strict=True))
