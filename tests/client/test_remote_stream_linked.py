"""A run over token files in place, streamed from a service: the same batches and the same states as here."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_helpers import serving
from service_process import NAME
from stream_helpers import bytes_of

from mixture.api.app import create_app
from mixture.api.settings import Settings
from mixture.client import open_remote_stream
from mixture.data.derived import ExportFormat, export_store
from mixture.data.linking import build_catalog
from mixture.data.store import Store, open_store
from mixture.stream import open_stream


@pytest.fixture
def linked(tmp_path: Path, store: Store) -> Store:
    """The text of the store in Megatron's files, as a catalog."""
    export_store(store, ExportFormat.MEGATRON, tmp_path / "files")
    build_catalog(tmp_path / "files" / "sources.yaml", tmp_path / "catalog")
    return open_store(tmp_path / "catalog")


def test_a_run_over_files_in_place_is_streamed_and_goes_on_here_and_there(make, linked):
    run = make(over=linked)
    with serving(create_app(Settings(**run.settings))) as address:
        url = f"{address}/v1/mixtures/{NAME}"
        local = open_stream(run.lock, linked, 1, 3, documents=True)
        with open_remote_stream(url, 1, 3, documents=True) as remote:
            assert remote.store.domains == dict(linked.domains)
            begun = [next(remote) for _ in range(20)]
            assert bytes_of(begun) == bytes_of(next(local) for _ in range(20))
            assert remote.state_dict() == local.state_dict()
            assert remote.state_dict()["content"].startswith("files:")
        with open_remote_stream(url) as again:
            again.load_state_dict(local.state_dict())
            assert bytes_of(again) == bytes_of(open_stream(run.lock, linked, first_step=20))
