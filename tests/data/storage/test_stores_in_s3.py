"""A store in a bucket of a real S3 server is the store that it was put there from."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data.storage.conftest import Bucket, Run
from stream_helpers import bytes_of, rows_of

from mixture.data.storage import ObjectOptions
from mixture.data.store import Verify, open_store, verify_store
from mixture.errors import StoreError
from mixture.stream import open_stream, read_ahead

pytestmark = [
    pytest.mark.needs_objects,
    pytest.mark.skipif(
        importlib.util.find_spec("moto") is None and "MIXTURE_TEST_ALL" not in os.environ,
        reason="obstore and moto are not installed",
    ),
]
Options = Callable[..., ObjectOptions]


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize(("world_size", "next_token"), [(1, False), (2, True), (8, True)])
def test_a_run_reads_the_same_bytes_as_from_the_disk(
    run: Run, in_s3: str, s3: Bucket, options: Options, tmp_path: Path, is_cached, world_size, next_token
):
    """Few ranks read whole blocks, many read rows."""
    cache = tmp_path / "cache" if is_cached else None
    objects = options(settings=s3.settings, cache=cache)
    asked = {"world_size": world_size, "next_token": next_token, "documents": True}
    for rank in range(world_size):
        here = open_stream(run.lock, run.store, rank, **asked)
        there = open_stream(run.lock, in_s3, rank, objects=objects, **asked)
        assert there.store.source == in_s3
        for one, other in zip(here, there, strict=True):
            assert bytes_of([one]) == bytes_of([other])
            assert one.spans is not None
            assert other.spans is not None
            assert np.array_equal(one.spans.document, other.spans.document)
        assert here.state_dict() == there.state_dict()


def test_a_stream_that_reads_ahead_and_is_resumed_elsewhere_reads_each_row_once(
    run: Run, in_s3: str, s3: Bucket, options: Options
):
    objects = options(settings=s3.settings)
    with read_ahead(open_stream(run.lock, in_s3, objects=objects, fetch_ahead=7)) as first:
        begun = [next(first) for _ in range(17)]
        state = first.state_dict()
    second = open_stream(run.lock, in_s3, objects=objects)
    second.load_state_dict(state)
    assert rows_of([*begun, *second]) == rows_of(open_stream(run.lock, run.store))


def test_documents_labels_and_tokens_are_the_same(run: Run, in_s3: str, s3: Bucket, options: Options):
    here, there = run.store, open_store(in_s3, objects=options(settings=s3.settings))
    assert there.digest == here.digest
    assert there.domains == here.domains
    assert there.labels == here.labels
    for name, domain in here.domains.items():
        assert np.array_equal(there.read(name, 0, domain.tokens), here.read(name, 0, domain.tokens))
        assert there.documents(name, 5, 900) == here.documents(name, 5, 900)
    assert there.document("web-7") == here.document("web-7")


def test_it_is_verified_where_it_lies_and_crosses_processes(run: Run, in_s3: str, s3: Bucket, options: Options):
    objects = options(settings=s3.settings)
    assert verify_store(in_s3, lock=run.lock, objects=objects) == []
    store = open_store(in_s3, verify=Verify.FULL, objects=objects)
    assert pickle.loads(pickle.dumps(store)).digest == store.digest


def test_a_byte_that_was_changed_before_it_was_opened_is_found_by_verifying(run: Run, s3: Bucket, options: Options):
    url = s3.put(run.store.path, "changed/store")
    path = next((run.store.path / "tokens").iterdir())
    data = bytearray(path.read_bytes())
    data[4500] ^= 1
    _put(s3, f"changed/store/tokens/{path.name}", bytes(data))
    objects = options(settings=s3.settings)
    assert open_store(url, objects=objects).verified is Verify.SIZES
    with pytest.raises(StoreError) as caught:
        open_store(url, verify="full", objects=objects)
    assert caught.value.code == "digest-differs"
    (error,) = verify_store(url, objects=objects)
    assert str(error.place) == f"{url}/tokens/{path.name}"


@pytest.mark.parametrize("world_size", [1, 8])
def test_an_object_that_was_replaced_after_it_was_opened_is_refused(
    run: Run, s3: Bucket, options: Options, world_size: int
):
    url = s3.put(run.store.path, "replaced/store")
    stream = open_stream(run.lock, url, world_size=world_size, objects=options(settings=s3.settings))
    for path in (run.store.path / "tokens").iterdir():
        _put(s3, f"replaced/store/tokens/{path.name}", path.read_bytes()[::-1])
    with pytest.raises(StoreError, match="replaced/store/tokens") as caught:
        next(stream)
    assert caught.value.code == "store-changed"
    assert {"start", "stop"} <= set(caught.value.facts)


def test_a_store_that_lacks_a_file_or_a_kilobyte_is_refused_before_a_batch_is_read(
    run: Run, s3: Bucket, options: Options
):
    objects = options(settings=s3.settings)
    paths = sorted((run.store.path / "tokens").iterdir())
    url = s3.put(run.store.path, "short/store")
    _put(s3, f"short/store/tokens/{paths[-1].name}", paths[-1].read_bytes()[:-1024])
    with pytest.raises(StoreError, match="domain 'web': the file has") as caught:
        open_stream(run.lock, url, objects=objects)
    assert caught.value.code == "file-size"
    _delete(s3, f"short/store/tokens/{paths[-1].name}")
    with pytest.raises(StoreError, match="domain 'web': the file is missing") as caught:
        open_stream(run.lock, url, objects=objects)
    assert caught.value.code == "file-missing"
    _delete(s3, "short/store/store.json")
    with pytest.raises(StoreError, match=r"has no store\.json") as caught:
        open_store(url, objects=objects)
    assert caught.value.code == "store-missing"


def test_settings_and_buckets_that_are_wrong_are_named(s3: Bucket, in_s3: str, options: Options):
    with pytest.raises(StoreError, match=r"s3://none-such"):
        open_store("s3://none-such/store", objects=options(settings=s3.settings))
    with pytest.raises(StoreError, match=r"s3://texts.*no_such_setting"):
        open_store(in_s3, objects=options(settings=(("no_such_setting", "1"),)))


def _bucket(s3: Bucket):
    from obstore.store import from_url

    return from_url(s3.url, client_options={"allow_http": True}, **dict(s3.settings))


def _put(s3: Bucket, key: str, data: bytes) -> None:
    _bucket(s3).put(key, data)


def _delete(s3: Bucket, key: str) -> None:
    _bucket(s3).delete(key)


FORKED = """
import os, sys
from mixture import open_store
from mixture.data.storage import ObjectOptions
from mixture.errors import StoreError
store = open_store(sys.argv[1], objects=ObjectOptions(settings=tuple(zip(sys.argv[2::2], sys.argv[3::2]))))
store.read("web", 0, 10)
if os.fork() == 0:
    try:
        store.read("web", 5000, 10)
    except StoreError as error:
        print(error.code, error, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_forked_process_is_refused_and_does_not_wait_for_ever(in_s3: str, s3: Bucket):
    """What reads buckets has threads that a fork does not have; spawned workers open the store anew."""
    settings = [word for pair in s3.settings for word in pair]
    command = [sys.executable, "-c", FORKED, in_s3, *settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith("process-forked")
    assert "spawn" in done.stdout
