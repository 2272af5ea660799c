"""`mixture serve` as an operator runs it: a process of its own, for one life or for several."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from api_helpers import MIXTURES

ROOT = Path(__file__).parents[1]
PROGRAM = str(Path(sys.executable).with_name("mixture"))
GONE_WITHIN = 20


@dataclass(frozen=True)
class Copy:
    """A running copy of the service."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def end(self, by: signal.Signals, *, within: float = GONE_WITHIN) -> int:
        """Send a signal, unless it has ended; its status when it is gone, which it has to be in so many seconds."""
        self.process.send_signal(by)
        try:
            return self.process.wait(within)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()

    def kill(self) -> None:
        """End it without a word, as a machine that fails does."""
        self.end(signal.SIGKILL)


def start_copy(*, port: int = 0, cwd: Path = ROOT / "tests", **settings: object) -> Copy:
    """Start a copy with settings: start_copy(data_dir=…, store_dirs=[…]). It listens when this comes back, and a
    request waits until it answers; what it shows is what the settings name, and clients have no limit."""
    said = {"mixtures_dirs": [], "rate_per_second": 0} | settings
    environment = {f"MIXTURE_{name.upper()}": _in_environment(value) for name, value in said.items()}
    process = subprocess.Popen(
        [PROGRAM, "serve", "--port", str(port)], cwd=cwd, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+(?=/docs)", line)
    if found is None:
        process.kill()
        process.communicate()
        raise AssertionError(f"it says its address first, and not {line!r}")
    return Copy(process, found[0])


def _in_environment(value: object) -> str:
    return json.dumps([str(one) for one in value]) if isinstance(value, list | tuple) else str(value)


@contextmanager
def copy_of_the_service(data_dir: Path, database_url: str | None = None, *, port: int = 0) -> Iterator[str]:
    """The address of a copy that shows the repository's mixtures; told to end when the block ends, it has to."""
    database = {} if database_url is None else {"database_url": database_url}
    copy = start_copy(port=port, data_dir=data_dir, mixtures_dirs=[MIXTURES], **database)
    try:
        yield copy.url
    finally:
        status = copy.end(signal.SIGTERM)
    assert status in (0, -signal.SIGTERM)
