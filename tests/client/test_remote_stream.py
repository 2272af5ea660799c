"""A stream from a service is a local stream: the same batches, states, and errors."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_helpers import serving
from service_process import NAME, Shown, free_port
from stream_helpers import DOMAINS, bytes_of, make_store

from mixture.api.app import create_app
from mixture.api.database import Repository, Scope
from mixture.api.settings import Settings
from mixture.client import RemoteStream, open_remote_stream
from mixture.errors import MixtureError, ServiceError, StreamError
from mixture.stream import LocalStream, open_stream

PHASES_THAT_PART = """
  - phase: first
    until: step 17
    weights: {code: 60%, notes: 40%}
  - phase: second
    batch: 48 sequences
    sequence_length: 128
    weights: {code: 51%, web: 49%}
"""
OPTIONS: list[dict[str, Any]] = [
    {},
    {"rank": 3, "world_size": 8},
    {"rank": 1, "world_size": 5, "uneven": True},
    {"rank": 0, "world_size": 60, "uneven": True},
    {"first_step": 16, "next_token": True},
    {"first_step": 40},
    {"documents": True},
    {"documents": True, "next_token": True, "first_step": 16, "rank": 1, "world_size": 2},
    {"documents": True, "rank": 0, "world_size": 60, "uneven": True},
]


@pytest.fixture
def both(url: str, run: Shown) -> Callable[..., tuple[RemoteStream, LocalStream]]:
    """The same stream from the service and from the store."""
    return lambda **options: (open_remote_stream(url, **options), open_stream(run.lock, run.store, **options))


@pytest.mark.parametrize("options", OPTIONS)
def test_batches_are_those_of_a_local_stream_with_their_types(both, options: dict[str, Any]):
    remote, local = both(**options)
    assert (remote.domains, remote.step, remote.steps) == (local.domains, local.step, local.steps)
    found, expected = list(remote), list(local)
    assert bytes_of(found) == bytes_of(expected)
    for batch, other in zip(found, expected, strict=True):
        assert batch.step == other.step
        for name in ("input_ids", "domain", "position", "epoch", "first_token"):
            array, wanted = getattr(batch, name), getattr(other, name)
            assert (array.shape, array.dtype) == (wanted.shape, wanted.dtype)
            array[...] = 0  # a trainer's own
        assert (batch.spans is None) == (other.spans is None) == ("documents" not in options)
        if batch.spans is None or other.spans is None:
            continue
        for name in ("offsets", "document", "end"):
            array, wanted = getattr(batch.spans, name), getattr(other.spans, name)
            assert (array.tolist(), array.dtype) == (wanted.tolist(), wanted.dtype)
            array[...] = 0
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(remote)


def test_a_batch_stays_what_it_is_while_others_are_read(url: str):
    with open_remote_stream(url) as stream:
        first = next(stream)
        held = bytes_of([first])
        for _ in stream:
            pass
    assert bytes_of([first]) == held


def test_all_that_a_local_stream_can_be_asked_for_a_remote_one_can():
    local, remote = (inspect.signature(one).parameters for one in (open_stream, open_remote_stream))
    # The store is the service's, and so is where it lies, and looking at it.
    asked = {*local} - {"lock", "store", "verify", "objects", "fetch_ahead"}
    assert asked <= {*remote}
    for name in asked:
        assert (remote[name].kind, remote[name].default) == (local[name].kind, local[name].default)
    public = {name for name in dir(LocalStream) if not name.startswith("_")} - {"at"}  # a service gives steps
    assert public <= {name for name in dir(RemoteStream) if not name.startswith("_")}


def test_states_are_those_of_a_local_stream_at_every_step(both):
    remote, local = both()
    assert remote.state_dict() == local.state_dict()
    for _ in zip(remote, local, strict=True):
        assert remote.state_dict() == local.state_dict()


@pytest.mark.parametrize("step", [0, 5, 17, 18, 40])
def test_a_checkpoint_moves_from_a_local_stream_to_a_service_and_back(both, step: int):
    first_remote, first_local = both()
    read = [next(first_local) for _ in range(step)]
    remote, local = both(rank=1, world_size=2)
    remote.load_state_dict(json.loads(json.dumps(first_local.state_dict())))
    for _ in range(step):
        next(first_remote)
    local.load_state_dict(json.loads(json.dumps(first_remote.state_dict())))
    assert len(read) == step
    assert bytes_of(remote) == bytes_of(local)
    assert remote.state_dict() == local.state_dict()


def test_closed_and_asked_again_it_goes_on(url: str, run: Shown):
    stream = open_remote_stream(url)
    read = []
    for batch in stream:
        read.append(batch)
        stream.close()
    assert bytes_of(read) == bytes_of(open_stream(run.lock, run.store))


def test_an_address_may_say_which_lock_it_has_to_be(url: str, run: Shown):
    with open_remote_stream(f"{url}@sha256:{run.lock.digest}/") as stream:
        assert stream.lock == run.lock
    with pytest.raises(ServiceError) as caught:
        open_remote_stream(f"{url}@sha256:{'0' * 64}")
    assert caught.value.code == "unknown-mixture"


@pytest.mark.parametrize(
    "options",
    [{"world_size": 7}, {"rank": 2, "world_size": 2}, {"rank": -1}, {"first_step": 41}, {"first_step": -1}],
)
def test_what_a_local_stream_refuses_is_refused_alike(both, url: str, run: Shown, options: dict[str, Any]):
    with pytest.raises(MixtureError) as local:
        open_stream(run.lock, run.store, **options)
    with pytest.raises(MixtureError) as remote:
        open_remote_stream(url, **options)
    assert (type(remote.value), remote.value.code) == (type(local.value), local.value.code)
    assert remote.value.facts == local.value.facts


def test_states_of_other_runs_and_no_states_are_refused_as_they_are_locally(url: str, make):
    other = make(PHASES_THAT_PART)
    stream = open_stream(other.lock, other.store, first_step=30)
    with pytest.raises(StreamError, match="part between step 17 and step 30") as caught:
        open_remote_stream(url).load_state_dict(stream.state_dict())
    assert caught.value.code == "history-differs"
    with pytest.raises(StreamError) as caught:
        open_remote_stream(url).load_state_dict({"step": 3})
    assert caught.value.code == "state-invalid"
    begun = open_remote_stream(url)
    next(begun)
    with pytest.raises(StreamError) as caught:
        begun.load_state_dict(begun.state_dict())
    assert caught.value.code == "stream-started"


def test_a_run_continued_on_other_content_says_why(tmp_path: Path, run: Shown, make):
    text = DOMAINS["code"]["code-3"]
    changed = make_store(tmp_path / "changed", DOMAINS | {"code": DOMAINS["code"] | {"code-3": text.swapcase()}})
    other = make(over=changed)
    state = open_stream(run.lock, run.store, first_step=4).state_dict()
    with serving(create_app(Settings(**other.settings))) as address:
        at = f"{address}/v1/mixtures/{NAME}"
        with pytest.raises(StreamError) as caught:
            open_remote_stream(at).load_state_dict(state)
        assert caught.value.code == "content-differs"
        told = open_remote_stream(at, accept_content="one document was corrected")
        told.load_state_dict(state)
        local = open_stream(other.lock, changed, accept_content="one document was corrected")
        local.load_state_dict(state)
        assert bytes_of(told) == bytes_of(local)
        assert told.state_dict() == local.state_dict()
        assert told.state_dict()["accepted"][0]["reason"] == "one document was corrected"


@pytest.mark.parametrize(
    "address", ["m", "ftp://127.0.0.1/v1/mixtures/m", "http:///v1/mixtures/m", "file:///etc/passwd"]
)
def test_what_is_no_address_is_refused(address: str):
    with pytest.raises(ServiceError) as caught:
        open_remote_stream(address)
    assert caught.value.code == "url-invalid"


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/mixtures", "/v1/mixtures/", "/v1/mixtures/m/batches"])
def test_an_address_of_no_mixture_is_refused_with_where_they_are_listed(path: str):
    with pytest.raises(ServiceError, match=r"http://lab:8000/v1/mixtures lists them") as caught:
        open_remote_stream(f"http://lab:8000{path}")
    assert caught.value.code == "url-invalid"


def test_a_service_that_has_never_answered_is_given_up_sooner():
    with pytest.raises(ServiceError) as caught:
        open_remote_stream(f"127.0.0.1:{free_port()}/v1/mixtures/m", patience_seconds=3600, opening_seconds=0.5)
    assert caught.value.code == "service-unreachable"


def test_a_service_without_tls_is_said_at_once(url: str):
    with pytest.raises(ServiceError) as caught:
        open_remote_stream(url.replace("http:", "https:"), opening_seconds=3600)
    assert caught.value.code == "url-invalid"
    assert url in str(caught.value.hint)


def test_a_service_that_is_not_there_is_given_up_when_patience_ends():
    with pytest.raises(ServiceError) as caught:
        open_remote_stream(f"http://127.0.0.1:{free_port()}/v1/mixtures/m", patience_seconds=0.5)
    assert caught.value.code == "service-unreachable"
    assert caught.value.facts["attempts"] >= 2


def test_a_mixture_without_a_store_or_without_a_name_here_is_refused_at_once(run: Shown):
    with serving(create_app(Settings(**run.settings | {"store_dirs": ()}))) as address:
        with pytest.raises(ServiceError) as caught:
            open_remote_stream(f"{address}/v1/mixtures/{NAME}")
        assert caught.value.code == "store-missing"
        with pytest.raises(ServiceError) as unknown:
            open_remote_stream(f"{address}/v1/mixtures/{NAME}m")
        assert unknown.value.code == "unknown-mixture"
        assert unknown.value.hint == f"did you mean '{NAME}'?"


def test_a_token_opens_what_takes_one_and_is_not_shown(run: Shown, tmp_path: Path):
    app = create_app(Settings(**run.settings | {"public_reads": False, "data_dir": tmp_path / "data"}))
    repository: Repository = app.state.services.repository
    _, secret = repository.add_token("trainer", {Scope.READ})
    with serving(app) as address:
        at = f"{address}/v1/mixtures/{NAME}"
        stream = open_remote_stream(at, token=secret)
        assert bytes_of(stream) == bytes_of(open_stream(run.lock, run.store))
        for wrong, code in ((None, "token-missing"), ("no-token", "token-invalid")):
            with pytest.raises(ServiceError) as caught:
                open_remote_stream(at, token=wrong)
            assert caught.value.code == code
            assert "no-token" not in str(caught.value)


def test_rows_have_the_places_that_the_schedule_says(url: str, run: Shown):
    schedule = run.lock.schedule()
    for batch in open_remote_stream(url):
        before = schedule.positions_before(batch.step)
        rows = schedule.rows(before, len(batch))
        assert np.array_equal(batch.domain, rows.domain)
        assert np.array_equal(batch.first_token, rows.first_token)
