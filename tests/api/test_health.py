"""Whether it runs, whether it is ready, what runs, and its figures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from api_helpers import MIXTURES, ask

import mixture
from mixture.api.database import Scope
from mixture.api.routes.publishing import SPEC


def test_a_service_that_runs_says_so_and_what_it_is(client: httpx2.Client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready", "mixtures": 6, "left_out": []}
    assert client.get("/version").json()["mixture"] == mixture.__version__
    for address in ("/healthz", "/readyz", "/version", "/metrics"):
        assert client.get(address).headers["cache-control"] == "no-store"


def test_without_its_database_it_runs_is_not_ready_and_still_shows_what_is_in_folders(make_app, tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    app = make_app(database_url=f"sqlite:///{tmp_path}/file/mixture.db")
    assert ask(app, "GET", "/healthz").status_code == 200
    answer = ask(app, "GET", "/readyz")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert str(tmp_path) not in answer.text
    assert ask(app, "GET", "/v1/mixtures/demo").status_code == 200


def test_a_copy_that_is_ending_takes_no_new_requests(make_app):
    app = make_app()
    app.state.services.stopping.set()
    answer = ask(app, "GET", "/readyz")
    assert (answer.status_code, answer.headers["x-error-code"]) == (503, "stopping")


def test_figures_are_by_route_and_not_by_address(make_app):
    app = make_app(mixtures_dirs=(MIXTURES,))
    for address in (
        "/v1/mixtures/demo",
        "/v1/mixtures/olmo-3-7b",
        "/v1/mixtures/none",
        "/a",
        "/b",
        "/v1/catalogs/demo/domains.csv",
    ):
        ask(app, "GET", address)
    ask(app, "BREW", "/a")
    text = ask(app, "GET", "/metrics").text
    for line in (
        'http_requests_total{handler="/v1/mixtures/{ref}",method="GET",status="200"} 2.0',
        'http_requests_total{handler="/v1/mixtures/{ref}",method="GET",status="404"} 1.0',
        'http_requests_total{handler="/v1/catalogs/{ref}/domains",method="GET",status="200"} 1.0',
        'http_requests_total{handler="other",method="GET",status="404"} 2.0',
        'http_requests_total{handler="other",method="other",status="404"} 1.0',
        'http_request_duration_seconds_count{handler="/v1/mixtures/{ref}",method="GET"} 3.0',
        "mixture_stream_active 0.0",
    ):
        assert line in text
    assert f'mixture_build_info{{python="{sys.version.split()[0]}",version="{mixture.__version__}"}} 1.0' in text


@pytest.mark.long
def test_the_figures_of_several_processes_are_told_together(tmp_path: Path):
    folder = tmp_path / "figures"
    folder.mkdir()
    code = f"""
import pathlib
from mixture.api import Settings, create_app
from api_helpers import ask
data, mixtures = pathlib.Path({str(tmp_path / "data")!r}), pathlib.Path({str(MIXTURES)!r})
app = create_app(Settings(data_dir=data, mixtures_dirs=(mixtures,)))
ask(app, "GET", "/version")
print(ask(app, "GET", "/metrics").text)
"""
    environment = os.environ | {
        "PROMETHEUS_MULTIPROC_DIR": str(folder),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    command = [sys.executable, "-c", code]
    for told in (1, 2):
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert f'http_requests_total{{handler="/version",method="GET",status="200"}} {told}.0' in done.stdout


def test_what_is_written_is_counted_and_what_changed_nothing_is_not(make_app):
    app = make_app()
    secret = app.state.services.repository.add_token("anybody", [Scope.PUBLISH, Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}"}
    for status in (201, 200):
        mixture = {"spec": SPEC, "tables": {"cells.csv": "domain,tokens\na,200000\nb,90000\n"}}
        assert ask(app, "PUT", "/v1/mixtures/small", json=mixture, headers=headers).status_code == status
    run = ask(app, "POST", "/v1/runs", json={"mixture": "small"}, headers=headers).raise_for_status().json()
    for report, status in (({"step": 1, "key": "a"}, 201), ({"step": 1, "key": "a"}, 200), ({"step": 200}, 422)):
        assert ask(app, "POST", f"{run['url']}/progress", json=report, headers=headers).status_code == status
    figures = dict(line.rsplit(" ", 1) for line in ask(app, "GET", "/metrics").text.splitlines() if line[0] != "#")
    assert {name: figures[name] for name in figures if name.startswith(("mixture_publishes", "mixture_run"))} == {
        'mixture_publishes_total{change="created"}': "1.0",
        'mixture_publishes_total{change="unchanged"}': "1.0",
        "mixture_runs_registered_total": "1.0",
        "mixture_run_reports_total": "1.0",
    }
