"""A trainer in a process of its own, and what it has to have read."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

from service_processes import ROOT
from stream_helpers import bytes_of

from mixture.stream import Stream

TRAINER = """
import hashlib, json, sys
from mixture.client import open_remote_stream

url, first_state = sys.argv[1], json.loads(sys.argv[2])
stream = open_remote_stream(url, 1, 2, patience_seconds=60)
if first_state:
    stream.load_state_dict(first_state)
for batch in stream:
    digest = hashlib.sha256()
    for column in ("input_ids", "domain", "position", "epoch", "first_token"):
        digest.update(getattr(batch, column).tobytes())
    print(json.dumps([batch.step, digest.hexdigest(), stream.state_dict()]), flush=True)
    sys.stdin.readline()  # goes on when it is told to
"""


class Trainer:
    """A process that consumes the stream of rank 1 of 2, a step each time it is told to.

    steps: (step, digest of its batch) of those that it consumed
    state: the stream's behind the last of them
    """

    def __init__(self, url: str, state: object = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, url, json.dumps(state)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.steps: list[tuple[int, str]] = []
        self.state: object = None

    def take(self, count: int) -> None:
        """Consume steps, fewer only where the run ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for _ in range(count):
            line = self._process.stdout.readline()
            if not line:
                return
            step, digest, self.state = json.loads(line)
            self.steps.append((step, digest))
            self._process.stdin.write("\n")
            self._process.stdin.flush()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def digests(stream: Stream) -> list[tuple[int, str]]:
    """What a trainer of this stream has consumed at the end."""
    return [(batch.step, hashlib.sha256(bytes_of([batch])).hexdigest()) for batch in stream]
