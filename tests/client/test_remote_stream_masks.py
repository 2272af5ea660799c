"""Text that was taken down does not come from a service, and a client does not hand it on if it does."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from api_helpers import serving
from service_process import NAME, Shown, shown
from stream_helpers import bytes_of, with_masks

from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.client import open_remote_stream
from mixture.client.body import Body
from mixture.client.steps import Expected, read_steps
from mixture.errors import StreamError
from mixture.lock.lock import Mask
from mixture.stream import Batch, StreamOptions, arrow_schema, open_stream, to_arrow
from mixture.stream.masks import Masks
from mixture.stream.wire import Checksum, End, Key, stream_metadata


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory, run: Shown) -> Shown:
    """The run of forty steps, with text taken down from steps 10, 20 and 30."""
    folder = tmp_path_factory.mktemp("masked") / NAME
    shutil.copytree(run.folder, folder)
    tokens = {domain.name: domain.tokens for domain in run.lock.data.domains}
    masks = [Mask(20, "web", first, 700) for first in range(0, tokens["web"] - 700, 1000)]
    masks += [Mask(10, "code", 100, 5000), Mask(30, "code", 5100, tokens["code"] - 5100)]
    return shown(with_masks(run.lock, *masks), folder, run.store)


@pytest.fixture(scope="module")
def masked_url(masked: Shown) -> Iterator[str]:
    with serving(create_app(Settings(**masked.settings))) as address:
        yield f"{address}/v1/mixtures/{NAME}"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rank": 3, "world_size": 8},
        {"rank": 0, "world_size": 60, "uneven": True},
        {"first_step": 16, "next_token": True},
        {"documents": True, "next_token": True, "first_step": 16, "rank": 1, "world_size": 2},
    ],
)
def test_batches_and_masks_are_those_of_a_local_stream(masked_url: str, masked: Shown, options: dict[str, Any]):
    found = list(open_remote_stream(masked_url, **options))
    expected = list(open_stream(masked.lock, masked.store, **options))
    assert bytes_of(found) == bytes_of(expected)
    hidden = 0
    for batch, other in zip(found, expected, strict=True):
        assert batch.masked is not None
        assert other.masked is not None
        assert (batch.masked.dtype, batch.masked.shape) == (np.bool_, batch.input_ids.shape)
        assert np.array_equal(batch.masked, other.masked)
        hidden += np.count_nonzero(batch.masked)
        batch.masked[...] = False  # a trainer's own
    assert hidden or options.get("world_size") == 60


def test_states_of_both_kinds_of_stream_are_the_same_and_refuse_the_run_without_masks(
    masked_url: str, masked: Shown, url: str
):
    remote, local = open_remote_stream(masked_url), open_stream(masked.lock, masked.store)
    for _ in range(25):
        next(remote)
        next(local)
    state = json.loads(json.dumps(remote.state_dict()))
    assert state == local.state_dict()
    again = open_remote_stream(masked_url)
    again.load_state_dict(state)
    assert bytes_of([next(again)]) == bytes_of([next(local)])
    with pytest.raises(StreamError, match="masks are not those") as caught:
        open_remote_stream(url).load_state_dict(state)
    assert caught.value.code == "content-differs"


def body_of(masked: Shown, batch: Batch, step: int) -> Body:
    """What a service would send of a step."""
    stream = open_stream(masked.lock, masked.store)
    schema = arrow_schema(masked.store.dtype, masked=batch.masked is not None)
    sink, checksum = io.BytesIO(), Checksum()
    checksum.add(batch)
    said = {Key.STEP: str(step), Key.ROWS: str(len(batch)), Key.CHECKSUM: checksum.hex()}
    with pa.ipc.new_stream(sink, schema.with_metadata(stream_metadata(stream, step))) as writer:
        (record,) = to_arrow(batch, stream.domains)
        writer.write_batch(record, custom_metadata=said)
        writer.write_batch(
            record.slice(0, 0), custom_metadata={Key.END: End.COMPLETE.value, Key.NEXT_STEP: str(step + 1)}
        )
    return Body(io.BytesIO(sink.getvalue()))  # type: ignore[arg-type]


def received(masked: Shown, batch: Batch, step: int) -> Batch:
    expected = Expected(
        metadata=stream_metadata(open_stream(masked.lock, masked.store), step),
        schedule=masked.lock.schedule(),
        dtype=masked.store.dtype,
        options=StreamOptions(),
        masks=Masks(masked.lock),
        hidden=masked.store.end_of_document,
    )
    (found,) = read_steps(body_of(masked, batch, step), expected, range(step, step + 1))
    return found


def test_a_service_that_sends_what_was_taken_down_or_masks_something_else_is_not_believed(masked: Shown, run: Shown):
    right = next(open_stream(masked.lock, masked.store, first_step=25))
    plain = next(open_stream(run.lock, run.store, first_step=25))
    assert right.masked is not None
    assert right.masked.any()
    assert bytes_of([received(masked, right, 25)]) == bytes_of([right])
    sent = replace(plain, masked=right.masked)  # marked and sent all the same
    assert bytes_of([received(masked, sent, 25)]) == bytes_of([right])
    for wrong in (np.zeros_like(right.masked), ~right.masked, np.roll(right.masked, 1, axis=1)):
        with pytest.raises(StreamError) as caught:
            received(masked, replace(plain, masked=wrong), 25)
        assert caught.value.code == "answer-invalid"
    with pytest.raises(StreamError, match="other columns"):
        received(masked, plain, 25)


def test_masks_that_were_damaged_on_the_way_are_seen(masked: Shown):
    right = next(open_stream(masked.lock, masked.store, first_step=25))
    assert right.masked is not None
    one, other = Checksum(), Checksum()
    one.add(right)
    changed = right.masked.copy()
    changed[0, 0] ^= True
    other.add(replace(right, masked=changed))
    assert one.hex() != other.hex()


def test_a_served_lock_keeps_its_masks(masked_url: str, masked: Shown, tmp_path: Path):
    with open_remote_stream(masked_url) as stream:
        assert stream.lock.masks == masked.lock.masks
        assert stream.lock.digest == masked.lock.digest
