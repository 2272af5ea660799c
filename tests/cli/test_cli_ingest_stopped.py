"""`mixture ingest` that is ended says what it keeps, and goes on when it is started again."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Run


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    for name, count in (("few", 10), ("many", 20_000)):
        lines = [json.dumps({"text": f"{name} {n} " * 20, "id": n}) for n in range(count)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    path = tmp_path / "sources.yaml"
    path.write_text("domains:\n  few: {files: [few.jsonl], id: id}\n  many: {files: [many.jsonl], id: id}\n")
    return path


@pytest.mark.long
@pytest.mark.parametrize(("ending", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_ingest_that_is_ended_says_what_it_keeps_and_goes_on(
    tmp_path: Path, listing: Path, run: Run, ending: signal.Signals, code: int
):
    command = [Path(sys.executable).with_name("mixture"), "ingest", listing, "-o", tmp_path / "store"]
    # Where tests run in the background of a shell, Ctrl-C is ignored, and a process takes that over.
    heeding = ["env", "--default-signal=INT", *command, "--processes", "1"]
    with subprocess.Popen(heeding, stderr=subprocess.PIPE, text=True) as ingest:
        while not list(tmp_path.glob(".store.ingest/*/parts/*")):
            assert ingest.poll() is None
        ingest.send_signal(ending)
        _, said = ingest.communicate()
    assert ingest.returncode == code
    assert said == "1 finished part is kept: the same ingest goes on from there\n"
    done = run("ingest", listing, "-o", tmp_path / "store", "--json")
    assert done.stderr == "goes on: 1 of 4 parts are there\n"
    again = run("ingest", listing, "-o", tmp_path / "again", "--json")
    assert again.stderr == ""
    assert json.loads(again.stdout)["digest"] == json.loads(done.stdout)["digest"]
    assert not list(tmp_path.glob(".*.ingest"))


def test_begun_anew_or_with_other_options_it_says_what_it_removes(tmp_path: Path, listing: Path, run: Run):
    (tmp_path / "damaged.gz").write_bytes(b"no gzip")
    with listing.open("a") as file:
        file.write("  torn: {files: [damaged.gz]}\n")
    out = tmp_path / "store"
    refused = run("ingest", listing, "-o", out, code=1)
    kept, error = refused.stderr.splitlines()
    assert kept == "3 finished parts are kept: the same ingest goes on from there"
    assert error.startswith("error[source-unreadable]: ")
    said = run("ingest", listing, "-o", out, "--seed", "3", code=1).stderr.splitlines()
    assert said[0] == "removes 3 parts of the ingest before: seed was 0, is 3"
    assert said[1] == kept
    said = run("ingest", listing, "-o", out, "--seed", "3", "--restart", code=1).stderr.splitlines()
    assert said[0] == "removes 3 parts of the ingest before: it begins anew"
