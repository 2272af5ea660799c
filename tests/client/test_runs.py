"""Runs as a training program reports them and another program follows them, over services that go away."""

from __future__ import annotations

import math
import signal
import threading
from typing import Any

import httpx2
import numpy as np
import pytest
from api_helpers import serving
from service_process import NAME, Harm, ServiceProcess, Shown, free_port, proxy

from mixture.api.app import create_app
from mixture.api.database import Repository, Scope
from mixture.api.settings import Settings
from mixture.client import find_run, register_run, report_progress, watch_run
from mixture.errors import ServiceError


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def token(data_dir) -> str:
    repository = Repository.open(data_dir)
    _, secret = repository.add_token("trainer", {Scope.RUN})
    repository.close()
    return secret


def passed_on(seen: int, data: bytes) -> bytes:
    return data


def cut(seen: int, data: bytes) -> None:
    """Nothing of the answer comes back."""


@pytest.mark.long
def test_a_report_whose_answer_was_lost_is_sent_again_and_counts_once(run: Shown, data_dir, token):
    lost = iter([True, True])

    def harms(request: bytes) -> Harm:
        return cut if request.startswith(b"POST") and b"progress" in request and next(lost, False) else passed_on

    with ServiceProcess(run, data_dir=data_dir) as service, proxy(service.port, harms) as url:
        made = register_run(url, NAME, name="first", token=token)
        entry = report_progress(url, made["id"], step=7, loss={"code": 2.5}, token=token, patience_seconds=60)
        assert next(lost, None) is None, "two answers were lost"
        assert (entry["seq"], entry["step"], entry["loss"]) == (1, 7, {"code": 2.5})
        again = report_progress(url, made["id"], step=7, loss={"code": 2.5}, token=token)
        assert again["seq"] == 2, "one that somebody sends anew is another"
        assert find_run(url, made["id"])["last"] == again


@pytest.mark.long
def test_reports_are_made_and_followed_while_the_service_is_away_at_first_and_killed_later(run: Shown, data_dir, token):
    service = ServiceProcess(run, data_dir=data_dir)
    with service:
        made = register_run(service.address, NAME, token=token)
        watched = watch_run(service.address, made["id"], patience_seconds=60)
        sent = [report_progress(service.address, made["id"], step=1, token=token)]
        seen = [next(watched)]
        service.end(signal.SIGKILL)
        reporting = threading.Thread(
            target=lambda: sent.append(
                report_progress(service.address, made["id"], step=2, token=token, patience_seconds=60)
            )
        )
        reporting.start()
        service.start()
        reporting.join()
        seen.append(next(watched))
        service.end(signal.SIGTERM)
        service.start()
        sent.append(report_progress(service.address, made["id"], step=run.lock.data.steps, token=token))
        seen += list(watched)
    assert seen == sent
    assert [entry["seq"] for entry in seen] == [1, 2, 3]


@pytest.mark.long
def test_a_watch_goes_on_when_what_stands_before_the_service_answers_for_it(run: Shown, data_dir, token):
    answers = iter([b"502 Bad Gateway", b"503 Service Unavailable", b"504 Gateway Timeout"])

    def harms(request: bytes) -> Harm:
        answer = next(answers, None) if b"/events" in request else None
        if answer is None:
            return passed_on

        def harm(seen: int, data: bytes) -> bytes | None:
            return None if seen else b"HTTP/1.1 " + answer + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

        return harm

    with ServiceProcess(run, data_dir=data_dir) as service, proxy(service.port, harms) as url:
        made = register_run(url, NAME, token=token)
        sent = [report_progress(url, made["id"], step=step, token=token) for step in (1, run.lock.data.steps)]
        assert list(watch_run(url, made["id"], patience_seconds=60)) == sent
    assert next(answers, None) is None


def test_what_the_service_refuses_is_said_at_once_with_its_code(run: Shown, data_dir, token):
    with serving(create_app(Settings(**run.settings | {"data_dir": data_dir}))) as url:
        made = register_run(url, NAME, token=token)
        refused = [
            lambda: register_run(url, f"{NAME}m", token=token),
            lambda: register_run(url, NAME),
            lambda: report_progress(url, "nothing", step=1, token=token),
            lambda: report_progress(url, made["id"], step=1, loss={"cod": 1.0}, token=token),
            lambda: next(watch_run(url, "nothing")),
        ]
        codes = []
        for ask in refused:
            with pytest.raises(ServiceError) as caught:
                ask()
            codes.append(caught.value.code)
    assert codes == ["unknown-mixture", "token-missing", "unknown-run", "unknown-domain", "unknown-run"]


def test_without_patience_registering_and_reporting_are_tried_once():
    nobody = f"127.0.0.1:{free_port()}"
    for ask in (
        lambda: register_run(nobody, NAME, patience_seconds=0),
        lambda: report_progress(nobody, "run", step=1, patience_seconds=0),
    ):
        with pytest.raises(ServiceError) as caught:
            ask()
        assert (caught.value.code, caught.value.facts["attempts"]) == ("service-unreachable", 1)


@pytest.mark.long
def test_a_run_whose_registration_was_answered_to_nobody_is_there_once(run: Shown, data_dir, token):
    lost = iter([True, True])

    def harms(request: bytes) -> Harm:
        return cut if request.startswith(b"POST") and next(lost, False) else passed_on

    with ServiceProcess(run, data_dir=data_dir) as service, proxy(service.port, harms) as url:
        made = register_run(url, NAME, name="first", token=token, patience_seconds=60)
        assert next(lost, None) is None, "two answers were lost"
        assert [one["id"] for one in listed(service)] == [made["id"]]
        other = register_run(url, NAME, name="first", token=token)
        assert [one["id"] for one in listed(service)] == [other["id"], made["id"]], "without a key it is another run"
        kept = register_run(url, NAME, key="job-7", token=token)
        assert register_run(url, NAME, key="job-7", token=token)["id"] == kept["id"]
        assert len(listed(service)) == 3


def listed(service: ServiceProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx2.get(f"{service.address}/v1/runs").raise_for_status().json()["items"]
    return found


def test_a_loss_that_is_no_finite_number_is_reported_as_what_it_is(run: Shown, data_dir, token):
    with serving(create_app(Settings(**run.settings | {"data_dir": data_dir}))) as url:
        made = register_run(url, NAME, token=token)
        losses = {"code": math.nan, "notes": -math.inf, "web": None}
        entry = report_progress(url, made["id"], step=3, loss=losses, token=token)
        assert entry["loss"] == {"code": "NaN", "notes": "-Infinity", "web": None}
        losses = {"code": np.float32("nan"), "notes": np.float32(0.5)}
        entry = report_progress(url, made["id"], step=4, loss=losses, token=token)
        assert entry["loss"] == {"code": "NaN", "notes": 0.5}
        watched = [next(watch_run(url, made["id"], after=after, token=token))["loss"] for after in (0, 1)]
        assert watched == [{"code": "NaN", "notes": "-Infinity", "web": None}, {"code": "NaN", "notes": 0.5}]


@pytest.mark.long
def test_a_log_that_became_shorter_is_followed_from_its_beginning(run: Shown, data_dir, token):
    """As of a database put back from a copy: the connection breaks off where the service has just said so."""
    sent: list[dict[str, Any]] = []
    said_so: list[int] = []

    def report(step: int) -> None:
        sent.append(report_progress(service.address, made["id"], step=step, token=token))

    def harms(request: bytes) -> Harm:
        text = b""

        def harm(seen: int, data: bytes) -> bytes | None:
            nonlocal text
            text += data
            event = text.find(b"event: reset")
            end = text.find(b"\n\n", event)
            if event < 0 or end < 0:
                return data
            if said_so:
                return None
            said_so.append(seen)
            for step in range(3, 8):
                report(step)  # the log grows past what was read of it before
            return data[: end + 2 - seen]

        return harm

    with ServiceProcess(run, data_dir=data_dir) as service, proxy(service.port, harms) as url:
        made = register_run(url, NAME, token=token)
        for step in (1, 2):
            report(step)
        watched = watch_run(url, made["id"], after=4, patience_seconds=60)
        seen = [next(watched) for _ in range(7)]
        report(run.lock.data.steps)
        seen += list(watched)
    assert said_so
    assert seen == sent
