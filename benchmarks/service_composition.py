"""How long composition at any step of the 200-domain run takes over HTTP: 50 clients, 200 requests a second in all.

    python -m benchmarks.service_composition [--json] [--seconds 8] [--rounds 3]

Starts `mixture serve` as a process of its own and asks it over loopback. Open loop: each client has times at which it
asks, whatever came of the request before, and a time counts from when it was due. Closed loop: each client asks again
once it has its answer. `/healthz`, which does nothing, is asked in turn with it at the same load: the ratio is what
composition costs, on whatever machine. Clients share the machine with the service.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mixture.lock import read_lock

MIXTURES = Path("mixtures")
NAME = "marin-535b-a23b"
CLIENTS, RATE = 50, 200
LEAST_WARM = 50

Address = Callable[[], str]


@contextmanager
def service() -> Iterator[int]:
    """The port of a service that runs while the block does."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "MIXTURE_DATA_DIR": folder,
            "MIXTURE_MIXTURES_DIRS": json.dumps([str(MIXTURES.absolute())]),
            "MIXTURE_RATE_PER_SECOND": "0",
        }
        command = [str(Path(sys.executable).with_name("mixture")), "serve", "--port", "0"]
        with subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                found = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
                assert found is not None, "it says its address first"
                yield int(found[1])
            finally:
                process.terminate()


class Client:
    """One connection that is kept open: a request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, address: str) -> bytes:
        """The body of an answer, which has to be a success."""
        self._writer.write(f"GET {address} HTTP/1.1\r\nHost: service\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)\r\n", head)
        if not head.startswith(b"HTTP/1.1 200 ") or length is None:
            raise RuntimeError(f"{address}: {head.decode('latin-1')}")
        return await self._reader.readexactly(int(length[1]))

    def close(self) -> None:
        """Let the connection go."""
        self._writer.close()


async def open_loop(clients: list[Client], address: Address, seconds: float) -> list[float]:
    """Seconds from when each request was due to the end of its answer."""
    times: list[float] = []
    begin = time.perf_counter() + 0.05

    async def run(number: int, client: Client) -> None:
        for turn in range(int(seconds * RATE / CLIENTS)):
            due = begin + (turn + number / CLIENTS) * CLIENTS / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await client.ask(address())
            times.append(time.perf_counter() - due)

    await asyncio.gather(*(run(number, client) for number, client in enumerate(clients)))
    return times


async def closed_loop(clients: list[Client], address: Address, seconds: float) -> list[float]:
    """Seconds of each request, of clients that ask again at once."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def run(client: Client) -> None:
        while (asked := time.perf_counter()) < end:
            await client.ask(address())
            times.append(time.perf_counter() - asked)

    await asyncio.gather(*map(run, clients))
    return times


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for, and the seconds that it took: open loop, closed loop, one client alone."""

    name: str
    address: Address
    open: list[float]
    closed: list[float]
    alone: list[float]

    def figures(self, health: Asked, seconds: float) -> dict[str, float]:
        """Milliseconds, requests a second, and ratios to `health`."""
        medians = {"open": self.open, "closed": self.closed, "alone": self.alone}
        found = {f"{loop}_ms_median": 1e3 * statistics.median(times) for loop, times in medians.items()}
        found["open_ms_p99"] = 1e3 * statistics.quantiles(self.open, n=100)[98]
        found["closed_ms_p99"] = 1e3 * statistics.quantiles(self.closed, n=100)[98]
        found["closed_requests_per_second"] = len(self.closed) / seconds
        found["open_median_ratio_to_healthz"] = statistics.median(self.open) / statistics.median(health.open)
        return {f"{self.name}_{name}": value for name, value in found.items()}


def addresses() -> list[Asked]:
    """A step anywhere in the run, by domain and by columns; and nothing at all."""
    schedule = read_lock(MIXTURES / NAME / "mixture.lock.json").schedule()
    rng = random.Random(0)

    def composition(by: str) -> Address:
        return lambda: f"/v1/mixtures/{NAME}/composition?step={rng.randrange(schedule.steps)}{by}"

    made = {
        "healthz": lambda: "/healthz",
        "by_domain": composition(""),
        "by_cluster_and_quality": composition("&by=cluster,quality"),
        "by_cluster": composition("&by=cluster"),
    }
    return [Asked(name, address, [], [], []) for name, address in made.items()]


async def measure(port: int, seconds: float, rounds: int) -> dict[str, float]:
    """All of it, in turn, round by round."""
    clients = [Client(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(CLIENTS)]
    asked = addresses()
    for one in asked[1:]:
        items = json.loads(await clients[0].ask(one.address()))["items"]
        assert sum(row["domains"] for row in items) == 200
        assert sum(row["tokens"] for row in items) == 11_264 * 4_096
    for one in asked:
        for _ in range(LEAST_WARM):
            await clients[0].ask(one.address())
    for _ in range(rounds):
        for one in asked:
            one.open.extend(await open_loop(clients, one.address, seconds))
        for one in asked:
            one.closed.extend(await closed_loop(clients, one.address, seconds / 2))
            one.alone.extend(await closed_loop(clients[:1], one.address, seconds / 8))
    for client in clients:
        client.close()
    found: dict[str, float] = {"clients": CLIENTS, "requests_per_second": RATE}
    for one in asked:
        found |= one.figures(asked[0], rounds * seconds / 2)
    return found


def main() -> None:
    """Run it and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with service() as port:
        found = asyncio.run(measure(port, arguments.seconds, arguments.rounds))
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<52}{value:>12,.3f}")


if __name__ == "__main__":
    main()
