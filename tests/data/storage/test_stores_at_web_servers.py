"""A store at a web server that cuts, stalls and refuses: content unchanged, no row twice, bounded attempts."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data.storage.conftest import Run
from data.storage.web_server import Fault, WebServer, web_server
from stream_helpers import bytes_of, rows_of

from mixture.data.storage import ObjectOptions
from mixture.data.store import open_store, verify_store
from mixture.errors import StoreError
from mixture.stream import open_stream

pytestmark = [
    pytest.mark.needs_objects,
    pytest.mark.skipif(
        importlib.util.find_spec("obstore") is None and "MIXTURE_TEST_ALL" not in os.environ,
        reason="obstore and tenacity are not installed",
    ),
]
Options = Callable[..., ObjectOptions]

PASSING = [Fault.CUT, Fault.STALL, Fault.BUSY, Fault.UNAVAILABLE, Fault.OTHER_RANGE]


def test_a_run_reads_the_same_bytes_as_from_the_disk(run: Run, web: WebServer, options: Options):
    there = open_stream(run.lock, f"{web.url}/store", next_token=True, objects=options())
    assert bytes_of(there) == bytes_of(open_stream(run.lock, run.store, next_token=True))
    assert verify_store(f"{web.url}/store", lock=run.lock, objects=options()) == []


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("world_size", [1, 8])
def test_faults_that_pass_change_nothing_that_is_read(
    run: Run, web: WebServer, options: Options, fault: Fault, world_size: int
):
    stream = open_stream(run.lock, f"{web.url}/store", world_size=world_size, objects=options(in_flight=4))
    here = open_stream(run.lock, run.store, world_size=world_size)
    batches = [next(stream)]
    web.faults = [fault, fault]
    batches += list(stream)
    assert rows_of(batches) == rows_of(here)
    assert [batch.step for batch in batches] == list(range(stream.steps))
    assert web.faults == [], "no request met the fault: the test shows nothing"


@pytest.mark.parametrize("fault", PASSING)
def test_faults_of_a_bucket_change_nothing_that_is_read(run: Run, web: WebServer, options: Options, fault: Fault):
    """The same server, asked as one of S3 is."""
    settings = (("endpoint", web.url), ("region", "us-east-1"), ("skip_signature", "true"))
    address = f"s3://{run.store.path.name}"
    stream = open_stream(run.lock, address, world_size=8, objects=options(settings=settings, in_flight=4))
    batches = [next(stream)]
    web.faults = [fault, fault]
    batches += list(stream)
    assert rows_of(batches) == rows_of(open_stream(run.lock, run.store, world_size=8))
    assert web.faults == []


def test_all_kinds_of_faults_at_once_change_nothing(run: Run, web: WebServer, options: Options):
    stream = open_stream(run.lock, f"{web.url}/store", world_size=8, objects=options(in_flight=8, attempts=12))
    web.faults = PASSING * 2
    assert rows_of(stream) == rows_of(open_stream(run.lock, run.store, world_size=8))
    assert web.faults == []


@pytest.mark.parametrize("fault", PASSING)
def test_faults_that_stay_end_in_an_error_that_names_file_and_range(
    run: Run, web: WebServer, options: Options, fault: Fault
):
    """A cut body is asked on where it ended: half of it each time is progress, and still it ends."""
    stream = open_stream(run.lock, f"{web.url}/store", objects=options(attempts=3, stall_seconds=0.2), fetch_ahead=0)
    web.always = fault
    with pytest.raises(StoreError, match=r"bytes [\d,]+ up to [\d,]+ could not be read in 3 attempts") as caught:
        next(stream)
    error = caught.value
    assert error.code == "object-unreachable"
    assert error.place is not None
    assert str(error.place.file).startswith(f"{web.url}/store/tokens/")
    assert error.facts["attempts"] == 3
    assert stream.step == 0
    web.always = None
    assert rows_of(stream) == rows_of(open_stream(run.lock, run.store)), "asked again, it reads the step"


def test_patience_ends_before_attempts_do(run: Run, web: WebServer, options: Options):
    """The server asks to wait a second, and there is half of one."""
    objects = options(attempts=1000, patience_seconds=0.5)
    stream = open_stream(run.lock, f"{web.url}/store", objects=objects, fetch_ahead=0)
    web.always = Fault.BUSY
    with pytest.raises(StoreError, match="429") as caught:
        next(stream)
    assert caught.value.facts["attempts"] == 1


@pytest.mark.parametrize(("fault", "code"), [(Fault.FORBIDDEN, "object-forbidden"), (Fault.NO_RANGES, "server-unfit")])
def test_what_does_not_pass_is_not_tried_again(run: Run, web: WebServer, options: Options, fault: Fault, code: str):
    stream = open_stream(run.lock, f"{web.url}/store", world_size=8, objects=options(), fetch_ahead=0)
    web.always = fault
    with pytest.raises(StoreError) as caught:
        next(stream)
    assert caught.value.code == code
    assert {"start", "stop"} <= set(caught.value.facts)


def test_an_object_that_was_changed_is_refused_and_never_mixed_with_what_it_was(
    run: Run, options: Options, tmp_path: Path
):
    shutil.copytree(run.store.path, tmp_path / "store")
    with web_server(tmp_path) as web:
        stream = open_stream(run.lock, f"{web.url}/store", world_size=8, objects=options(), fetch_ahead=0)
        next(stream)
        for path in (tmp_path / "store" / "tokens").iterdir():
            path.write_bytes(path.read_bytes()[::-1])
        with pytest.raises(StoreError, match="is not the object that it was") as caught:
            list(stream)
        assert caught.value.code == "store-changed"


def test_a_body_that_is_cut_is_not_asked_for_from_its_start_again(run: Run, web: WebServer, options: Options):
    store = open_store(f"{web.url}/store", objects=options())
    web.ranges.clear()
    web.faults = [Fault.CUT]
    tokens = store.domains["web"].tokens
    store.read("web", 0, tokens)
    (_, start, stop), (_, again, end) = web.ranges
    assert start < again < stop == end


def test_rows_that_are_near_come_in_one_request_and_those_that_are_there_in_none(
    run: Run, web: WebServer, options: Options
):
    reader = open_store(f"{web.url}/store", objects=options()).reader(["web"])
    web.ranges.clear()
    domain, first = np.zeros(20, np.int64), np.arange(20) * 100
    rows = reader.rows(domain, first, 64)
    assert len(web.ranges) == 1
    assert np.array_equal(reader.rows(domain, first, 64), rows)
    assert len(web.ranges) == 1


def test_whole_blocks_are_read_once_each_in_an_epoch_of_one_rank(run: Run, web: WebServer, options: Options):
    patient = options(stall_seconds=30)  # a request that is tried again would count twice
    stream = open_stream(run.lock, f"{web.url}/store", objects=patient)
    web.ranges.clear()
    for batch in stream:
        if batch.epoch.max() > 0:
            break
    read: dict[tuple[str, int], int] = {}
    for path, start, stop in web.ranges:
        for byte in range(start, stop, 1024):  # a block has 512 tokens of 2 bytes
            read[path, byte] = read.get((path, byte), 0) + 1
    assert set(read.values()) == {1}


def test_what_is_no_store_or_no_address_is_said(web: WebServer, options: Options):
    for address, code in (
        (f"{web.url}/none", "store-missing"),
        (f"{web.url}/store?token=x", "address-invalid"),
        ("https://me:secret@example.org/store", "address-invalid"),
        ("s3://", "address-invalid"),
    ):
        with pytest.raises(StoreError) as caught:
            open_store(address, objects=options())
        assert caught.value.code == code
        assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_given_up(options: Options):
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9/store") as caught:
        open_store("http://127.0.0.1:9/store", objects=options(attempts=2))
    assert caught.value.code == "object-unreachable"
