"""The commands that ask a service, against a service in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from service_processes import copy_of_the_service

from mixture.lock import read_lock
from mixture.units import decimal


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def url(data_dir):
    with copy_of_the_service(data_dir) as address:
        yield address


@pytest.fixture
def secret(run, data_dir, monkeypatch):
    """A token that may publish and run, made by the command."""
    monkeypatch.setenv("MIXTURE_DATA_DIR", str(data_dir))
    return run("tokens", "create", "ann", "--scope", "publish,run", "--new").stdout.strip()


@pytest.fixture
def at_service(url, secret, monkeypatch):
    """Lets commands find the service and the token in the environment."""
    monkeypatch.setenv("MIXTURE_URL", url)
    monkeypatch.setenv("MIXTURE_TOKEN", secret)


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_tokens_are_made_listed_and_revoked(run, data_dir, monkeypatch):
    monkeypatch.setenv("MIXTURE_DATA_DIR", str(data_dir))
    (made,) = lines(run("tokens", "create", "bot [1]", "--scope", "run", "--new", "--json"))
    assert set(made) == {"id", "name", "scopes", "created", "revoked", "secret"}
    listed = {token["id"]: token for token in lines(run("tokens", "list", "--json"))}
    assert listed[made["id"]] == {name: value for name, value in made.items() if name != "secret"}
    assert "bot [1]" in run("tokens", "list").stdout
    run("tokens", "revoke", made["id"])
    revoked = {token["id"]: token["revoked"] for token in lines(run("tokens", "list", "--json"))}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", revoked[made["id"]])
    assert "error[unknown-token]" in run("tokens", "revoke", "nothing", code=1).stderr
    assert "did you mean 'publish'?" in run("tokens", "create", "x", "--scope", "run,pubish", code=2).stderr


def test_tokens_say_which_database_they_are_in_and_make_none_where_nobody_asked_for_one(run, tmp_path):
    database = tmp_path / "mixture-data" / "mixture.db"
    for command in (("create", "ann", "--scope", "run"), ("list",), ("revoke", "nothing")):
        refused = run("tokens", *command, cwd=tmp_path, code=1).stderr
        assert refused.startswith(f"error[database-missing]: {database}: ")
        assert "--data-dir" in refused
    assert list(tmp_path.iterdir()) == []
    made = run("tokens", "create", "ann", "--scope", "run", "--new", "--data-dir", "mixture-data", cwd=tmp_path)
    assert made.stderr == f"database {database}\n"
    listed = run("tokens", "list", "--data-dir", tmp_path / "mixture-data", "--json")
    assert [token["name"] for token in lines(listed)] == ["ann"]
    (tmp_path / "file").touch()
    refused = run("tokens", "create", "ann", "--scope", "run", "--new", "--data-dir", tmp_path / "file", code=1).stderr
    assert refused.startswith(f"error[data-dir-unusable]: {tmp_path / 'file' / 'mixture.db'}: ")


def test_a_mixture_is_published_moved_and_published_again(run, small, at_service):
    spec, digest = small / "mixture.yaml", read_lock(small / "mixture.lock.json").digest
    (made,) = lines(run("publish", spec, "--name", "cli-small", "--json"))
    assert (made["digest"], made["change"]) == (digest, "created")
    again = run("publish", spec, "--name", "cli-small").stdout
    assert "unchanged" in again
    assert "\ntext:" not in again
    text = spec.read_text()
    spec.write_text(f"# said anew\n{text}")
    assert "\ntext: first; " in run("publish", spec, "--name", "cli-small").stdout
    spec.write_text(text)
    spec.write_text(spec.read_text().replace("100 steps", "90 steps"))
    run("lock", spec)
    refused = run("publish", spec, "--name", "cli-small", code=1).stderr
    assert refused.startswith("error[digest-required]")
    assert f"--replaces sha256:{digest}" in refused
    refused = run("publish", spec, "--name", "cli-small", "--replaces", "0" * 64, code=1).stderr
    assert "error[name-conflict]" in refused
    assert "no digest" in run("publish", spec, "--name", "cli-small", "--replaces", digest[:7], code=2).stderr
    for replaces in (digest, f"sha256:{digest}", digest[:12]):
        (moved,) = lines(run("publish", spec, "--name", "cli-small", "--replaces", replaces, "--json"))
        assert moved["digest"] == read_lock(small / "mixture.lock.json").digest
    assert moved["change"] == "unchanged", "the second time it is there already"


def test_a_lock_that_is_no_longer_what_comes_out_is_not_published(run, small, at_service):
    spec = small / "mixture.yaml"
    spec.write_text(spec.read_text().replace("100 steps", "80 steps"))
    refused = run("publish", spec, "--name", "stale", code=1).stderr
    assert "error[lock-differs]" in refused
    assert "80" in refused


def test_what_is_wrong_is_said_with_file_and_line_as_plan_says_it(run, small, at_service):
    spec = small / "mixture.yaml"
    (small / "mixture.lock.json").unlink()
    spec.write_text(spec.read_text().replace("{a: 20%, b: 80%}", "{a: 20%, bb: 80%}"))
    here = run("plan", spec, code=1).stderr
    there = run("publish", spec, "--name", "wrong", code=1).stderr
    assert there.split(" (")[0] == here.split(" (")[0]
    assert f"{spec}:12:" in there


def test_a_table_that_is_no_text_is_named_before_anything_is_sent(run, small, at_service):
    (small / "cells.csv").write_bytes(b"domain,tokens\na\xff,200000\n")
    refused = run("publish", small / "mixture.yaml", "--name", "wrong", code=1).stderr
    assert refused.startswith(f"error[not-text]: {small / 'cells.csv'}:2: ")
    assert "offset 15" in refused


def test_a_spec_over_tables_in_parquet_or_a_store_is_published_and_over_other_folders_is_refused(
    run, small, at_service
):
    spec = small / "mixture.yaml"
    table = pyarrow.csv.read_csv(small / "cells.csv")
    pq.write_table(table, small / "cells.parquet")
    (small / "store").mkdir()
    (small / "store" / "store.json").write_text("{}")
    pq.write_table(table, small / "store" / "domains.parquet")
    text, digest = spec.read_text(), read_lock(small / "mixture.lock.json").digest
    for place in ("cells.parquet", "store"):
        spec.write_text(text.replace("cells.csv", place))
        assert lines(run("publish", spec, "--name", "in-parquet", "--json"))[0]["digest"] == digest
    (small / "sub").mkdir()
    (small / "sub" / "cells.csv").write_bytes((small / "cells.csv").read_bytes())
    spec.write_text(text.replace("cells.csv", "sub/cells.csv"))
    assert f"error[table-not-beside]: {spec}:2:" in run("publish", spec, "--name", "x", code=1).stderr


def test_a_run_is_registered_reported_listed_and_shown(run, at_service):
    run_id = run("runs", "register", "demo", "--name", "try [7]").stdout.strip()
    (entry,) = lines(run("runs", "report", run_id, "--step", 15300, "--loss", "books=2.25", "--loss", "web-high=1e-3",
                         "--key", "k", "--json"))  # fmt: skip
    assert (entry["seq"], entry["step"], entry["loss"]) == (1, 15300, {"books": 2.25, "web-high": 0.001})
    assert run("runs", "report", run_id, "--step", 15300, "--loss", "books=2.25", "--loss", "web-high=1e-3",
               "--key", "k").stdout == "report 1: step 15,300\n"  # fmt: skip
    assert run_id in [one["id"] for one in lines(run("runs", "list", "--json"))]
    assert run_id in run("runs", "list", "--mixture", "demo").stdout
    assert run("runs", "list", "--mixture", "olmo-3-7b", "--json").stdout == ""
    assert [one["id"] for one in lines(run("runs", "list", "--limit", 1, "--json"))] == [run_id]
    listed = next(line for line in run("runs", "list").stdout.splitlines() if run_id in line)
    assert "try [7]" in listed
    (shown,) = lines(run("runs", "show", run_id, "--json"))
    assert (shown["step"], shown["standing"]["phase"], len(shown["domains"])) == (15300, "midtraining", 10)
    assert f" {shown['standing']['steps']:,} " in listed
    text = run("runs", "show", run_id).stdout
    assert "try [7]" in text
    assert f"step 15,300 of {shown['standing']['steps']:,}, {shown['standing']['tokens']:,} of" in text
    assert all(row["domain"] in text and f"{row['tokens']:,}" in text for row in shown["domains"])


def test_a_run_on_plan_looks_on_plan_also_in_a_phase_of_other_weights(run, at_service):
    run_id = run("runs", "register", "demo").stdout.strip()
    run("runs", "report", run_id, "--step", 15300)
    (shown,) = lines(run("runs", "show", run_id, "--json"))
    assert any(row["weight"] != row["planned_weight"] for row in shown["domains"])
    cells = {line.split()[0]: line.split()[1:] for line in run("runs", "show", run_id).stdout.splitlines() if line}
    for row in shown["domains"]:
        tokens, so_far, whole, weight, weight_so_far, weight_of_whole, *_ = cells[row["domain"]]
        assert tokens == so_far == f"{row['planned_tokens_so_far']:,}"
        assert whole == f"{row['planned_tokens']:,}"
        assert weight == weight_so_far == _shown(row["planned_weight_so_far"])
        assert weight_of_whole == _shown(row["planned_weight"])


def test_a_run_that_is_registered_again_with_its_key_is_there_once(run, at_service):
    first, again = (run("runs", "register", "demo", "--key", "job-4711").stdout for _ in range(2))
    assert first == again


def test_a_loss_that_diverged_is_reported_and_shown_as_a_word(run, at_service):
    run_id = run("runs", "register", "demo").stdout.strip()
    (entry,) = lines(run("runs", "report", run_id, "--step", 7, "--loss", "books=nan", "--loss", "web-high=2.5",
                         "--loss", "code-python=inf", "--json"))  # fmt: skip
    assert entry["loss"] == {"books": "NaN", "web-high": 2.5, "code-python": "Infinity"}
    (shown,) = lines(run("runs", "show", run_id, "--json"))
    run("runs", "report", run_id, "--step", shown["steps"])
    watched = run("runs", "watch", run_id).stdout.splitlines()[0]
    assert watched.endswith(f"step 7 of {shown['steps']:,}  books NaN  web-high 2.5000  code-python Infinity")


@pytest.mark.parametrize("loss", ["books", "books=", "=1", "books=x"])
def test_a_loss_that_is_no_number_is_wrong_usage(run, at_service, loss):
    assert "a domain and a number" in run("runs", "report", "x", "--step", 1, "--loss", loss, code=2).stderr


def test_refusals_keep_the_services_codes(run, url, at_service, monkeypatch):
    assert "error[unknown-run]" in run("runs", "show", "nothing", code=1).stderr
    assert "error[unknown-run]" in run("runs", "watch", "nothing", code=1).stderr
    refused = run("runs", "register", "dem", code=1).stderr
    assert "error[unknown-mixture]" in refused
    assert "did you mean 'demo'?" in refused
    run_id = run("runs", "register", "demo").stdout.strip()
    assert "error[unknown-domain]" in run("runs", "report", run_id, "--step", 1, "--loss", "boks=1", code=1).stderr
    monkeypatch.delenv("MIXTURE_TOKEN")
    assert "error[token-missing]" in run("runs", "register", "demo", code=1).stderr
    assert "error[token-invalid]" in run("runs", "register", "demo", "--token", "nonsense", code=1).stderr
    for wrong in ("http://127.0.0.1:1", "nothing"):
        refused = run("runs", "list", "--url", wrong, code=1).stderr
        assert refused.startswith("error[service-unreachable]")
        assert "is `mixture serve` running there?" in refused
    assert "error[not-found]" in run("runs", "list", "--url", f"{url}/docs", code=1).stderr
    for wrong in ("ftp://127.0.0.1", "http://[", f"{url}/docs#here", "http://127.0.0.1:x"):
        assert run("runs", "list", "--url", wrong, code=1).stderr.startswith("error[url-invalid]")
    assert f"does {url}/v1/runs" in run("runs", "list", "--url", url.replace("http:", "https:"), code=1).stderr
    assert "error[token-invalid]" in run("runs", "list", "--token", "two\nlines", code=1).stderr


def test_an_address_needs_no_scheme_and_may_end_as_the_apis_own_does(run, url, at_service):
    run_id = run("runs", "register", "demo").stdout.strip()
    for said in (url.removeprefix("http://"), f"{url}/", f"{url}/v1", f"{url}/v1/"):
        assert run("runs", "show", run_id, "--url", said, "--json").stdout


def test_refusals_over_tokens_say_where_one_comes_from(run, small, at_service, data_dir, monkeypatch):
    monkeypatch.delenv("MIXTURE_TOKEN")
    refused = run("publish", small / "mixture.yaml", "--name", "x", code=1).stderr
    assert "--token or MIXTURE_TOKEN; `mixture tokens create NAME --scope publish`" in refused
    assert "this service's settings?" in run("runs", "register", "demo", "--token", "nonsense", code=1).stderr
    publisher = run("tokens", "create", "publisher", "--scope", "publish").stdout.strip()
    refused = run("runs", "register", "demo", "--token", publisher, code=1).stderr
    assert refused.startswith("error[scope-missing]")
    assert "`mixture tokens create NAME --scope run`" in refused


def test_what_can_not_be_published_says_what_would_be_right(run, small, at_service):
    spec = small / "mixture.yaml"
    assert "letters, digits" in run("publish", spec, "--name", "my mix", code=1).stderr
    assert "choose another name" in run("publish", spec, "--name", "demo", code=1).stderr
    assert "its 64 digits" in run("publish", spec, "--name", "x", "--replaces", "sha256:92ff73e", code=2).stderr
    assert "error[unknown-mixture]" in run("publish", spec, "--name", "x", "--replaces", "92ff73e9", code=1).stderr
    assert "all 64 digits" in run("runs", "register", "demo@sha256:92ff73e", code=1).stderr
    spec.write_text(spec.read_text().replace("cells.csv", "cell.csv"))
    there, here = run("publish", spec, "--name", "x", code=1).stderr, run("plan", spec, code=1).stderr
    assert there == here
    assert "error[file-missing]" in there
    assert "did you mean 'cells.csv'?" in there


def test_publishing_says_what_plan_finds_and_which_lock_was_compared(run, small, at_service):
    spec, lock = small / "mixture.yaml", small / "mixture.lock.json"
    spec.write_text(spec.read_text().replace("budget: 100 steps", "budget: {steps: 100, tokens: 1M}"))
    spec.write_text(spec.read_text() + "accept: [budget-mismatch]\n")
    lock.unlink()
    done = run("publish", spec, "--name", "with-findings")
    assert "budget-mismatch" in done.stderr
    assert "without a lock" in done.stdout
    run("lock", spec)
    assert f"that of {lock}" in run("publish", spec, "--name", "with-findings").stdout
    (made,) = lines(run("publish", spec, "--name", "with-findings", "--json"))
    assert "budget-mismatch" in [finding["code"] for finding in made["findings"]]
    assert made["lock"] == str(lock)


@pytest.mark.long
def test_a_watch_follows_a_run_to_its_end_over_a_restart_of_the_service(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MIXTURE_DATA_DIR", str(tmp_path))
    secret = run("tokens", "create", "trainer", "--scope", "run", "--new").stdout.strip()
    monkeypatch.setenv("MIXTURE_TOKEN", secret)

    def report(url, run_id, step):
        run("runs", "report", run_id, "--step", step, "--url", url)

    with copy_of_the_service(tmp_path) as url:
        port = int(url.rpartition(":")[2])
        (made,) = lines(run("runs", "register", "demo", "--url", url, "--json"))
        report(url, made["id"], 1)
        command = [str(Path(sys.executable).with_name("mixture")), "runs", "watch", made["id"], "--url", url, "--json"]
        watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        seen = [json.loads(watching.stdout.readline())]
    with copy_of_the_service(tmp_path, port=port) as url:
        report(url, made["id"], 2)
        seen.append(json.loads(watching.stdout.readline()))
        report(url, made["id"], made["standing"]["steps"])
        out, _ = watching.communicate(timeout=60)
        seen += [json.loads(line) for line in out.splitlines()]
        assert watching.returncode == 0
        assert seen == run_log(run, url, made["id"])


def run_log(run, url, run_id):
    """The log of a run, read from its beginning by a watch of its own."""
    return lines(run("runs", "watch", run_id, "--url", url, "--json"))


def _shown(weight: float) -> str:
    return f"{decimal(Fraction(weight) * 100, digits=4)}%"
