"""/v1/mixtures: the list, and what a mixture says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from api_helpers import MIXTURES
from program import run_program

from mixture.lock import read_lock

NAMES = ["demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics"]


def test_the_repositorys_mixtures_are_listed(client: httpx2.Client):
    listed = client.get("/v1/mixtures").raise_for_status().json()
    assert [one["name"] for one in listed["items"]] == NAMES
    assert (listed["next"], listed["next_url"]) == (None, None)
    marin = listed["items"][1]
    assert (marin["steps"], marin["tokens"], marin["domains"]) == (390_251, 18_005_144_633_344, 200)
    assert (marin["source"], marin["published"]) == ("builtin", None)
    assert marin["ref"] == f"marin-535b-a23b@sha256:{marin['digest']}"


def test_pages_of_the_list_lead_to_each_other(client: httpx2.Client):
    seen, url = [], "/v1/mixtures?limit=1"
    while url:
        answer = client.get(url).raise_for_status()
        body = answer.json()
        seen += [one["name"] for one in body["items"]]
        url = body["next_url"]
        assert answer.links.get("next", {}).get("url") == url
    assert seen == NAMES


@pytest.mark.parametrize("cursor", ["x", "!!", "bnVsbA", "W10", "MTI", "eyJhIjoxfQ", "dHJ1ZQ", "[" * 1000])
def test_a_cursor_that_is_none_of_this_list_is_refused(client: httpx2.Client, cursor: str):
    answer = client.get("/v1/mixtures", params={"cursor": cursor})
    assert (answer.status_code, answer.headers["x-error-code"]) == (422, "bad-cursor")


def test_a_mixture_says_what_it_is_and_where_the_rest_lies(client: httpx2.Client):
    shown = client.get("/v1/mixtures/demo").raise_for_status().json()
    assert shown["description"].startswith("A small run in two phases, 80% and 20%")
    assert [phase["phase"] for phase in shown["phases"]] == ["pretraining", "midtraining"]
    assert {finding["code"] for finding in shown["findings"]} >= {"longest-context"}
    for address in shown["links"].values():
        assert client.get(address).status_code == 200


def test_the_tag_of_a_mixture_begins_with_the_digest_that_moving_its_name_takes(client: httpx2.Client):
    answer = client.get("/v1/mixtures/demo")
    assert answer.headers["etag"].startswith(f'"sha256:{answer.json()["digest"]}.')


@pytest.mark.parametrize("name", NAMES)
def test_plan_lock_and_spec_are_what_the_command_line_has(client: httpx2.Client, name: str, tmp_path: Path):
    folder = MIXTURES / name
    printed = run_program("plan", "mixture.yaml", "--json", cwd=folder).stdout
    assert client.get(f"/v1/mixtures/{name}/plan").json() == json.loads(printed)
    assert client.get(f"/v1/mixtures/{name}/spec").content == (folder / "mixture.yaml").read_bytes()
    lock = tmp_path / "mixture.lock.json"
    lock.write_bytes(client.get(f"/v1/mixtures/{name}/lock").content)
    assert read_lock(lock) == read_lock(folder / "mixture.lock.json")


def test_no_folder_of_the_server_is_in_a_plan(client: httpx2.Client):
    for name in NAMES:
        assert str(MIXTURES) not in client.get(f"/v1/mixtures/{name}/plan").text


def test_a_digest_goes_with_the_name_that_points_to_it_only(client: httpx2.Client):
    digest = client.get("/v1/mixtures/demo").json()["digest"]
    assert client.get(f"/v1/mixtures/demo@sha256:{digest}").json()["digest"] == digest
    for reference in (f"olmo-3-7b@sha256:{digest}", f"demo@sha256:{'0' * 64}", f"other@sha256:{digest}"):
        answer = client.get(f"/v1/mixtures/{reference}")
        assert (answer.status_code, answer.headers["x-error-code"]) == (404, "unknown-mixture")


def test_an_unknown_name_gets_the_nearest_one_there_is(client: httpx2.Client):
    assert client.get("/v1/mixtures/dmeo").json()["hint"] == "did you mean 'demo'?"
    begins = client.get("/v1/mixtures/marin").json()["hint"]
    assert begins == "did you mean 'marin-535b-a23b' or 'marin-announced-80-20'?"


def test_a_built_in_name_has_moved_once(client: httpx2.Client):
    moves = client.get("/v1/mixtures/demo/moves").json()["items"]
    digest = client.get("/v1/mixtures/demo").json()["digest"]
    assert [(move["revision"], move["from_digest"], move["to_digest"]) for move in moves] == [(1, None, digest)]


def test_a_mixture_without_a_store_says_so(client: httpx2.Client):
    answer = client.get("/v1/mixtures/demo/store")
    assert (answer.status_code, answer.headers["x-error-code"]) == (404, "store-missing")
