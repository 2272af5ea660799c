"""What streams cost the process that serves them: clients that leave, that are slow, that are many; its end; a broken
store."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2
import pyarrow as pa
import pytest
from service_process import NAME, ServiceProcess, Shown, asked, resources, shown, until
from stream_helpers import DOMAINS, bytes_of, lock_over, make_store

from mixture.client import open_remote_stream
from mixture.stream import open_stream

pytestmark = pytest.mark.long

LARGE = """
  - phase: all
    weights: {code: 50%, web: 50%}
"""
CODE_THEN_WEB = """
  - phase: first
    until: step 20
    weights: {code: 100%}
  - phase: second
    weights: {web: 100%}
"""
KEYS = {"tokenizer": "bytes", "sequence_length": "1024", "shuffle": "{block: 1024 tokens}"}
MEBIBYTE = 1 << 20
STEP_MEBIBYTES = 2
STREAMS_PER_CLIENT = 512


def made_in(folder: Path, phases: str, steps: int) -> Shown:
    store = make_store(folder / "made", DOMAINS)
    lock = lock_over(store, folder / NAME, phases, batch="1024 sequences", budget=f"{steps} steps", **KEYS)
    return shown(lock, folder / NAME, store)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """Steps of 2 MiB, far more of them than anybody reads."""
    what = made_in(tmp_path_factory.mktemp("process"), LARGE, 5000)
    with ServiceProcess(what, streams_per_client=STREAMS_PER_CLIENT) as one:
        yield one


def sequences_served(service: ServiceProcess) -> float:
    figures = dict(line.rsplit(" ", 1) for line in httpx2.get(f"{service.address}/metrics").text.splitlines())
    return float(figures.get(f'mixture_sequences_served_total{{mixture="{NAME}"}}', 0))


def opened_and_dropped(service: ServiceProcess, count: int) -> None:
    with ExitStack() as held:
        for one in [held.enter_context(asked(service.address, "last_step=4999")) for _ in range(count)]:
            assert one.recv(1)


def test_streams_that_clients_drop_give_everything_back(service: ServiceProcess):
    httpx2.get(f"{service.url}/batches").raise_for_status()  # the store's files stay open
    files = resources(service.pid).files
    for _ in range(2):  # threads and buffers that are kept are there from then on
        opened_and_dropped(service, 200)
        until(lambda: resources(service.pid).files <= files + 1, seconds=10)
    before = resources(service.pid)
    opened_and_dropped(service, 200)
    seen = [before]

    def is_back() -> bool:
        seen.append(resources(service.pid))
        now = seen[-1]
        # 200 streams that stay hold a record batch each: 400 MiB.
        return (
            now.files <= files + 1 and now.threads <= before.threads + 2 and now.memory < before.memory + 40 * MEBIBYTE
        )

    until(is_back, seconds=2)
    assert httpx2.get(f"{service.address}/healthz").status_code == 200


def test_for_a_client_that_hardly_reads_nothing_is_read_or_kept(service: ServiceProcess):
    with asked(service.address, "last_step=4999", receive_buffer=1 << 16) as slow:
        assert slow.recv(1024)
        served = [-1.0, sequences_served(service)]

        def has_stopped() -> bool:
            served.append(sequences_served(service))
            return served[-1] == served[-2]

        until(has_stopped, seconds=10)
        at_rest = resources(service.pid).memory
        for _ in range(30):
            assert slow.recv(1024)
            assert resources(service.pid).memory - at_rest < 8 * MEBIBYTE
        assert sequences_served(service) - served[1] < 16 * 1024  # of 5 million


def test_health_is_answered_beside_slow_requests_and_streams(service: ServiceProcess):
    over, begun = threading.Event(), threading.Semaphore(0)

    def read_all(one: socket.socket) -> None:
        while not over.is_set():
            assert one.recv(MEBIBYTE)

    def ask_slowly() -> None:
        with httpx2.stream("GET", f"{service.url}/positions?last_position=19999", timeout=120) as answer:
            pieces = answer.raise_for_status().iter_raw()
            assert next(pieces)
            begun.release()
            assert sum(map(len, pieces)) > 20_000

    with ExitStack() as held, ThreadPoolExecutor(100) as pool:
        streams = [held.enter_context(asked(service.address, "last_step=4999")) for _ in range(50)]
        health = held.enter_context(closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)))
        reading = [pool.submit(read_all, one) for one in streams]
        asking = [pool.submit(ask_slowly) for _ in range(50)]
        for _ in asking:
            assert begun.acquire(timeout=120)
        for _ in range(10):
            health.request("GET", "/healthz")
            assert health.getresponse().read() == b'{"status":"ok"}'
        # All ten came while every stream and the slow requests were under way.
        assert not any(one.done() for one in reading)
        assert not all(one.done() for one in asking)
        for one in asking:
            one.result()
        over.set()
        for one in reading:
            one.result()


def test_told_to_end_the_service_ends_its_streams_with_a_frame_that_says_so(tmp_path: Path):
    what = made_in(tmp_path, LARGE, 5000)
    with ServiceProcess(what) as service, ThreadPoolExecutor(9) as pool:
        begun = threading.Barrier(9)

        def read(rank: int) -> dict[str, str]:
            body = urllib.request.urlopen(f"{service.url}/batches?last_step=4999&world_size=8&rank={rank}", timeout=30)
            reader = pa.ipc.open_stream(body)
            said: dict[bytes, bytes] = {}
            whole = 0
            while b"mixture.end" not in said:
                _, metadata = reader.read_next_batch_with_custom_metadata()
                said = dict(metadata or {})
                if whole == 0:
                    begun.wait()
                whole += b"mixture.step" in said
            assert body.read() == b"\xff\xff\xff\xff" + bytes(4)  # Arrow's end, and then the answer's
            return {key.decode(): value.decode() for key, value in said.items()} | {"whole": str(whole)}

        endings = [pool.submit(read, rank) for rank in range(8)]
        slow = asked(service.address, "last_step=4999")
        begun.wait()
        began = time.monotonic()
        service.end(signal.SIGTERM)
        assert time.monotonic() - began < 5
        slow.close()
        for one in endings:
            ending = one.result()
            assert ending["mixture.end"] == "stopping"
            assert ending["mixture.next_step"] == ending["whole"]


def test_a_store_that_fails_in_the_middle_leaves_no_body_that_could_be_taken_for_whole(tmp_path: Path):
    what = made_in(tmp_path, CODE_THEN_WEB, 30)
    web = next(path for path in what.store.path.rglob("*.arrow") if "web" in str(path))
    away = web.with_suffix(".away")
    with ServiceProcess(what) as service:
        httpx2.get(f"{service.url}/store").raise_for_status()  # it was opened, whole
        web.rename(away)
        body = urllib.request.urlopen(f"{service.url}/batches?last_step=29", timeout=30)
        reader = pa.ipc.open_stream(body)
        whole = 0
        while True:
            record, metadata = reader.read_next_batch_with_custom_metadata()
            said = dict(metadata or {})
            if b"mixture.end" in said:
                break
            whole += b"mixture.step" in said
        assert record.num_rows == 0
        assert said == {b"mixture.end": b"failed", b"mixture.next_step": b"20", b"mixture.code": b"file-missing"}
        assert whole == 20
        with pytest.raises(http.client.IncompleteRead):
            body.read()

        with open_remote_stream(service.url, patience_seconds=60) as stream:
            first = [next(stream) for _ in range(20)]
            mended = threading.Timer(0.3, lambda: away.rename(web))
            mended.start()
            rest = list(stream)
        assert httpx2.get(f"{service.address}/healthz").status_code == 200
    assert bytes_of(first + rest) == bytes_of(open_stream(what.lock, what.store))


@pytest.mark.parametrize(
    ("harm", "code"), [("cut short", b"file-size"), ("overwritten", b"store-changed")], ids=["cut short", "overwritten"]
)
def test_a_store_that_is_written_to_in_place_is_not_streamed_and_the_service_goes_on(
    tmp_path: Path, harm: str, code: bytes
):
    what = made_in(tmp_path, CODE_THEN_WEB, 30)
    web = next(path for path in what.store.path.rglob("*.arrow") if "web" in str(path))
    with ServiceProcess(what) as service:
        assert httpx2.get(f"{service.url}/batches?last_step=29").status_code == 200  # all files are open
        if harm == "cut short":
            os.truncate(web, 5000)
        else:
            with web.open("r+b") as file:
                file.write(bytes(web.stat().st_size))
        body = urllib.request.urlopen(f"{service.url}/batches?last_step=29", timeout=30)
        reader = pa.ipc.open_stream(body)
        said: dict[bytes, bytes] = {}
        while b"mixture.end" not in said:
            said = dict(reader.read_next_batch_with_custom_metadata()[1] or {})
        assert said == {b"mixture.end": b"failed", b"mixture.next_step": b"20", b"mixture.code": code}
        assert httpx2.get(f"{service.address}/healthz").status_code == 200
