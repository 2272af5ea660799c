"""`mixture serve` as an operator runs it: a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api_helpers import MIXTURES


@contextmanager
def copy_of_the_service(data_dir: Path, database_url: str | None = None, *, port: int = 0) -> Iterator[str]:
    """The address of a copy of the service; it is told to end, and has to, when the block ends."""
    settings = {
        "MIXTURE_DATA_DIR": str(data_dir),
        "MIXTURE_MIXTURES_DIRS": f'["{MIXTURES}"]',
        "MIXTURE_RATE_PER_SECOND": "0",
    }
    if database_url is not None:
        settings["MIXTURE_DATABASE_URL"] = database_url
    command = [str(Path(sys.executable).with_name("mixture")), "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://[\d.:]+", process.stdout.readline())
        assert found is not None, "it says its address first"
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    assert process.returncode in (0, -signal.SIGTERM)
