"""The memory of a process and of all that it has started."""

from __future__ import annotations

import json
import subprocess
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any


def watched(command: list[str], *, seconds: float = 0.25) -> tuple[dict[str, Any], int]:
    """What a run prints as its last line of JSON, and the most bytes that it and all that it started had at once.

    seconds: between two looks. Memory that processes share is counted once.
    """
    most = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        while run.poll() is None:
            most = max(most, sum(map(_memory, _family(run.pid))))
            time.sleep(seconds)
        printed = run.stdout.read() if run.stdout else b""
    if run.returncode:
        raise SystemExit(run.returncode)
    return json.loads(printed.splitlines()[-1]), most


def _family(pid: int) -> list[int]:
    """A process and all that it has started."""
    children: dict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            parent = int(path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            children[parent].append(int(path.parent.name))
    found = [pid]
    for one in found:
        found += children[one]
    return found


def _memory(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0
