"""Amended locks from the command line to a service: published, a run goes on under one, and none rewrites it."""

from __future__ import annotations

import json

import pytest
from service_processes import copy_of_the_service

from mixture.lock import read_lock


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def url(data_dir):
    with copy_of_the_service(data_dir) as address:
        yield address


@pytest.fixture
def at_service(run, url, data_dir, monkeypatch):
    """Lets commands find the service and a token that may do all in the environment."""
    made = run("tokens", "create", "ann", "--scope", "publish,run", "--new", "--data-dir", data_dir)
    monkeypatch.setenv("MIXTURE_URL", url)
    monkeypatch.setenv("MIXTURE_TOKEN", made.stdout.strip())


def amended(small, run, step):
    """The spec and lock of the small run with another batch from a step on, made by the command."""
    spec, lock = small / "later.yaml", small / f"at-{step}.lock.json"
    spec.write_text((small / "mixture.yaml").read_text().replace("8 sequences", "4 sequences"))
    run("amend", small / "mixture.lock.json", spec, "--step", step, "-o", lock)
    return spec, lock


def test_an_amended_lock_is_published_and_a_run_goes_on_under_it(run, small, at_service):
    run("publish", small / "mixture.yaml", "--name", "amended")
    first = read_lock(small / "mixture.lock.json")
    job = run("runs", "register", "amended", "--name", "ablation 7").stdout.strip()
    run("runs", "report", job, "--step", 60)
    spec, early = amended(small, run, 40)
    moving = ("publish", spec, "--name", "amended", "--replaces", first.digest)
    refused = run(*moving, "--lock", early, code=1).stderr
    assert refused.startswith("error[run-consumed]: ")
    assert f"the run 'ablation 7' ({job}) has done 60 steps" in refused
    assert "from step 40 on" in refused
    assert "--leaves-run" in refused
    _, lock = amended(small, run, 60)
    new = read_lock(lock)
    published = json.loads(run(*moving, "--lock", lock, "--json").stdout)
    assert (published["change"], published["digest"]) == ("moved", new.digest)
    said = run("runs", "report", job, "--step", 70, "--lock", lock).stdout
    assert said == f"report 2: step 70, now of amended, under lock {new.digest[:12]}\n"
    assert job in run("runs", "list", "--mixture", f"sha256:{first.digest}").stdout
    assert f"step 70 of {new.data.steps:,}" in run("runs", "show", job).stdout
    assert run("runs", "report", job, "--step", 71, "--lock", new.digest).stdout == "report 3: step 71\n"
    gone_on = run("runs", "report", job, "--step", 72, "--lock", early, code=1).stderr
    assert gone_on.startswith("error[unknown-mixture]: ")


def test_a_run_may_be_left_behind(run, small, at_service):
    run("publish", small / "mixture.yaml", "--name", "left")
    job = run("runs", "register", "left").stdout.strip()
    run("runs", "report", job, "--step", 60)
    spec, lock = amended(small, run, 40)
    first = read_lock(small / "mixture.lock.json").digest
    moving = ("publish", spec, "--name", "left", "--replaces", first, "--lock", lock)
    assert "error[run-consumed]" in run(*moving, code=1).stderr
    assert "left: moved" in run(*moving, "--leaves-run", job).stdout


def test_a_spec_that_does_not_give_the_amended_lock_is_refused_before_anything_is_sent(run, small, at_service):
    _, lock = amended(small, run, 40)
    refused = run("publish", small / "mixture.yaml", "--name", "wrong", "--lock", lock, code=1).stderr
    assert refused.startswith("error[spec-changed]: ")
