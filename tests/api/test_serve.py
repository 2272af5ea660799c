"""`mixture serve`, as a process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from api_helpers import MIXTURES

from mixture.cli.service.serve import check_paths, listen
from mixture.errors import MixtureError
from mixture.planning.spec import read_spec

pytestmark = pytest.mark.long

PROGRAM = str(Path(sys.executable).with_name("mixture"))
GONE_WITHIN = 20


@contextmanager
def process(command: list[str], cwd: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone when the block ends."""
    started = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONWARNINGS": "error", "PYTHONPATH": str(Path(__file__).parents[1])} | environment,
    )  # fmt: skip
    try:
        yield started
    finally:
        if started.poll() is None:
            # Not killed at once: its own processes would be left behind, and hold what it writes to open.
            started.terminate()
        try:
            started.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            started.kill()
            raise


@contextmanager
def served(cwd: Path, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`mixture serve` on a free port, and its address as it prints it."""
    with process([PROGRAM, "serve", "--port", "0", *arguments], cwd, **environment) as started:
        assert started.stdout is not None
        line = started.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+(?=/docs)", line)
        assert found, line
        yield started, found[0]


def test_with_nothing_configured_it_shows_what_lies_in_mixtures_and_in_demo(tmp_path: Path):
    (tmp_path / "mixtures").symlink_to(MIXTURES)
    (tmp_path / "demo").symlink_to(MIXTURES / "demo")
    with served(tmp_path) as (started, url), httpx2.Client(base_url=url, timeout=60) as client:
        names = [one["name"] for one in client.get("/v1/mixtures").raise_for_status().json()["items"]]
        assert names == [
            "demo", "demo-2", "marin-535b-a23b", "marin-announced-80-20",
            "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics",
        ]  # fmt: skip
        assert client.get("/docs").status_code == 200
        started.send_signal(signal.SIGTERM)
        _, errors = started.communicate(timeout=GONE_WITHIN)
    assert "Traceback" not in errors
    assert started.returncode == -signal.SIGTERM


def test_several_processes_share_the_port_the_database_and_the_figures(tmp_path: Path):
    with served(tmp_path, "--workers", "2") as (started, url):
        told = []
        for _ in range(8):
            # A connection each: which process takes it is the system's choice.
            assert httpx2.get(f"{url}/readyz", timeout=60).json()["mixtures"] == 0
            text = httpx2.get(f"{url}/metrics", timeout=60).text
            told.append(re.search(r'http_requests_total\{handler="/readyz".*\} (\S+)', text)[1])
        assert told == [f"{n}.0" for n in range(1, 9)]
        started.send_signal(signal.SIGTERM)
        _, errors = started.communicate(timeout=GONE_WITHIN)
    assert "Traceback" not in errors


STREAMING = """
import asyncio, sys
from pathlib import Path
import uvicorn
from fastapi.responses import StreamingResponse
from mixture.api.settings import Settings
from mixture.api.app import create_app

app = create_app(Settings(data_dir=Path("data"), mixtures_dirs=()))
stopping = app.state.services.stopping

@app.get("/stream")
async def stream():
    async def lines():
        yield "begun\\n"
        await stopping.wait()
        yield "ended by the service\\n"
    return StreamingResponse(lines())

uvicorn.run(app, fd=int(sys.argv[1]), timeout_graceful_shutdown=30, log_config=None)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_streams_are_told_at_once_that_the_process_ends_whatever_server_runs_it(tmp_path: Path, number: signal.Signals):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        os.set_inheritable(listening.fileno(), True)
        url = "http://{}:{}".format(*listening.getsockname())
        command = [sys.executable, "-c", STREAMING, str(listening.fileno())]
        started = subprocess.Popen(
            command, cwd=tmp_path, pass_fds=[listening.fileno()], stderr=subprocess.PIPE, text=True
        )
    try:
        with httpx2.Client(base_url=url, timeout=60) as client, client.stream("GET", "/stream") as answer:
            lines = answer.iter_lines()
            assert next(lines) == "begun"
            started.send_signal(number)
            assert list(lines) == ["ended by the service"]
        started.communicate(timeout=GONE_WITHIN)
    finally:
        started.kill()
        started.communicate()


def test_a_port_that_is_taken_and_settings_that_are_wrong_are_said_in_a_line(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [PROGRAM, "serve", "--port", port], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error[address-unusable]: 127.0.0.1:{port} ")
    assert "--port 0 takes a free one" in done.stderr
    assert len(done.stderr.splitlines()) == 1

    wrong = {"MIXTURE_RATE_PER_SECOND": "fast", "MIXTURE_MAX_ROWS": "0"}
    with process([PROGRAM, "serve", "--port", "0"], tmp_path, **wrong) as started:
        _, errors = started.communicate()
    assert errors.startswith("error[settings-invalid]: ")
    assert "rate_per_second" in errors
    assert "max_rows" in errors
    assert "Traceback" not in errors


def stopped_after(started: subprocess.Popen[str], url: str) -> tuple[str, str]:
    """All that a service has printed once it was ready and told to end."""
    httpx2.get(f"{url}/readyz", timeout=60).raise_for_status()
    started.send_signal(signal.SIGTERM)
    assert started.stdout is not None
    assert started.stderr is not None
    # Not communicate(), which would not see what came together with the line that was read before.
    return started.stdout.read(), started.stderr.read()


def test_it_says_what_it_shows_what_it_leaves_out_and_where_things_are_kept(tmp_path: Path):
    shutil.copytree(MIXTURES / "demo", tmp_path / "mixtures" / "one")
    shutil.copytree(MIXTURES / "demo", tmp_path / "mixtures" / "without-lock")
    (tmp_path / "mixtures" / "without-lock" / "mixture.lock.json").unlink()
    shutil.copytree(MIXTURES / "demo", tmp_path / "mixtures" / "broken")
    (tmp_path / "mixtures" / "broken" / "mixture.lock.json").write_text("{}", encoding="utf-8")
    with served(tmp_path, MIXTURE_STORE_DIRS="/nowhere:/no", MIXTURE_SERVICE_HOST="10.0.0.1") as (started, url):
        out, errors = stopped_after(started, url)
    assert f"{tmp_path / 'mixture-data'};" in out
    assert f"{tmp_path / 'mixture-data' / 'mixture.db'}." in out
    assert "1 mixture from mixtures: demo\n" in out
    assert "No store holds the text of demo" in out
    assert "the mixture in mixtures/without-lock is left out: mixture.lock.json: there is no such file" in errors
    assert "the mixture in mixtures/broken is left out" in errors
    assert "MIXTURE_STORE_DIRS: there is no folder /nowhere\n" in errors
    assert "MIXTURE_SERVICE_HOST is no setting" in errors


def test_what_is_named_is_shown_and_nothing_else(tmp_path: Path):
    shutil.copytree(MIXTURES / "demo", tmp_path / "mixtures" / "one")
    run = tmp_path / "runs" / "mine"
    shutil.copytree(MIXTURES / "olmo-3-7b", run)
    (run / "mixture.yaml").rename(run / "run.yaml")
    (run / "mixture.lock.json").rename(run / "run.lock.json")
    with served(tmp_path, "runs/mine/run.lock.json", "--data-dir", "kept") as (started, url):
        assert [one["name"] for one in httpx2.get(f"{url}/v1/mixtures", timeout=60).json()["items"]] == ["olmo-3-7b"]
        out, errors = stopped_after(started, url)
    assert f"1 mixture from runs/mine/run.lock.json: olmo-3-7b\n  {url}/mixtures/olmo-3-7b\n" in out
    assert "warning" not in errors


def test_a_path_that_can_not_be_shown_is_refused_before_anything_is_started(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    shutil.copy(MIXTURES / "demo" / "mixture.lock.json", tmp_path / "alone.lock.json")
    shutil.copytree(MIXTURES / "demo", tmp_path / "other")
    spec = (tmp_path / "other" / "mixture.yaml").read_text(encoding="utf-8")
    (tmp_path / "other" / "mixture.yaml").write_text(spec.replace("seed: 0", "seed: 17"), encoding="utf-8")
    text = "mixture: sum\ncatalog: catalog.csv\nsequence_length: 64\nbatch: 8 sequences\nbudget: 100 steps\nphases:\n"
    text += "  - {phase: all, weights: {books: 50%, web-low: 49%}}\n"
    (tmp_path / "other" / "sum.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("mxture: bad\n", encoding="utf-8")
    for path, code, words in (
        ("nowhere", "no-mixtures", "nowhere: there is no such file or folder"),
        ("empty", "no-mixtures", "empty: no mixtures in this folder"),
        ("alone.lock.json", "file-missing", "its spec is not beside it: neither alone.yaml nor mixture.yaml"),
        ("other", "spec-changed", "other/mixture.yaml:4:1: "),
        ("other/mixture.yaml", "spec-changed", "other/mixture.yaml:4:1: "),
        ("bad.yaml", "unknown-key", "bad.yaml:1:1: mxture: "),
        ("other/sum.yaml", "weights-sum", "other/sum.yaml:"),
    ):
        with pytest.raises(MixtureError) as caught:
            check_paths([Path(path)])
        assert (caught.value.code, words in str(caught.value)) == (code, True), str(caught.value)
        if code in ("unknown-key", "weights-sum"):
            with pytest.raises(MixtureError) as planned:
                read_spec(Path(path))
            assert str(caught.value) == str(planned.value), "the place and the hint of `mixture plan`"
    check_paths([tmp_path, MIXTURES, MIXTURES / "demo", MIXTURES / "demo" / "mixture.yaml"])


def test_a_path_that_is_refused_leaves_nothing_behind(tmp_path: Path):
    with process([PROGRAM, "serve", "nowhere", "--port", "0"], tmp_path) as started:
        out, errors = started.communicate()
    assert (started.returncode, out) == (1, "")
    assert errors.startswith("error[no-mixtures]: nowhere: ")
    assert list(tmp_path.iterdir()) == []


def test_in_an_empty_folder_it_says_so_and_what_to_do(tmp_path: Path):
    with served(tmp_path, "--data-dir", "kept", "--workers", "2") as (started, url):
        out, _ = stopped_after(started, url)
    assert "No mixtures in mixtures, demo: `mixture demo` makes one" in out
    assert (tmp_path / "kept" / "mixture.db").is_file()


def test_a_data_folder_that_can_not_be_made_is_named_before_anything_is_started(tmp_path: Path):
    (tmp_path / "file").touch()
    with process([PROGRAM, "serve", "--port", "0", "--data-dir", "file/below"], tmp_path) as started:
        out, errors = started.communicate()
    assert out == ""
    assert errors.startswith(f"error[data-dir-unusable]: {tmp_path / 'file' / 'below'}: ")


def test_settings_of_a_file_hold_and_those_of_the_environment_win(tmp_path: Path):
    (tmp_path / "service.toml").write_text('public_reads = false\ndata_dir = "kept"\n', encoding="utf-8")
    with served(tmp_path, "--config", "service.toml") as (_, url):
        assert httpx2.get(f"{url}/v1/mixtures", timeout=60).status_code == 401
        assert (tmp_path / "kept").is_dir()
    with served(tmp_path, "--config", "service.toml", MIXTURE_PUBLIC_READS="true") as (_, url):
        assert httpx2.get(f"{url}/v1/mixtures", timeout=60).status_code == 200
    for config, message in (("none.toml", "no such file"), ("bad.toml", "bad.toml"), ("odd.toml", "unheard_of")):
        (tmp_path / "bad.toml").write_text("public_reads = ", encoding="utf-8")
        (tmp_path / "odd.toml").write_text("unheard_of = 1\n", encoding="utf-8")
        with process([PROGRAM, "serve", "--port", "0", "--config", config], tmp_path) as started:
            _, errors = started.communicate()
        assert errors.startswith("error[settings-invalid]: ")
        assert message in errors


def test_connections_send_an_answer_s_body_without_waiting_for_the_acknowledgement_of_its_head():
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
