"""The log of a service that is short of something, which every request meets: a line, and no thousands."""

from __future__ import annotations

import errno
import logging

import pytest
from api_helpers import ask

from mixture.api.middleware.logs import LOGGING, Repeats


def records(*messages: str, level: int = logging.ERROR) -> list[logging.LogRecord]:
    return [logging.LogRecord("asyncio", level, "", 0, message, None, None) for message in messages]


def test_a_message_that_comes_again_is_one_line_until_its_time_is_over(monkeypatch):
    now = 0.0
    monkeypatch.setattr("mixture.api.middleware.logs.time.monotonic", lambda: now)
    repeats = Repeats()
    first = "socket.accept() out of system resource\nsocket: <7>"
    assert list(map(repeats.filter, records(first, first, "another", first.replace("7", "8")))) == [
        True, False, True, False,
    ]  # fmt: skip
    now = 61.0
    assert list(map(repeats.filter, records(first, first))) == [True, False]
    assert all(map(repeats.filter, records("started", "started", level=logging.INFO)))


def test_what_the_server_and_its_loop_say_goes_through_it():
    for name in ("asyncio", "uvicorn"):
        (handler,) = LOGGING["loggers"][name]["handlers"]
        assert LOGGING["handlers"][handler]["filters"] == ["repeats"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE])
def test_a_lack_of_disk_or_files_is_an_outage_and_one_line(make_app, caplog, number):
    app = make_app()

    @app.get("/write")
    def write() -> None:
        raise OSError(number, "no room", "/srv/secret/file")

    answers = [ask(app, "GET", "/write") for _ in range(3)]
    assert [(one.status_code, one.json()["code"], one.headers["retry-after"]) for one in answers] == [
        (503, "unavailable", "5")
    ] * 3
    assert "secret" not in answers[0].text
    assert len([record for record in caplog.records if record.name == "mixture.service"]) == 1


def test_another_error_of_the_system_is_one_that_nobody_foresaw(make_app):
    app = make_app()

    @app.get("/read")
    def read() -> None:
        raise PermissionError(errno.EACCES, "no", "/srv/secret/file")

    assert ask(app, "GET", "/read").status_code == 500
