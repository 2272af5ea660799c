"""Batches of packed rows from a service: with documents, as padding is what is of none."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import numpy as np
import pytest
from api_helpers import client_of
from service_process import Shown, shown
from stream_helpers import DOMAINS, lock_over, make_store

from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.client import open_remote_stream
from mixture.data.derived import pack_store
from mixture.data.layout import PADDING
from mixture.data.store import open_store
from mixture.stream import open_stream


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("packed")
    pack_store(make_store(folder / "made", DOMAINS), folder / "store", sequence_length=256)
    store = open_store(folder / "store")
    keys = {"tokenizer": "bytes", "sequence_length": "256", "batch": "6 sequences", "budget": "9 steps"}
    phases = "  - {phase: all, weights: {code: 30%, notes: 10%, web: 60%}}"
    return shown(lock_over(store, folder / "m", phases, **keys), folder / "m", store)


@pytest.fixture(scope="module")
def client(made: Shown) -> Iterator[httpx2.Client]:
    with client_of(create_app(Settings(**made.settings)), params={}) as one:
        yield one


def test_batches_without_documents_are_refused_as_padding_could_not_be_told(client):
    answer = client.get("/v1/mixtures/m/batches")
    assert (answer.status_code, answer.json()["code"]) == (422, "documents-needed")


@pytest.mark.parametrize("next_token", [False, True])
def test_a_remote_stream_takes_no_loss_where_a_local_one_takes_none(client, made, next_token):
    local = open_stream(made.lock, made.store, next_token=next_token)
    padded = 0
    url = f"{str(client.base_url).rstrip('/')}/v1/mixtures/m"
    with open_remote_stream(url, next_token=next_token, documents=True) as remote:
        for here, there in zip(local, remote, strict=True):
            assert np.array_equal(here.input_ids, there.input_ids)
            assert np.array_equal(here.loss_mask(), there.loss_mask())
            assert np.array_equal(here.padding(), there.padding())
            padded += int((there.spans.document == PADDING).sum())
    assert padded
