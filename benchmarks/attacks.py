"""What one client can do to the service: memory and the time of `/healthz` beside each attack, with default settings.

    python -m benchmarks.attacks [--json] [--seconds 15] [NAME …]

Each attack has a `mixture serve` of its own over the mixtures of this repository. A process asks `/healthz` every
20 ms: for three seconds before the attack (quiet), and while it runs. Memory is what the service has for itself, at
its start, the most of it, and what it has ten seconds after the attack, whose connections stay open. `outcome` says how
requests were answered, or what became of connections.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.attack_clients import ATTACKS, PUBLISHED, Attack, Target

QUIET_SECONDS = 3
AFTER_SECONDS = 10
ASKED_EVERY = 0.02
NO_ANSWER = 120.0


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table. Memory in MB, times in milliseconds."""

    attack: str
    outcome: str
    seconds: float
    memory_before: int
    memory_most: int
    memory_after: int
    quiet_p99: float
    beside_p99: float
    beside_longest: float


@contextmanager
def service(attack: Attack, folder: Path) -> Iterator[tuple[Target, int]]:
    """A service for one attack, and its process, which `prepare` has been done to."""
    settings = {
        "MIXTURE_DATA_DIR": str(folder / "data"),
        "MIXTURE_MIXTURES_DIRS": json.dumps([str(Path("mixtures").absolute())]),
    }
    program = [sys.executable, "-c", "from mixture.cli import main; main()"]
    environment = os.environ | settings
    token = subprocess.run(
        [*program, "tokens", "create", "attacker", "--scope", "publish,run", "--new", "--json"],
        env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    secret = json.loads(token.stdout)["secret"]
    for stage in ("prepare", "attack"):
        command = [*program, "serve", "--port", "0"]
        if stage == "attack" and attack.full_temporary_folder:
            command = _with_full_folder(command)
        if stage == "attack" and attack.most_files is not None:
            command = ["sh", "-c", f'ulimit -n {attack.most_files}; exec "$@"', "sh", *command]
        with (
            (folder / f"{stage}.log").open("w") as log,
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as process,
        ):
            try:
                assert process.stdout is not None
                said = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
                assert said is not None, "it says its address first"
                threading.Thread(target=process.stdout.read, daemon=True).start()
                target = Target(int(said[1]), secret, folder / f"{stage}.log")
                target.ready()
                if stage == "attack":
                    yield target, process.pid
                elif attack.prepare is not None:
                    attack.prepare(target)
            finally:
                process.kill()


def _with_full_folder(command: list[str]) -> list[str]:
    """The command where none of the folders for temporary files has room: takes Linux and `unshare`."""
    full = "mount -t tmpfs -o size=8k tmpfs /tmp && head -c 8192 /dev/zero > /tmp/full; mount --bind /tmp /var/tmp"
    return ["unshare", "-rm", "sh", "-c", f'{full} && cd /tmp && exec "$@"', "sh", *command]


@dataclass(slots=True)
class _Memory:
    """The memory of a process, looked at while a block runs."""

    pid: int
    most: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    def now(self) -> int:
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
            return int(next(line for line in lines if line.startswith("RssAnon:")).split()[1]) >> 10
        return 0

    def __enter__(self) -> _Memory:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            self.most = max(self.most, self.now())


def ask_health(port: int, ended: Connection, answered: Connection) -> None:
    """Ask `/healthz`, each time over a new connection, until told to end: the milliseconds of each answer.

    Open loop: a request that was due while the one before was not answered counts from when it was due. One that is
    refused counts as infinite.
    """

    async def ask(due: float) -> float:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n")
        head = await reader.read(-1)
        writer.close()
        return time.perf_counter() - due if b" 200 OK" in head else inf

    async def run() -> list[float]:
        times: list[float] = []
        while not ended.poll():
            due = time.perf_counter()
            try:
                times.append(await asyncio.wait_for(ask(due), NO_ANSWER))
            except TimeoutError:
                times.append(NO_ANSWER)
            except OSError:
                times.append(inf)
            late = int((time.perf_counter() - due) / ASKED_EVERY)
            times += [times[-1] - number * ASKED_EVERY for number in range(1, late) if times[-1] < inf]
            await asyncio.sleep(ASKED_EVERY)
        return times

    answered.send([1000 * one for one in asyncio.run(run())])


@contextmanager
def health(port: int) -> Iterator[list[float]]:
    """The milliseconds in which `/healthz` was answered while the block ran, there when it has ended."""
    times: list[float] = []
    spawned = multiprocessing.get_context("spawn")
    (end, ended), (answers, answered) = spawned.Pipe(), spawned.Pipe()
    process = spawned.Process(target=ask_health, args=(port, ended, answered), daemon=True)
    process.start()
    time.sleep(1)  # what it imports
    yield times
    end.send(None)
    times += answers.recv()
    process.join()


def measured(attack: Attack, seconds: float) -> Row:
    """Run an attack against a service of its own."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, service(attack, Path(folder)) as (target, pid):
        with health(target.port) as quiet:
            time.sleep(QUIET_SECONDS)
        with _Memory(pid) as memory:
            before = memory.now()
            with health(target.port) as beside:
                began = time.perf_counter()
                refused = attack.prepare is not None and target.ask("GET", PUBLISHED)[0] == "404"
                outcome = ["refused when it was published"] if refused else attack.run(target, seconds)
                taken = time.perf_counter() - began
            time.sleep(AFTER_SECONDS)
            after = memory.now()
        target.close()
    answered = [one for one in beside if one < inf]
    said = ", ".join(f"{count} {what}" for what, count in Counter(outcome).most_common())
    said += f"; /healthz refused {len(beside) - len(answered)} times" if len(answered) < len(beside) else ""
    return Row(
        attack.name, said, round(taken, 1), before, memory.most, after,
        _part(quiet, 0.99), _part(answered, 0.99), max(answered, default=inf),
    )  # fmt: skip


def _part(times: Sequence[float], share: float) -> float:
    return sorted(times)[int(share * (len(times) - 1))] if times else inf


def main() -> None:
    """Print the table."""
    names = [attack.name for attack in ATTACKS]
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="attacks:\n" + "\n".join(f"  {attack.name:<20} {attack.meaning}" for attack in ATTACKS),
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks to run; default: all")
    parser.add_argument("--seconds", type=float, default=15, help="how long an attack goes on (default: 15)")
    parser.add_argument("--json", action="store_true", help="JSON, one attack a line")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(names)
    if unknown:
        parser.error(f"unknown attacks: {', '.join(sorted(unknown))}")
    if not asked.json:
        print(
            "| attack | seconds | memory before → most → after, MB | /healthz p99 before → beside, most, ms | outcome |"
        )
        print("|---|---|---|---|---|")
    for attack in ATTACKS:
        if asked.names and attack.name not in asked.names:
            continue
        row = measured(attack, asked.seconds)
        if asked.json:
            print(json.dumps(asdict(row)), flush=True)
            continue
        print(
            f"| {row.attack} | {row.seconds} | {row.memory_before} → {row.memory_most} → {row.memory_after} "
            f"| {row.quiet_p99:.0f} → {row.beside_p99:.0f}, {row.beside_longest:.0f} | {row.outcome} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
