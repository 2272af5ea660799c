"""Mixtures from folders: found, named, and read anew when their files change."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_helpers import MIXTURES, ask, client_of
from service_process import until
from stream_helpers import DOMAINS, make_store

from mixture.api.database import Scope
from mixture.api.registry.builtin import RETRY_SECONDS, BuiltinMixtures
from mixture.api.registry.folders import MixtureFiles
from mixture.api.registry.start_report import overview, renamed
from mixture.api.registry.stores import Stores
from mixture.api.settings import Settings
from mixture.lock import Amendment, read_lock, write_lock
from mixture.planning.amend import amend
from mixture.planning.plan import make_lock, make_plan, read_inputs
from mixture.planning.spec import read_spec

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
    lock = make_lock(make_plan(read_spec(folder / "mixture.yaml")))
    write_lock(lock, folder / "mixture.lock.json")
    return lock.digest


def names(*folders: Path) -> list[str]:
    return list(BuiltinMixtures(folders, (), Stores(())).all())


def test_a_folder_is_a_mixture_or_holds_some(tmp_path: Path):
    write(tmp_path / "one", steps=10)
    assert names(tmp_path / "one") == names(tmp_path) == ["small"]
    assert names(tmp_path / "not there") == []


def test_a_spec_and_a_lock_are_named_by_their_files(tmp_path: Path):
    digest = write(tmp_path / "one", steps=10)
    write(tmp_path / "two", steps=20)
    for name, beside in (("run.yaml", "run.lock.json"), ("other.yml", "other.lock.json")):
        shutil.copy(tmp_path / "one" / "mixture.yaml", tmp_path / "two" / name)
        shutil.copy(tmp_path / "one" / "mixture.lock.json", tmp_path / "two" / beside)
    shutil.copy(tmp_path / "one" / "mixture.lock.json", tmp_path / "one" / "amended.lock.json")
    for path in (
        "one", "one/mixture.yaml", "one/mixture.lock.json", "one/amended.lock.json", "two/run.yaml",
        "two/run.lock.json", "two/other.yml", "two/other.lock.json",
    ):  # fmt: skip
        builtin = BuiltinMixtures([tmp_path / path], (), Stores(()))
        (mixture,) = builtin.all().values()
        assert (mixture.name, mixture.digest, mixture.folder) == ("small", digest, (tmp_path / path.split("/")[0])), (
            path
        )
        assert builtin.left_out() == []
    assert names(tmp_path / "two" / "run.yaml", tmp_path / "two") == ["small", "small-2"]


def test_a_spec_without_a_lock_is_locked_as_it_is_read_and_nothing_is_written(tmp_path: Path):
    digest = write(tmp_path / "one", steps=10)
    (tmp_path / "one" / "mixture.lock.json").unlink()
    before = sorted(tmp_path.rglob("*"))
    builtin = BuiltinMixtures([tmp_path / "one" / "mixture.yaml"], (), Stores(()))
    assert builtin.all()["small"].digest == digest
    spec = SPEC.format(steps=30)
    (tmp_path / "one" / "mixture.yaml").write_text(spec, encoding="utf-8")
    changed = builtin.all()["small"]
    assert changed.digest != digest
    assert changed.lock.data.steps == 30
    assert sorted(tmp_path.rglob("*")) == before
    assert write(tmp_path / "one", steps=10) == digest  # with a lock from now on
    assert builtin.all()["small"].digest == digest
    (tmp_path / "one" / "mixture.yaml").write_text(spec, encoding="utf-8")
    assert builtin.all()["small"].digest == digest
    assert [one.code for one in builtin.left_out()] == ["spec-changed"]


def test_of_a_store_a_spec_gives_the_lock_that_fixes_its_text(tmp_path: Path):
    store = make_store(tmp_path / "made", DOMAINS)
    spec = SPEC.format(steps=10).replace("cells.csv", str(store.path)).replace("a: 50%, b: 50%", "code: 50%, web: 50%")
    (tmp_path / "run.yaml").write_text(f"{spec}tokenizer: bytes\n", encoding="utf-8")
    mixture = BuiltinMixtures([tmp_path / "run.yaml"], (), Stores(())).all()["small"]
    content = {name: domain.content for name, domain in store.domains.items()}
    assert mixture.digest == make_lock(make_plan(read_spec(tmp_path / "run.yaml")), content=content).digest


def test_a_file_that_can_not_be_read_is_left_out_by_its_name(tmp_path: Path):
    write(tmp_path / "one", steps=10)
    shutil.copy(tmp_path / "one" / "mixture.lock.json", tmp_path / "run.lock.json")
    (tmp_path / "bad.yaml").write_text("mixture: bad\n", encoding="utf-8")
    builtin = BuiltinMixtures([tmp_path / "run.lock.json", tmp_path / "bad.yaml", tmp_path / "one"], (), Stores(()))
    assert list(builtin.all()) == ["small"]
    lock, spec = builtin.left_out()
    assert (lock.folder, lock.code, lock.detail) == ("run.lock.json", "file-missing", "run.yaml: there is no such file")
    assert (spec.folder, spec.name) == ("bad.yaml", None)


def test_two_with_one_name_are_both_there(tmp_path: Path):
    first, second = write(tmp_path / "one", steps=10), write(tmp_path / "two", steps=11)
    found = BuiltinMixtures((tmp_path,), (), Stores(())).all()
    assert {name: one.digest for name, one in found.items()} == {"small": first, "small-2": second}
    assert found["small-2"].name == "small-2"


def test_a_mixture_that_is_shown_under_another_name_is_said_at_the_start_and_in_the_list(make_app, tmp_path: Path):
    for folder in ("one", "two", "three"):
        write(tmp_path / folder, steps=10)
    builtin = BuiltinMixtures((tmp_path,), (), Stores(()))
    lines = list(renamed(builtin))
    assert lines == [
        f"another folder has a mixture 'small', too: that of {tmp_path}/three is shown as small-2",
        f"another folder has a mixture 'small', too: that of {tmp_path}/two is shown as small-3",
    ]
    app = make_app(mixtures_dirs=(tmp_path,))
    items = ask(app, "GET", "/v1/mixtures").json()["items"]
    assert [(one["name"], one["renamed_from"]) for one in items] == [
        ("small", None),
        ("small-2", "small"),
        ("small-3", "small"),
    ]
    assert ask(app, "GET", "/v1/mixtures/small-2").json()["renamed_from"] == "small"
    assert ask(app, "GET", "/").text.count("as another folder has small") == 2


def test_a_mixture_that_does_not_hold_together_is_left_out_and_the_others_are_there(tmp_path: Path):
    write(tmp_path / "bad", steps=10)
    (tmp_path / "bad" / "cells.csv").write_text("domain,tokens\na,1\n", encoding="utf-8")
    shutil.copytree(MIXTURES / "demo", tmp_path / "demo")
    assert names(tmp_path) == ["demo"]


def test_an_amended_lock_in_a_folder_is_shown_where_the_catalog_still_lists_its_domains(tmp_path: Path):
    folder = tmp_path / "one"
    write(folder, steps=100)
    lock = read_lock(folder / "mixture.lock.json")
    write_lock(amend(lock, 40, skip_steps=1), folder / "mixture.lock.json")
    found = BuiltinMixtures((tmp_path,), (), Stores(())).all()["small"]
    assert found.lock.amends is not None
    assert found.lock.amends.lock == lock.digest
    (folder / "cells.csv").write_text("domain,tokens\na,200000\n", encoding="utf-8")
    (folder / "mixture.yaml").write_text(SPEC.format(steps=100).replace("a: 50%, b: 50%", "a: 100%"), encoding="utf-8")
    shorter = make_lock(make_plan(read_spec(folder / "mixture.yaml"), amends=Amendment(lock, 40)))
    write_lock(shorter, folder / "mixture.lock.json")
    (left,) = BuiltinMixtures((tmp_path,), (), Stores(())).left_out()
    assert left.code == "domain-not-listed"


def test_a_name_that_no_address_can_have_gives_way_to_the_folders(tmp_path: Path):
    write(tmp_path / "fine", steps=10)
    spec = tmp_path / "fine" / "mixture.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("small", "klein & größer.csv"), encoding="utf-8")
    write_lock(make_lock(make_plan(read_spec(spec))), tmp_path / "fine" / "mixture.lock.json")
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


TEXTS = ("", "/spec", "/plan")
PARTS = ("/spec", "/plan", "/lock", "/composition", "/counts?step=5", "/positions?first_position=0&last_position=19")


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


def test_a_better_comment_is_shown_though_the_lock_stays_the_same(make_app, tmp_path: Path):
    digest = write(tmp_path / "small", steps=10)
    app = make_app(mixtures_dirs=(tmp_path / "small",))
    spec = tmp_path / "small" / "mixture.yaml"
    addresses = [f"/v1/mixtures/{ref}{part}" for ref in ("small", f"small@sha256:{digest}") for part in TEXTS]
    before = {address: ask(app, "GET", address).raise_for_status() for address in addresses}
    spec.write_text(f"# Said\n# better.\n{spec.read_text(encoding='utf-8')}", encoding="utf-8")
    for address, old in before.items():
        assert "immutable" not in old.headers["cache-control"]
        new = ask(app, "GET", address, headers={"If-None-Match": old.headers["etag"]})
        assert new.status_code == 200, address
        assert new.headers["etag"] != old.headers["etag"]
        assert (new.text != old.text) is not address.endswith("/plan"), "it has no finding with a place"
        assert ask(app, "GET", address, headers={"If-None-Match": new.headers["etag"]}).status_code == 304
    assert ask(app, "GET", "/v1/mixtures/small").json()["description"] == "Said better."


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
    write_lock(make_lock(make_plan(read_spec(folder / "mixture.yaml"))), folder / "mixture.lock.json")
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


class Clock:
    """A clock that stands still until it is told."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def digest_of(mixtures: BuiltinMixtures) -> str | None:
    found = mixtures.all().get("small")
    return None if found is None else found.digest


def over_a_store(made: Path, folder: Path) -> str:
    """Lock a mixture in a folder over a store that lies elsewhere, `made`, as over ./store; gives its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    text = SPEC.format(steps=5).replace("a: 50%, b: 50%", "code: 50%, web: 50%").replace("cells.csv", "store")
    (folder / "mixture.yaml").write_text(text.replace("store", str(made)), encoding="utf-8")
    lock = make_lock(make_plan(read_spec(folder / "mixture.yaml")))
    (folder / "mixture.yaml").write_text(text, encoding="utf-8")
    write_lock(lock, folder / "mixture.lock.json")
    return lock.digest


def test_a_store_that_comes_after_the_lock_is_seen_without_a_touch_of_the_folder(tmp_path: Path):
    larger = {name: {f"{key} again": text for key, text in texts.items()} | texts for name, texts in DOMAINS.items()}
    folder, made = tmp_path / "small", [make_store(tmp_path / "one", DOMAINS), make_store(tmp_path / "two", larger)]
    first = over_a_store(made[0].path, folder)
    shutil.copytree(made[0].path, folder / "store")
    mixtures = BuiltinMixtures((folder,), (), Stores(()), clock=Clock())
    assert digest_of(mixtures) == first
    second = over_a_store(made[1].path, folder)
    assert digest_of(mixtures) == first, "the lock is that of a store which is not there yet"
    assert [one.code for one in mixtures.left_out()] == ["catalog-changed"]
    (folder / "store").rename(tmp_path / "before")
    assert digest_of(mixtures) == first
    made[1].path.rename(folder / "store")
    assert digest_of(mixtures) == second != first
    assert mixtures.left_out() == []


def test_a_table_in_another_folder_is_watched_too(tmp_path: Path):
    write(tmp_path / "small", steps=10)
    shared = tmp_path / "shared"
    shared.mkdir()
    (tmp_path / "small" / "cells.csv").rename(shared / "cells.csv")
    spec = tmp_path / "small" / "mixture.yaml"
    spec.write_text(SPEC.format(steps=10).replace("cells.csv", "../shared/cells.csv"), encoding="utf-8")
    mixtures = BuiltinMixtures((tmp_path / "small",), (), Stores(()), clock=Clock())
    assert digest_of(mixtures) is not None
    (shared / "cells.csv").write_text(CELLS.replace("200000", "200001"), encoding="utf-8")
    assert digest_of(mixtures) is not None
    (left,) = mixtures.left_out()
    assert (left.folder, left.code, left.digest) == ("small", "catalog-changed", digest_of(mixtures))
    assert str(tmp_path) not in left.detail


def test_a_folder_that_could_not_be_read_is_read_again_after_seconds_though_no_file_seems_to_have_changed(
    tmp_path: Path,
):
    digest, clock = write(tmp_path / "small", steps=10), Clock()
    spec = tmp_path / "small" / "mixture.yaml"
    text, status = spec.read_text(encoding="utf-8"), spec.stat()
    spec.write_text(text.replace("10 steps", "1x steps"), encoding="utf-8")
    os.utime(spec, ns=(status.st_atime_ns, status.st_mtime_ns))
    mixtures = BuiltinMixtures((tmp_path,), (), Stores(()), clock=clock)
    assert digest_of(mixtures) is None
    spec.write_text(text, encoding="utf-8")
    os.utime(spec, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digest_of(mixtures) is None
    clock.seconds += RETRY_SECONDS
    assert digest_of(mixtures) == digest
    assert mixtures.left_out() == []


def test_while_a_folder_is_read_the_others_are_answered_with_what_was_there(tmp_path: Path, monkeypatch):
    first, other = write(tmp_path / "small", steps=10), tmp_path / "demo"
    shutil.copytree(MIXTURES / "demo", other)
    mixtures = BuiltinMixtures((tmp_path,), (), Stores(()))
    assert list(mixtures.all()) == ["demo", "small"]
    second, begun, go_on = write(tmp_path / "small", steps=11), threading.Event(), threading.Event()

    def slowly(*arguments, **options):
        begun.set()
        assert go_on.wait(60)
        return read_inputs(*arguments, **options)

    monkeypatch.setattr("mixture.api.registry.builtin.read_inputs", slowly)
    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(mixtures.all)
        assert begun.wait(60)
        found = mixtures.all()
        assert not reading.done()
        go_on.set()
        assert (list(found), found["small"].digest) == (["demo", "small"], first)
        assert reading.result()["small"].digest == second


def test_what_is_not_a_plain_file_is_refused_and_never_waited_for(tmp_path: Path):
    for name in ("mixture.yaml", "mixture.lock.json", "cells.csv"):
        folder = tmp_path / name.replace(".", "-")
        write(folder, steps=10)
        (folder / name).unlink()
        os.mkfifo(folder / name)
    left = BuiltinMixtures((tmp_path,), (), Stores(())).left_out()
    assert [(one.folder, one.code) for one in left] == [
        (folder, "file-unreadable") for folder in ("cells-csv", "mixture-lock-json", "mixture-yaml")
    ]


def test_what_is_left_out_and_why_is_said_by_readyz_and_to_whoever_asks_for_it(make_app, tmp_path: Path):
    write(tmp_path / "fine", steps=10)
    write(tmp_path / "bad", steps=10)
    spec = tmp_path / "bad" / "mixture.yaml"
    spec.write_text(SPEC.format(steps=10).replace("small", "other").replace("cells.csv", "/no/where.csv"), "utf-8")
    write(tmp_path / "unlocked", steps=10)
    (tmp_path / "unlocked" / "mixture.lock.json").unlink()
    app = make_app(mixtures_dirs=(tmp_path,))
    ready = ask(app, "GET", "/readyz").raise_for_status().json()
    assert (ready["status"], ready["mixtures"]) == ("ready", 1)
    assert [(one["folder"], one["code"], one["digest"]) for one in ready["left_out"]] == [
        ("bad", "file-missing", None),
        ("unlocked", "lock-missing", None),
    ]
    for name, code in (("other", "file-missing"), ("bad", "file-missing"), ("unlocked", "lock-missing")):
        problem = ask(app, "GET", f"/v1/mixtures/{name}").json()
        assert (problem["status"], problem["code"], problem["facts"]["left_out"]) == (404, "unknown-mixture", code)
        assert problem["detail"].endswith(next(one["detail"] for one in ready["left_out"] if one["code"] == code))
    for answer in (ask(app, "GET", "/readyz"), ask(app, "GET", "/v1/mixtures/other")):
        assert str(tmp_path) not in answer.text
        assert "/no/" not in answer.text
        assert "where.csv" in answer.text


@pytest.mark.parametrize(
    "name", ["mixture.yaml", "mixture.lock.json", "cells.csv", "store/store.json", "overview.json"]
)
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "loop", "folder", "gone"])
def test_what_is_no_plain_file_in_a_folder_is_never_waited_for(make_app, tmp_path: Path, name: str, kind: str):
    write(tmp_path / "mixtures" / "bad", steps=10)
    shutil.copytree(MIXTURES / "demo", tmp_path / "mixtures" / "demo")
    file = tmp_path / "mixtures" / "bad" / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "socket":
            with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(file.parent):
                made.bind(file.name)
        case "device":
            file.symlink_to("/dev/zero")
        case "loop":
            file.symlink_to(file.name)
        case "folder":
            file.mkdir()
        case "gone":
            file.symlink_to("nothing")
    app = make_app(mixtures_dirs=(tmp_path / "mixtures",))
    shown = ["demo"] if "/" not in name and name != "overview.json" else ["demo", "small"]
    ready = ask(app, "GET", "/readyz").json()
    assert ready["mixtures"] == len(shown)
    assert all(one["folder"] == "bad" and one["detail"] for one in ready["left_out"])
    assert [one["name"] for one in ask(app, "GET", "/v1/mixtures").json()["items"]] == shown
    for mixture in shown:
        assert ask(app, "GET", f"/catalogs/{mixture}").status_code == 200


def test_folders_that_lead_into_themselves_or_elsewhere_are_looked_at_once(tmp_path: Path, caplog):
    write(tmp_path / "elsewhere" / "one", steps=10)
    (tmp_path / "mixtures").mkdir()
    (tmp_path / "mixtures" / "here").symlink_to(".")
    (tmp_path / "mixtures" / "up").symlink_to("..")
    (tmp_path / "mixtures" / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "mixtures" / "pipe")
    (tmp_path / "mixtures" / "linked").symlink_to(tmp_path / "elsewhere" / "one")
    assert names(tmp_path / "mixtures") == ["small"], "a link to a folder elsewhere is followed"
    assert names(tmp_path / "mixtures" / "loop", tmp_path / "mixtures" / "pipe") == []


def test_while_many_folders_are_read_those_that_are_read_answer_and_the_others_are_said_to_come(
    make_app, tmp_path: Path, monkeypatch, request
):
    for number in range(4):
        write(tmp_path / "many" / f"{number}", steps=10 + number)
        spec = tmp_path / "many" / f"{number}" / "mixture.yaml"
        spec.write_text(spec.read_text(encoding="utf-8").replace("small", f"small{number}"), encoding="utf-8")
        write_lock(make_lock(make_plan(read_spec(spec))), spec.with_name("mixture.lock.json"))
    go_on, reads = threading.Event(), BuiltinMixtures._read
    request.addfinalizer(go_on.set)

    def read(builtin: BuiltinMixtures, where: MixtureFiles, *more: object):
        assert where.folder.name != "2" or go_on.wait(60)
        return reads(builtin, where, *more)

    monkeypatch.setattr(BuiltinMixtures, "_read", read)
    for room in ("mixture.api.registry.builtin", "mixture.api.dependencies.services"):
        monkeypatch.setattr(f"{room}.FEW_FOLDERS", 3)
    monkeypatch.setattr("mixture.api.dependencies.services.START_SECONDS", 0.01)
    monkeypatch.setattr("mixture.api.registry.builtin.SHOW_SECONDS", 0)
    app = make_app(mixtures_dirs=(tmp_path / "many",))
    services = app.state.services
    services.start()
    until(lambda: services.builtin.unread() == (2, 4), seconds=60)

    def code(address: str, method: str = "GET", **options: object) -> tuple[int, str | None]:
        answer = ask(app, method, address, **options)
        return answer.status_code, answer.headers.get("X-Error-Code")

    assert code("/healthz") == (200, None)
    assert code("/v1/mixtures/small0") == code("/mixtures/small1") == (200, None)
    for address in ("/readyz", "/", "/v1/mixtures", "/v1/catalogs", "/v1/mixtures/small3", "/v1/mixtures/none"):
        assert code(address) == (503, "starting"), address
    assert ask(app, "GET", "/readyz").headers["Retry-After"] == "5"
    go_on.set()
    until(lambda: services.builtin.unread() == (0, 4), seconds=60)
    assert code("/v1/mixtures/small3") == (200, None)
    assert code("/v1/mixtures/none") == (404, "unknown-mixture")
    assert ask(app, "GET", "/readyz").json()["mixtures"] == 4


def test_of_many_mixtures_the_start_names_the_first(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("mixture.api.registry.start_report.MOST_NAMES", 2)
    for folder in ("a", "b", "c"):
        write(tmp_path / folder, steps=10)
    builtin = BuiltinMixtures((tmp_path,), (), Stores(()))
    lines = list(overview(Settings(mixtures_dirs=(tmp_path,)), builtin, "http://here"))
    assert lines[0] == f"3 mixtures from {tmp_path}: small, small-2 and 1 more"
