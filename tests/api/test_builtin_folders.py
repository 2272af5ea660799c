"""Mixtures from folders: found, named, and read anew when their files change."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from api_helpers import MIXTURES, ask, client_of
from stream_helpers import DOMAINS, make_store

from api.builtin import BuiltinMixtures
from api.repository import Scope
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
    folder.mkdir(parents=True, exist_ok=True)
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
        moves = client.get("/v1/mixtures/small/moves").json()["items"]
    assert [(move["revision"], move["from_digest"], move["to_digest"], move["by"]) for move in moves] == [
        (1, None, old, None),
        (2, old, new, None),
    ]


PARTS = ("/spec", "/plan", "/lock", "/composition", "/counts?step=5", "/positions?start=0&count=20")


def texts(app, digest: str) -> list[str]:
    catalog = ask(app, "GET", f"/v1/catalogs/small@sha256:{digest}/domains").raise_for_status().text
    found = [ask(app, "GET", f"/v1/mixtures/small@sha256:{digest}{part}") for part in PARTS]
    return [catalog, *(answer.raise_for_status().text for answer in found)]


def registered(app) -> tuple[str, dict[str, str]]:
    """The address of a new run of `small`, and the headers that reports to it take."""
    secret = app.state.services.repository.add_token("trainer", [Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    answer = ask(app, "POST", "/v1/runs", json={"mixture": "small"}, headers=headers)
    return answer.raise_for_status().json()["url"], headers


def test_what_was_read_of_a_folder_is_there_by_its_digest_after_a_change_and_a_restart(make_app, tmp_path: Path):
    folder = tmp_path / "small"
    old = write(folder, steps=10)
    first = make_app(mixtures_dirs=(folder,))
    run, headers = registered(first)
    before = texts(first, old)
    new = write(folder, steps=20)
    again = make_app(mixtures_dirs=(folder,))
    assert ask(again, "GET", "/v1/mixtures/small").json()["digest"] == new
    assert texts(again, old) == before
    reported = ask(again, "POST", f"{run}/progress", json={"step": 10}, headers=headers)
    assert reported.status_code == 201
    assert ask(again, "GET", run).json()["standing"]["steps"] == 10
    assert [move["to_digest"] for move in ask(again, "GET", "/v1/mixtures/small/moves").json()["items"]] == [old, new]
    shutil.rmtree(folder)
    without = make_app(mixtures_dirs=(tmp_path,))
    assert ask(without, "GET", "/v1/mixtures/small").status_code == 404
    assert ask(without, "GET", "/v1/mixtures").json()["items"] == []
    assert texts(without, old) == before


def test_a_folder_hides_what_was_published_under_its_name_but_not_its_digests(
    make_app, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    app = make_app(mixtures_dirs=(nothing,))
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]
    body = {"spec": SPEC.format(steps=7), "tables": {"cells.csv": CELLS}}
    headers = {"Authorization": f"Bearer {secret}"}
    published = ask(app, "PUT", "/v1/mixtures/small", json=body, headers=headers).raise_for_status().json()["digest"]
    run, runner = registered(app)
    before = texts(app, published)

    own = write(tmp_path / "small", steps=10)
    hiding = make_app(mixtures_dirs=(tmp_path / "small",))
    with caplog.at_level(logging.WARNING, "mixture.service"):
        assert ask(hiding, "GET", "/v1/mixtures/small").json()["digest"] == own
    assert [one.getMessage() for one in caplog.records if published in one.getMessage()]
    assert texts(hiding, published) == before
    assert ask(hiding, "POST", f"{run}/progress", json={"step": 7}, headers=runner).status_code == 201
    moves = ask(hiding, "GET", "/v1/mixtures/small/moves").json()["items"]
    assert [(move["to_digest"], move["by"]) for move in moves] == [(published, "ann"), (own, None)]
    assert [one["digest"] for one in ask(hiding, "GET", "/v1/mixtures").json()["items"]] == [own]

    without = make_app(mixtures_dirs=(nothing,))
    shown = ask(without, "GET", "/v1/mixtures/small").json()
    assert (shown["digest"], shown["source"]) == (published, "published")
    assert ask(without, "GET", f"/v1/mixtures/small@sha256:{own}").json()["source"] == "builtin"
    moved = ask(
        without,
        "PUT",
        "/v1/mixtures/small",
        json=body | {"spec": SPEC.format(steps=8)},
        headers=headers | {"If-Match": f'"sha256:{published}"'},
    )
    assert moved.raise_for_status().json()["replaced"] == published


def test_the_name_of_a_folder_that_is_gone_is_free(make_app, tmp_path: Path):
    write(tmp_path / "mixtures" / "small", steps=10)
    assert ask(make_app(mixtures_dirs=(tmp_path / "mixtures",)), "GET", "/v1/mixtures/small").status_code == 200
    app = make_app(mixtures_dirs=())
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH])[1]
    body = {"spec": SPEC.format(steps=10), "tables": {"cells.csv": CELLS}}
    answer = ask(app, "PUT", "/v1/mixtures/small", json=body, headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.json()["change"]) == (201, "created")
    shown = ask(app, "GET", "/v1/mixtures/small").json()
    assert shown["source"] == "published"
    assert shown["published"] is not None
    assert app.state.services.repository.get("small").by == "ann"


def test_without_a_database_folders_are_read_and_their_digests_are_not_promised_for_good(make_app, tmp_path: Path):
    digest = write(tmp_path / "small", steps=10)
    (tmp_path / "file").touch()
    app = make_app(mixtures_dirs=(tmp_path / "small",), data_dir=tmp_path / "file" / "data")
    for address in ("small", f"small@sha256:{digest}"):
        answer = ask(app, "GET", f"/v1/mixtures/{address}/plan").raise_for_status()
        assert "immutable" not in answer.headers["cache-control"]
    (tmp_path / "file").unlink()
    again = make_app(mixtures_dirs=(tmp_path / "small",), data_dir=tmp_path / "file" / "data")
    answer = ask(again, "GET", f"/v1/mixtures/small@sha256:{digest}/lock")
    assert "immutable" in answer.headers["cache-control"]


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
