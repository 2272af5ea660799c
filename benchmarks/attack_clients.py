"""The attacks of `benchmarks.attacks`: what each client sends, and what became of it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

MIXTURE = "/v1/mixtures/marin-535b-a23b"
PUBLISHED = "/v1/mixtures/attacked"
CLOSED = "closed"
OPEN = "left open"
ANSWER_SECONDS = 150.0


@dataclass(slots=True)
class Target:
    """A service, and a token that may publish and run there. Connections stay open until `close`."""

    port: int
    token: str
    log: Path
    _open: list[socket.socket] = field(default_factory=list)

    def connect(self, *, receive_buffer: int | None = None) -> socket.socket:
        """A connection, which stays open."""
        client = socket.socket()
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(ANSWER_SECONDS)
        client.connect(("127.0.0.1", self.port))
        self._open.append(client)
        return client

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[str, bytes]:
        """Status and body of an answer; the status is `closed` where there was none, `left open` where none came."""
        client = self.connect()
        try:
            client.sendall(request(method, path, body, headers or {}))
            answer = b""
            while data := client.recv(1 << 16):
                answer += data
        except TimeoutError:
            return OPEN, b""
        except OSError:
            return CLOSED, b""
        finally:
            client.close()
            self._open.remove(client)
        head, _, content = answer.partition(b"\r\n\r\n")
        return head.split(b" ")[1].decode() if head else CLOSED, content

    def put(self, spec: str, tables: Mapping[str, str], path: str = PUBLISHED) -> str:
        """Publish a mixture: the status."""
        body = json.dumps({"spec": spec, "tables": tables}).encode()
        return self.ask("PUT", path, body, {"Authorization": f"Bearer {self.token}"})[0]

    def ready(self) -> None:
        """Wait until it answers."""
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            with suppress(OSError):
                if self.ask("GET", "/readyz")[0] == "200":
                    return
            time.sleep(0.1)
        raise SystemExit("the service does not become ready")

    def close(self) -> None:
        """Let all connections go."""
        while self._open:
            self._open.pop().close()


def request(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a request."""
    lines = {"Host": "service", "Connection": "close", **(headers or {})}
    if body:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


@dataclass(frozen=True, slots=True)
class Attack:
    """run: attack for about so many seconds; gives a word for each request or connection.
    prepare: what is published before, by another process of the service over the same data. It may be refused."""

    name: str
    meaning: str
    run: Callable[[Target, float], Sequence[str]]
    prepare: Callable[[Target], None] | None = None
    full_temporary_folder: bool = False
    most_files: int | None = None


def _repeat(seconds: float, clients: int, ask: Callable[[int], str]) -> list[str]:
    """What `ask` gives, asked by so many clients again and again."""
    ends = time.monotonic() + seconds

    def run(client: int) -> list[str]:
        outcome: list[str] = []
        number = client
        while not outcome or time.monotonic() < ends:
            outcome.append(ask(number))
            number += clients
        return outcome

    with ThreadPoolExecutor(clients) as pool:
        return [one for outcome in pool.map(run, range(clients)) for one in outcome]


def _key_twice(target: Target, seconds: float) -> list[str]:
    keys = ",".join(f'"{number}":1' for number in (*range(40_000), 39_999))
    body = f'{{"phases":{{{keys}}}}}'.encode()
    return _repeat(seconds, 2, lambda _: target.ask("POST", f"{MIXTURE}/what-if", body)[0])


def _many_faults(target: Target, seconds: float) -> list[str]:
    phases: dict[str, int] = {}
    size = 20
    while size < 2**20 - 16:
        phases[str(len(phases))] = 1
        size += len(str(len(phases))) + 5
    body = json.dumps({"phases": phases}, separators=(",", ":")).encode()

    def ask(_: int) -> str:
        status, content = target.ask("POST", f"{MIXTURE}/what-if", body)
        return f"{status} of {len(content) / 1e6:.1f} MB"

    return _repeat(seconds, 4, ask)


def _unread(target: Target, seconds: float) -> list[str]:
    clients = []
    for number in range(80):
        client = target.connect(receive_buffer=4096)
        # No two ask for the same: nothing is cached.
        address = f"{MIXTURE}/composition?points=500&first_step={number}"
        client.sendall(request("GET", address, headers={"Connection": "keep-alive"}))
        clients.append(client)
    time.sleep(max(seconds, 45))
    return [_state(client) for client in clients]


def _state(client: socket.socket) -> str:
    """Whether the service has closed a connection: what has arrived is not read, but for what tells."""
    client.settimeout(0.5)
    try:
        client.send(b"x")
        time.sleep(0.01)
        client.send(b"x")
    except TimeoutError:
        return OPEN
    except OSError:
        return CLOSED
    return OPEN


def _unfinished_bodies(target: Target, seconds: float) -> list[str]:
    size = 60 * 10**6
    head = {"Authorization": f"Bearer {target.token}", "Content-Length": str(size), "Content-Type": "application/json"}
    clients = [target.connect() for _ in range(20)]

    def send(client: socket.socket) -> str:
        with suppress(OSError):
            client.sendall(request("PUT", PUBLISHED, headers={**head, "Connection": "keep-alive"}))
            client.sendall(b'{"spec":"' + b"x" * (size - 1000))
            return "sent"
        return "refused"

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(send, clients))
    time.sleep(max(seconds, 45))
    return [_answered(client) for client in clients]


def _answered(client: socket.socket) -> str:
    """The status that a connection was answered with before it was closed."""
    client.settimeout(0.5)
    try:
        head = client.recv(1 << 16)
    except TimeoutError:
        return OPEN
    except OSError:
        return CLOSED
    return head.split(b" ")[1].decode() if head else CLOSED


def _unfinished_heads(target: Target, seconds: float) -> list[str]:
    clients = [target.connect() for _ in range(1000)]
    for client in clients:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: service\r\nX: ")
    time.sleep(seconds)
    return [_answered(client) for client in clients]


def _no_files(target: Target, seconds: float) -> list[str]:
    before = len(target.log.read_text().splitlines())
    for _ in range(500):
        with suppress(OSError):
            target.connect().sendall(b"GET /healthz HTTP/1.1\r\n")
    time.sleep(seconds)
    target.close()
    lines, ended = len(target.log.read_text().splitlines()) - before, time.monotonic()
    target.ready()
    return [f"{lines} lines of log, ready again after {time.monotonic() - ended:.0f} s"]


def _deep(target: Target, seconds: float) -> list[str]:
    body = b'{"phases":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    return _repeat(seconds, 4, lambda _: target.ask("POST", f"{MIXTURE}/what-if", body)[0])


SPEC = """\
mixture: attacked
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: only
    weights: {WEIGHTS}
"""


def _publish(target: Target, weights: str, tables: Mapping[str, str]) -> None:
    target.put(SPEC.replace("{WEIGHTS}", weights), tables)


def _publish_small(target: Target) -> None:
    _publish(target, "proportional", {"cells.csv": "domain,tokens\na,200000\nb,90000\n"})


def _published(target: Target, seconds: float) -> list[str]:
    paths = (f"{PUBLISHED}/composition", PUBLISHED, "/readyz", f"{PUBLISHED}/plan")

    def ask(number: int) -> str:
        path = paths[number % len(paths)]
        return f"{path.removeprefix(PUBLISHED) or '/'} {target.ask('GET', path)[0]}"

    tables = {"cells.csv": "domain,tokens\na,200000\nb,95000\n"}
    published = target.put(SPEC.replace("{WEIGHTS}", "uniform"), tables, f"{PUBLISHED}-2")
    return [*_repeat(min(seconds, 5), 2, ask), f"PUT {published}"]


def _publish_large_cell(target: Target) -> None:
    rows = [{"domain": "a", "tokens": 200_000, "note": "a" * 5_000_000}, {"domain": "b", "tokens": 90_000, "note": "b"}]
    spec = SPEC.replace("{WEIGHTS}", "proportional").replace("cells.csv", "cells.json")
    target.put(spec, {"cells.json": json.dumps(rows)})


def _slow_condition(target: Target, seconds: float) -> list[str]:
    where = "note like '%25" + "a" * 900 + "_b%25'"

    def ask(number: int) -> str:
        return target.ask("GET", f"{PUBLISHED}/composition?where={where}%20or%20tokens%3D{number}".replace(" ", "%20"))[
            0
        ]

    return _repeat(seconds, 4, ask)


def _replays(target: Target, seconds: float) -> list[str]:  # noqa: ARG001 one request is the attack
    share, rest = "0." + "3" * 30, f"0.{'6' * 29}7"
    phases = ["  - phase: p0\n    share: 0.1%\n    weights: {a: 50%, b: 50%}\n"]
    for number in range(1, 400):
        length = "    share: 0.1%\n" if number < 399 else ""
        replay, group = (
            f"{{replay: p{number - 1}, share: {share}}}",
            f"{{where: \"domain = 'a'\", share: {rest}, within: uniform}}",
        )
        weights = f"[{replay}, {group}]"
        phases.append(f"  - phase: p{number}\n{length}    weights: {weights}\n")
    spec = "\n".join(SPEC.splitlines()[:5]).replace("100 steps", "100000 steps") + "\nphases:\n" + "".join(phases)
    return [target.put(spec, {"cells.csv": "domain,tokens\na,20000000000\nb,9000000000\n"})]


def _publish_many_domains(target: Target) -> None:
    rows = "".join(f"d{number:06},{100_000 + number},{number % 997}\n" for number in range(190_000))
    _publish(target, "proportional", {"cells.csv": "domain,tokens,kind\n" + rows})


def _many_conditions(target: Target, seconds: float) -> list[str]:
    def ask(number: int) -> str:
        return target.ask("GET", f"{PUBLISHED}/composition?by=kind&where=tokens%3E{number}")[0]

    return _repeat(seconds, 60, ask)


def _report_losses(target: Target) -> None:
    names = [f"d{number:04}" for number in range(2000)]
    rows = "".join(f"{name},1000000\n" for name in names)
    _publish(target, "proportional", {"cells.csv": "domain,tokens\n" + rows})
    headers = {"Authorization": f"Bearer {target.token}"}
    _, run = target.ask("POST", "/v1/runs", json.dumps({"mixture": "attacked", "key": "k"}).encode(), headers)
    if "id" not in json.loads(run):
        return
    loss = {name: 1.0 + number / 7 for number, name in enumerate(names)}
    for step in range(1, 101):
        body = json.dumps({"step": step, "loss": loss}).encode()
        target.ask("POST", f"/v1/runs/{json.loads(run)['id']}/progress", body, headers)


def _losses(target: Target, seconds: float) -> list[str]:
    _, runs = target.ask("GET", "/v1/runs")
    run_id = json.loads(runs)["items"][0]["id"]

    def ask(number: int) -> str:
        path = f"/v1/runs/{run_id}/progress?limit=1000" if number % 2 else f"/runs/{run_id}"
        status, content = target.ask("GET", path)
        return f"{path.split('/')[1]} {status} of {len(content) / 1e6:.0f} MB"

    return _repeat(seconds, 2, ask)


ATTACKS = (
    Attack("key-twice", "a body of 40,000 distinct keys and one key twice, two clients again and again", _key_twice),
    Attack("many-faults", "a body of 1 MiB with a fault in every field, four clients again and again", _many_faults),
    Attack("deep", "a body nested 200,000 deep, four clients again and again", _deep),
    Attack("unread-answers", "80 clients that ask for a composition of 24 MB and do not read", _unread),
    Attack("unfinished-bodies", "20 bodies of 60 MB, the last 1,000 bytes of which never come", _unfinished_bodies),
    Attack("unfinished-heads", "1,000 requests whose head never ends", _unfinished_heads),
    Attack("no-files", "500 connections to a process that may open 72 files", _no_files, most_files=72),
    Attack(
        "full-temporary-folder",
        "a published mixture read, and another one published, without room for temporary files (takes `unshare`)",
        _published,
        _publish_small,
        full_temporary_folder=True,
    ),
    Attack(
        "slow-condition",
        "where: note like '%aaa…_b%' on a cell of 5 MB, four clients",
        _slow_condition,
        _publish_large_cell,
    ),
    Attack("replays", "publishing 400 phases that replay each other by shares of 30 digits", _replays),
    Attack(
        "many-conditions",
        "60 clients, each request with a condition of its own on a published catalog of 190,000 domains",
        _many_conditions,
        _publish_many_domains,
    ),
    Attack("losses", "a log of 100 reports with 2,000 losses each, and the page of its run", _losses, _report_losses),
)
