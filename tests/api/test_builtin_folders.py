"""Mixtures from folders: found, named, and read anew when their files change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from api_helpers import MIXTURES, ask, client_of
from stream_helpers import DOMAINS, make_store

from api.builtin import BuiltinMixtures
from api.stores import Stores
from mixture.plan import make_lock, make_plan, write_lock
from mixture.spec import load_spec

CELLS = "domain,tokens\na,200000\nb,90000\n"
SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: {steps} steps
phases:
  - phase: only
    weights: {{a: 50%, b: 50%}}
"""


def write(folder: Path, *, steps: int) -> str:
    """A mixture in a folder; gives its digest."""
    folder.mkdir(exist_ok=True)
    (folder / "cells.csv").write_text(CELLS, encoding="utf-8")
    (folder / "mixture.yaml").write_text(SPEC.format(steps=steps), encoding="utf-8")
    lock = make_lock(make_plan(load_spec(folder / "mixture.yaml")))
    write_lock(lock, folder / "mixture.lock.json")
    return lock.digest


def names(*folders: Path) -> list[str]:
    return list(BuiltinMixtures(folders, (), Stores(())).all())


def test_a_folder_is_a_mixture_or_holds_some(tmp_path: Path):
    write(tmp_path / "one", steps=10)
    assert names(tmp_path / "one") == names(tmp_path) == ["small"]
    assert names(tmp_path / "not there") == []


def test_two_with_one_name_are_both_there(tmp_path: Path):
    first, second = write(tmp_path / "one", steps=10), write(tmp_path / "two", steps=11)
    found = BuiltinMixtures((tmp_path,), (), Stores(())).all()
    assert {name: one.digest for name, one in found.items()} == {"small": first, "small-2": second}
    assert found["small-2"].name == "small-2"


def test_a_mixture_that_does_not_hold_together_is_left_out_and_the_others_are_there(tmp_path: Path):
    write(tmp_path / "bad", steps=10)
    (tmp_path / "bad" / "cells.csv").write_text("domain,tokens\na,1\n", encoding="utf-8")
    shutil.copytree(MIXTURES / "demo", tmp_path / "demo")
    assert names(tmp_path) == ["demo"]


def test_a_name_that_no_address_can_have_gives_way_to_the_folders(tmp_path: Path):
    write(tmp_path / "fine", steps=10)
    spec = tmp_path / "fine" / "mixture.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("small", "klein & größer.csv"), encoding="utf-8")
    write_lock(make_lock(make_plan(load_spec(spec))), tmp_path / "fine" / "mixture.lock.json")
    assert names(tmp_path) == ["fine"]


def test_a_folder_that_is_rewritten_gives_the_old_answers_and_then_the_new_ones(make_app, tmp_path: Path):
    folder = tmp_path / "small"
    old = write(folder, steps=10)
    app = make_app(mixtures_dirs=(folder,))
    with client_of(app) as client:
        assert client.get("/v1/mixtures/small").json()["digest"] == old
        (folder / "mixture.yaml").write_text(SPEC.format(steps=20), encoding="utf-8")
        half = client.get("/v1/mixtures/small").raise_for_status().json()
        assert (half["digest"], half["steps"]) == (old, 10)
        new = write(folder, steps=20)
        assert client.get("/v1/mixtures/small").json()["digest"] == new
        assert client.get("/v1/mixtures").json()["items"][0]["steps"] == 20
        pinned = client.get(f"/v1/mixtures/small@sha256:{old}").raise_for_status().json()
        assert (pinned["digest"], pinned["steps"]) == (old, 10)


@pytest.fixture
def streamable(tmp_path: Path) -> Path:
    """A folder with a mixture over a store that lies elsewhere: ./mix and ./made/store."""
    store = make_store(tmp_path / "made", DOMAINS)
    folder = tmp_path / "mix"
    folder.mkdir()
    rows = "".join(f"{name},{one.tokens}\n" for name, one in store.domains.items())
    (folder / "cells.csv").write_text("domain,tokens\n" + rows, encoding="utf-8")
    text = SPEC.format(steps=5).replace("a: 50%, b: 50%", "code: 50%, web: 50%")
    (folder / "mixture.yaml").write_text(text, encoding="utf-8")
    write_lock(make_lock(make_plan(load_spec(folder / "mixture.yaml"))), folder / "mixture.lock.json")
    return tmp_path


def test_a_mixture_has_the_first_store_whose_domains_are_its_own(make_app, streamable: Path):
    other = {"code": {"x": "other"}, "notes": {"y": "text"}, "web": {"z": "here"}}
    make_store(streamable / "stores" / "a", other)
    (streamable / "made" / "store").rename(streamable / "stores" / "b")
    app = make_app(mixtures_dirs=(streamable / "mix",), store_dirs=(streamable / "stores" / "a", streamable / "stores"))
    shown = ask(app, "GET", "/v1/mixtures/small/store").raise_for_status().json()
    assert [one["domain"] for one in shown["domains"]] == ["code", "notes", "web"]
    assert (shown["tokenizer"], shown["dtype"]) == ("bytes", "uint16")


def test_a_store_that_comes_later_is_found(make_app, streamable: Path):
    app = make_app(mixtures_dirs=(streamable / "mix",), store_dirs=(streamable / "later",))
    assert ask(app, "GET", "/v1/mixtures/small/store").status_code == 404
    (streamable / "later").mkdir()
    (streamable / "made" / "store").rename(streamable / "later" / "store")
    assert ask(app, "GET", "/v1/mixtures/small/store").status_code == 200
