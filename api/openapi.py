"""`python -m mixture.api.openapi` writes api/openapi.json, the description of the service.

A test compares it with the code.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fastapi import FastAPI

from mixture.api.app import create_app
from mixture.api.settings import Settings

COMMITTED = Path(__file__).with_name("openapi.json")


def text(app: FastAPI) -> str:
    """The description as the file has it."""
    return json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    COMMITTED.write_text(text(create_app(Settings())), encoding="utf-8")
    sys.stdout.write(f"{COMMITTED}\n")
