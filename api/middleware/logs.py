"""Where the service's logs go: standard error. Writes are one JSON object a line, under the name mixture.writes."""

from __future__ import annotations

import logging
import time
from typing import Any

REPEAT_SECONDS = 60.0


class Repeats(logging.Filter):
    """Of a message that comes again and again, such as of a server that has no files left, one line a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._next: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is written. Its first line says what it is."""
        if record.levelno < logging.WARNING:
            return True
        message, now = record.getMessage().partition("\n")[0], time.monotonic()
        if now < self._next.get(message, now):
            return False
        self._next = {said: due for said, due in self._next.items() if due > now} | {message: now + REPEAT_SECONDS}
        return True


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"repeats": {"()": Repeats}},
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"format": "%(message)s"},
    },
    "handlers": {
        "text": {"class": "logging.StreamHandler", "formatter": "text"},
        "server": {"class": "logging.StreamHandler", "formatter": "text", "filters": ["repeats"]},
        "json": {"class": "logging.StreamHandler", "formatter": "json"},
    },
    "loggers": {
        "asyncio": {"handlers": ["server"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["server"], "level": "INFO", "propagate": False},
        "mixture.service": {"handlers": ["text"], "level": "INFO", "propagate": False},
        "mixture.writes": {"handlers": ["json"], "level": "INFO", "propagate": False},
    },
}
