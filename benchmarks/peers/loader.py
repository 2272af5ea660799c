"""A loader's process, asked from here."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.install import PEERS

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Loader:
    """One to measure.

    name:        as the table and `--only` have it
    module:      in `benchmarks.peers.ways`
    environment: whose Python it runs in; None: this one
    is_peer:     whether it is a library of others
    """

    name: str
    module: str
    environment: str | None = None
    is_peer: bool = False


LOADERS = (
    Loader("this stream", "ours"),
    Loader("this stream, formats", "ours_formats"),
    Loader("this stream, torch", "ours_torch"),
    Loader("this stream, S3", "ours_s3"),
    Loader("MosaicML Streaming", "mosaic", "mosaic", is_peer=True),
    Loader("LitData", "lit", "loaders", is_peer=True),
    Loader("Hugging Face interleave", "hugging_face", "loaders", is_peer=True),
    Loader("grain", "grains", "loaders", is_peer=True),
    Loader("torch over one map", "plain_torch"),
)


class LoaderError(Exception):
    """What a loader said instead of an answer."""


class Running:
    """A loader that was started; `said` is what it said first."""

    def __init__(self, loader: Loader, folder: Path, told: Mapping[str, str]) -> None:
        self.loader = loader
        python = sys.executable if loader.environment is None else str(PEERS.python_of(loader.environment))
        if not Path(python).exists():
            raise LoaderError("not installed: python -m benchmarks.peers --install")
        environment = {**os.environ, **told, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
        log = (folder / f"{loader.module}.log").open("wb")
        command = [python, "-m", f"benchmarks.peers.ways.{loader.module}", str(folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
        )
        log.close()
        self._log = log.name
        try:
            self.said = self._answer()
        except LoaderError:
            self.stop()
            raise

    def ask(self, **what: object) -> dict[str, Any]:
        """Ask for something. Raises LoaderError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise LoaderError(f"it has ended; {self._log}") from error
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], PATIENCE_SECONDS)[0]:
            self.stop()
            raise LoaderError(f"no answer in {PATIENCE_SECONDS} s; {self._log}")
        line = self._process.stdout.readline()
        if not line:
            raise LoaderError(f"it has ended; {self._log}")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise LoaderError(found["error"])
        return found

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
