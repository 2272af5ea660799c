"""Streams over connections that are cut and damaged, from services that are killed, restarted and replaced."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from api_helpers import serving
from client.trainer import Trainer, digests
from service_process import NAME, Harm, ServiceProcess, Shown, free_port, proxy, shown
from stream_helpers import DOMAINS, bytes_of, make_store

from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.client import open_remote_stream
from mixture.errors import ServiceError, StreamError
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import open_stream

pytestmark = pytest.mark.long

LONG = """
  - phase: first
    until: step 150
    weights: {code: 60%, notes: 40%}
  - phase: second
    batch: 192 sequences
    weights: {code: 50%, web: 50%}
"""
STEPS = 300
CHANGES, EVERY = 24, 40_000


@pytest.fixture
def long_run(make) -> Shown:
    """Steps of 3 and of 24 KiB, 4 MiB in all."""
    return make(LONG, steps=STEPS)


def test_a_trainer_goes_on_through_a_service_killed_restarted_and_replaced(long_run: Shown):
    port = free_port()
    first = ServiceProcess(long_run, port=port)
    replacing = ServiceProcess(long_run, port=port, data_dir=long_run.folder / "other")
    with first, Trainer(first.url) as trainer:
        trainer.take(20)
        first.end(signal.SIGKILL)
        first.start()
        trainer.take(150)
        first.end(signal.SIGTERM)
        with replacing:
            trainer.take(60)
            replacing.end(signal.SIGKILL)
            replacing.start()
            trainer.take(STEPS)
    assert trainer.steps == digests(open_stream(long_run.lock, long_run.store, 1, 2))


def test_a_trainer_killed_between_steps_goes_on_from_its_state(long_run: Shown):
    with ServiceProcess(long_run) as service:
        with Trainer(service.url) as first:
            first.take(120)
        with Trainer(service.url, first.state) as second:
            second.take(STEPS)
    assert first.steps + second.steps == digests(open_stream(long_run.lock, long_run.store, 1, 2))


def test_cut_anywhere_a_stream_gives_each_step_once_and_whole(long_run: Shown):
    cuts = iter([0, 1, 90, 190, 700, 2_000, 3_500, 4_300, 5_000, 9_001, 20_000, 60_000, 200_000, 300_001, 1_000_000])
    made = []

    def harms(_: bytes) -> Harm:
        cut = next(cuts, None)
        made.append(cut)

        def harm(seen: int, data: bytes) -> bytes | None:
            if cut is None or seen + len(data) <= cut:
                return data
            return data[: cut - seen] or None

        return harm

    with (
        ServiceProcess(long_run) as service,
        proxy(service.port, harms) as address,
        open_remote_stream(f"{address}/v1/mixtures/{NAME}", patience_seconds=60) as stream,
    ):
        read = list(stream)
    assert made[-1] is None
    assert [batch.step for batch in read] == list(range(STEPS))
    assert bytes_of(read) == bytes_of(open_stream(long_run.lock, long_run.store))


def test_a_byte_changed_on_the_way_is_found_and_the_step_read_again(long_run: Shown):
    changed: list[int] = []

    def harms(request: bytes) -> Harm:
        # In the status, in the schema, in places of rows, in tokens; again later where it did nothing (in padding).
        at = 9 + 97 * len(changed) ** 2

        def harm(seen: int, data: bytes) -> bytes:
            place = at + max(0, seen + len(data) - 1 - at) // EVERY * EVERY - seen
            if b"/batches" not in request or not 0 <= place < len(data) or len(changed) >= CHANGES:
                return data
            changed.append(seen + place)
            return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]

        return harm

    with (
        ServiceProcess(long_run) as service,
        proxy(service.port, harms) as address,
        open_remote_stream(f"{address}/v1/mixtures/{NAME}", timeout_seconds=5, patience_seconds=60) as stream,
    ):
        read = list(stream)
    assert len(changed) == CHANGES
    assert bytes_of(read) == bytes_of(open_stream(long_run.lock, long_run.store))


def test_a_stream_goes_on_with_its_run_at_a_service_whose_folder_holds_another_lock_now(long_run: Shown, make):
    port = free_port()
    with ServiceProcess(long_run, port=port) as service:
        stream = open_remote_stream(service.url, patience_seconds=60)
        read = [next(stream) for _ in range(10)]
        stream.close()
    changed = make(LONG.replace("code: 60%, notes: 40%", "code: 61%, notes: 39%"), steps=STEPS)
    with ServiceProcess(changed, port=port) as service:
        read += list(stream)
        with open_remote_stream(service.url) as anew:
            assert anew.lock.digest == changed.lock.digest != long_run.lock.digest
    assert bytes_of(read) == bytes_of(open_stream(long_run.lock, long_run.store))


def test_a_service_that_never_had_the_lock_is_refused_and_the_lock_named(long_run: Shown, make):
    port = free_port()
    with ServiceProcess(long_run, port=port) as service:
        stream = open_remote_stream(service.url, patience_seconds=60)
        read = [next(stream) for _ in range(10)]
        stream.close()
    local = open_stream(long_run.lock, long_run.store)
    assert bytes_of(read) == bytes_of(next(local) for _ in range(10))
    changed = make(LONG.replace("code: 60%, notes: 40%", "code: 61%, notes: 39%"), steps=STEPS)
    with ServiceProcess(changed, port=port, data_dir=long_run.folder / "other"):
        for _ in range(2):
            with pytest.raises(StreamError, match=long_run.lock.digest) as caught:
                next(stream)
            assert caught.value.code == "lock-differs"
            assert caught.value.facts["expected"] == long_run.lock.digest
        assert stream.state_dict() == local.state_dict()


def test_a_service_whose_store_holds_other_text_now_is_refused(long_run: Shown, tmp_path: Path):
    lock = make_lock(make_plan(read_spec(long_run.folder / "mixture.yaml")))
    assert not lock.content  # as of a lock made from a table: any store of these sizes may be its own
    text = DOMAINS["web"]["web-3"]
    changed = make_store(tmp_path / "changed", DOMAINS | {"web": DOMAINS["web"] | {"web-3": text.swapcase()}})
    port = free_port()
    with ServiceProcess(shown(lock, long_run.folder, long_run.store), port=port) as service:
        stream = open_remote_stream(service.url, patience_seconds=60)
        next(stream)
        stream.close()
        state = stream.state_dict()
    with ServiceProcess(shown(lock, long_run.folder, changed), port=port) as service:
        with pytest.raises(StreamError) as caught:
            next(stream)
        assert caught.value.code == "content-differs"
        assert stream.state_dict() == state
        with open_remote_stream(service.url) as anew:
            anew.load_state_dict(state)  # nothing of the changed domain was read before it
            assert next(anew).step == 1


def test_a_store_that_is_replaced_under_a_running_service_is_refused_at_once_until_it_is_back(
    long_run: Shown, tmp_path: Path
):
    there, text = tmp_path / "there", DOMAINS["web"]["web-3"]
    shutil.copytree(long_run.store.path, there)
    other = make_store(tmp_path / "other", DOMAINS | {"web": DOMAINS["web"] | {"web-3": text.swapcase()}}).path
    settings = Settings(**long_run.settings | {"store_dirs": (there,)})
    with serving(create_app(settings)) as url, open_remote_stream(f"{url}/v1/mixtures/{NAME}") as stream:
        read = [next(stream)]
        stream.close()
        there.rename(tmp_path / "away")
        other.rename(there)
        with pytest.raises(ServiceError) as caught:
            next(stream)
        assert (caught.value.code, caught.value.facts["status"]) == ("store-replaced", 409)
        there.rename(other)
        (tmp_path / "away").rename(there)
        read += list(stream)
    assert bytes_of(read) == bytes_of(open_stream(long_run.lock, long_run.store))
