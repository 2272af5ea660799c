"""Runs at a service, for the training program itself: register one, report how far it is, follow another's reports."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from http.client import HTTPResponse
from typing import Any, SupportsFloat
from urllib.parse import quote

from mixture.client.address import API, service_address
from mixture.client.service import OPENING_SECONDS, PATIENCE_SECONDS, InterruptedRequestError, Service
from mixture.json_text import json_number, parse_json

RUNS = f"{API}/runs"
EVENTS_TYPE = "text/event-stream"
SILENT_SECONDS = 45.0
"""How long a stream of events may say nothing: the service sends a comment every 15 seconds."""


def register_run(
    url: str,
    mixture: str,
    *,
    name: str | None = None,
    key: str | None = None,
    token: str | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> dict[str, Any]:
    """Register a training run, tried again while the service can not be reached; there is one run then.

    url:     of the service: http://HOST:PORT
    mixture: NAME, NAME@sha256:DIGEST or sha256:DIGEST; the run stays with what a name points to now
    name:    what people call it
    key:     marks the run, so that registering it again gives the same one, also from a job that is started anew; made
             here where there is none
    token:   with the scope `run`
    patience_seconds: after which trying again is given up; 0: it is sent once

    Gives the run as `GET /v1/runs/ID` does; its `id` is what reports name. Raises ServiceError: `url-invalid`,
    `service-unreachable`, and codes of the service such as `unknown-mixture`, `token-missing`, `scope-missing`,
    `run-conflict`.
    """
    service = Service(service_address(url), token, patience_seconds=patience_seconds)
    body = {"mixture": mixture, "name": name, "key": key or _new_key()}
    run: dict[str, Any] = service.ask("POST", RUNS, body)
    return run


def find_run(url: str, run_id: str, *, token: str | None = None, patience_seconds: float = 0) -> dict[str, Any]:
    """A run as the service has it: its last report, and where in its mixture it is. Errors: as `report_progress`."""
    run: dict[str, Any] = Service(service_address(url), token, patience_seconds=patience_seconds).ask(
        "GET", run_path(run_id)
    )
    return run


def steps_of(run: Mapping[str, Any]) -> int | None:
    """The steps of a whole run; None where the service has its mixture no longer."""
    standing: Mapping[str, Any] | None = run["standing"]
    return None if standing is None else int(standing["steps"])


def report_progress(
    url: str,
    run_id: str,
    *,
    step: int,
    loss: Mapping[str, SupportsFloat | None] | None = None,
    lock: str | None = None,
    key: str | None = None,
    token: str | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> dict[str, Any]:
    """Report how far a run is, tried again while the service can not be reached; it is counted once.

    step:  steps that are done; of what was read, the service says what follows from it
    loss:  by domain; NaN and infinite losses, as of a run that diverges, are shown as such; None: not known
    lock:  digest of the lock that the run reads, where it may be another one than before, as after an amendment; a run
           that went back to a checkpoint reports the checkpoint's step first
    key:   marks the report, so that the same sent again is not another; made here where there is none
    token: with the scope `run`
    patience_seconds: after which trying again is given up; 0: it is sent once

    Gives the line of the run's log, whose losses are numbers, "NaN", "Infinity", "-Infinity" or None: `float` reads
    them. Raises ServiceError: `service-unreachable`, `unknown-run`, `unknown-domain`,
    `progress-conflict`, `history-differs` and others as the service says.
    """
    service = Service(service_address(url), token, patience_seconds=patience_seconds)
    losses = (
        None
        if loss is None
        else {domain: None if value is None else json_number(float(value)) for domain, value in loss.items()}
    )
    body = {"step": step, "loss": losses, "key": key or _new_key()} | ({} if lock is None else {"lock": lock})
    entry: dict[str, Any] = service.ask("POST", f"{run_path(run_id)}/progress", body)
    return entry


def watch_run(
    url: str,
    run_id: str,
    *,
    after: int = 0,
    token: str | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Iterator[dict[str, Any]]:
    """The lines of a run's log as they come, each once, until its last step; over restarts of the service too.

    Where the log has become shorter than what was read of it, as one that was put back from a copy has, its lines come
    from the first again.

    after: begin behind this number (`seq`) of the log
    patience_seconds: without a word, after which connecting again is given up

    Raises ServiceError as `report_progress` does.
    """
    service = Service(service_address(url), token, SILENT_SECONDS, patience_seconds)
    steps = steps_of(find_run(url, run_id, token=token, patience_seconds=min(OPENING_SECONDS, patience_seconds)))
    attempts = service.attempts()
    while True:
        try:
            headers = {"Last-Event-ID": str(after)}
            with service.open(f"{run_path(run_id)}/events", accept=EVENTS_TYPE, headers=headers) as answer:
                for event, entry in _events(answer):
                    attempts.succeeded()
                    if event == "reset":
                        after = 0  # connecting again behind the old number would miss lines where the log grew past it
                    if event == "progress":
                        after = entry["seq"]
                        yield entry
                        if entry.get("lock"):
                            steps = steps_of(find_run(url, run_id, token=token, patience_seconds=patience_seconds))
                        if entry["step"] == steps:
                            return
            raise InterruptedRequestError(f"{service.url}: the events of {run_id} broke off")
        except InterruptedRequestError as error:
            attempts.failed(error)


def run_path(run_id: str) -> str:
    """The path of a run at a service."""
    return f"{RUNS}/{quote(run_id, safe='')}"


def _new_key() -> str:
    """A key that nobody else makes, for what is sent until it is answered."""
    return secrets.token_hex(8)


def _events(answer: HTTPResponse) -> Iterator[tuple[str, Any]]:
    """The server-sent events of an answer, as (event, data); comments are events without a name or data."""
    fields: dict[str, str] = {}
    while line := answer.readline().decode("utf-8", "replace"):
        text = line.rstrip("\r\n")
        if text:
            name, _, value = text.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        try:
            data = parse_json(fields["data"]) if "data" in fields else None
        except ValueError as error:
            raise InterruptedRequestError(f"an event is not JSON: {fields['data'][:100]!r}") from error
        yield ("" if data is None else fields.get("event", "message")), data
        fields = {}
