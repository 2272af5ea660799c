"""Which store a mixture is read from: stores that come later, that could not be opened at first, that are replaced."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from api_helpers import ask
from fastapi import FastAPI
from mixture_folder import write_mixture
from stream_helpers import DOMAINS, make_store

from mixture.api.registry.stores import RETRY_SECONDS, Stores
from mixture.errors import StoreError
from mixture.lock import Lock, read_lock

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 5 steps
phases:
  - phase: only
    weights: {code: 50%, web: 50%}
"""
OTHER = {name: {key: text.swapcase() for key, text in texts.items()} for name, texts in DOMAINS.items()}
"""As many tokens in every domain, and other ones."""


class Clock:
    """A clock that stands still until it is told."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A mixture without content digests in ./mix, over the store in ./stores/one; ./other is of the same sizes."""
    store = make_store(tmp_path / "first", DOMAINS)
    rows = "".join(f"{name},{one.tokens}\n" for name, one in store.domains.items())
    write_mixture(tmp_path / "mix", SPEC, cells=f"domain,tokens\n{rows}")
    (tmp_path / "stores").mkdir()
    store.path.rename(tmp_path / "stores" / "one")
    make_store(tmp_path / "second", OTHER).path.rename(tmp_path / "other")
    return tmp_path


@pytest.fixture
def lock(made: Path) -> Lock:
    return read_lock(made / "mix" / "mixture.lock.json")


def token_file(store: Path) -> Path:
    return sorted((store / "tokens").iterdir())[0]


def test_a_store_that_could_not_be_opened_is_tried_again(made: Path, lock: Lock):
    missing, clock = token_file(made / "stores" / "one"), Clock()
    missing.rename(made / "kept")
    stores = Stores([made / "stores"], clock=clock)
    assert stores.of(lock) is None
    (made / "kept").rename(missing)
    assert stores.of(lock) is None
    clock.seconds += RETRY_SECONDS
    found = stores.of(lock)
    assert found is not None
    assert found.path == made / "stores" / "one"


def test_why_a_store_is_left_out_is_said_when_it_changes(made: Path, lock: Lock, caplog: pytest.LogCaptureFixture):
    missing, clock = token_file(made / "stores" / "one"), Clock()
    missing.rename(made / "kept")
    stores = Stores([made / "stores"], clock=clock)
    with caplog.at_level(logging.WARNING, "mixture.service"):
        for _ in range(3):
            assert stores.of(lock) is None
            clock.seconds += RETRY_SECONDS
        assert len(caplog.records) == 1
        missing.write_bytes(b"cut")
        assert stores.of(lock) is None
    assert len(caplog.records) == 2


def code_of(stores: Stores, lock: Lock) -> str:
    with pytest.raises(StoreError) as refused:
        stores.of(lock)
    return refused.value.code


def test_a_store_that_is_gone_is_missed_and_found_again_wherever_it_is(made: Path, lock: Lock):
    stores = Stores([made / "stores"], clock=Clock())
    first = stores.of(lock)
    (made / "stores" / "one").rename(made / "away")
    assert code_of(stores, lock) == "store-gone"
    shutil.copytree(made / "away", made / "stores" / "elsewhere")
    found = stores.of(lock)
    assert first is not None
    assert found is not None
    assert (found.path, found.digest) == (made / "stores" / "elsewhere", first.digest)


def test_a_store_of_the_same_content_takes_the_place_of_the_one_that_was_there(made: Path, lock: Lock):
    stores = Stores([made / "stores"], clock=Clock())
    first = stores.of(lock)
    shutil.copytree(made / "stores" / "one", made / "copy")
    shutil.rmtree(made / "stores" / "one")
    (made / "copy").rename(made / "stores" / "one")
    second = stores.of(lock)
    assert first is not None
    assert second is not None
    assert second is not first
    assert second.digest == first.digest


@pytest.fixture
def app(make_app, made: Path) -> FastAPI:
    return make_app(mixtures_dirs=(made / "mix",), store_dirs=(made / "stores",))


ADDRESSES = ("store", "steps/0/sequences", "batches")


def answers(app: FastAPI) -> set[tuple[int, str | None]]:
    found = (ask(app, "GET", f"/v1/mixtures/small/{address}") for address in ADDRESSES)
    return {(one.status_code, one.headers.get("x-error-code")) for one in found}


def test_a_mixture_is_not_read_on_from_a_store_of_other_content(app: FastAPI, made: Path):
    assert answers(app) == {(200, None)}
    (made / "stores" / "one").rename(made / "kept")
    assert answers(app) == {(503, "store-gone")}
    (made / "other").rename(made / "stores" / "one")
    assert answers(app) == {(409, "store-replaced")}
    (made / "stores" / "one").rename(made / "other")
    (made / "kept").rename(made / "stores" / "one")
    assert answers(app) == {(200, None)}
