"""Where the service's logs go: standard error. Writes are one JSON object a line, under the name mixture.writes."""

from __future__ import annotations

from typing import Any

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"format": "%(message)s"},
    },
    "handlers": {
        "text": {"class": "logging.StreamHandler", "formatter": "text"},
        "json": {"class": "logging.StreamHandler", "formatter": "json"},
    },
    "loggers": {
        "uvicorn": {"handlers": ["text"], "level": "INFO", "propagate": False},
        "mixture.service": {"handlers": ["text"], "level": "INFO", "propagate": False},
        "mixture.writes": {"handlers": ["json"], "level": "INFO", "propagate": False},
    },
}
