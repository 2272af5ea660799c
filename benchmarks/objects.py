"""What reading from object stores costs: against the same store on the disk, and beside a trainer when they are slow.

    python -m benchmarks.objects [--json]

Makes a store of 128 MB below bench/, puts it into a local S3 server (moto, a Python process: it gives what one core
gives, no more), and behind a web server that answers after 30 ms, as a bucket does. One run, two cores. Needs the extra
objects and moto.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixture.data.ingest import ingest
from mixture.data.storage import ObjectOptions
from mixture.data.store import Store, open_store
from mixture.lock import Lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import open_stream

FOLDER = Path("bench/objects")
LENGTH, BATCH, RANKS = 4096, 64, 8
DOMAINS, DOCUMENTS, WORDS = 4, 200, 6_000
PART_BYTES = 1 << 18
STEPS, WORK_SECONDS, WORKED_STEPS = 100, 0.020, 100
SPEC = """\
mixture: bench
catalog: {store}
tokenizer: bytes
sequence_length: {length}
batch: {batch} sequences
budget: 100000 steps
max_epochs: 1000000
phases:
  - {{phase: all, weights: proportional}}
"""
SLOW_SERVER = """
import re, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def answer(self, with_body):
        time.sleep(0.030)
        path = Path(sys.argv[1]) / self.path.lstrip("/")
        size = path.stat().st_size
        found = re.fullmatch(r"bytes=(\\d+)-(\\d+)", self.headers.get("Range", ""))
        start, stop = (int(found[1]), int(found[2]) + 1) if found else (0, size)
        self.send_response(206 if found else 200)
        self.send_header("Content-Length", str(stop - start))
        self.send_header("ETag", '"e"')
        if found: self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.end_headers()
        if with_body:
            with path.open("rb") as file:
                file.seek(start)
                self.wfile.write(file.read(stop - start))
    def do_GET(self): self.answer(True)
    def do_HEAD(self): self.answer(False)
class Server(ThreadingHTTPServer):
    request_queue_size = 128  # with the usual 5 a connection may wait for a second
Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""


def made_store() -> Store:
    """Words of a few domains, as 32-bit tokens."""
    if not (FOLDER / "store").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        for number in range(DOMAINS):
            with (FOLDER / f"d{number}.jsonl").open("w", encoding="ascii") as file:
                for document in range(DOCUMENTS):
                    text = " ".join(map(str, random.integers(0, 1 << 20, WORDS).tolist()))
                    file.write(json.dumps({"id": document, "text": text}) + "\n")
        lines = [f"  d{number}: {{files: [d{number}.jsonl], id: id}}" for number in range(DOMAINS)]
        (FOLDER / "sources.yaml").write_text("dtype: uint32\ndomains:\n" + "\n".join(lines) + "\n", encoding="utf-8")
        ingest(FOLDER / "sources.yaml", FOLDER / "store")
    return open_store(FOLDER / "store")


def lock_over(store: Store) -> Lock:
    """One phase over the whole store."""
    spec = FOLDER / "bench.yaml"
    spec.write_text(SPEC.format(store=store.path.name, length=LENGTH, batch=BATCH), encoding="utf-8")
    return make_lock(make_plan(read_spec(spec)))


@contextmanager
def served(*command: str) -> Iterator[str]:
    """A server process on a free port, which is put behind the command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, *command, str(port)], stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def fill(url: str, store: Store) -> tuple[tuple[str, str], ...]:
    """Put the store into a new bucket; how it is reached."""
    from obstore.store import S3Store

    urllib.request.urlopen(urllib.request.Request(f"{url}/bench", method="PUT")).close()
    settings = {"access_key_id": "a", "endpoint": url, "region": "us-east-1", "secret_access_key": "b"}
    bucket = S3Store("bench", client_options={"allow_http": True}, **settings)  # type: ignore[arg-type]
    for path in store.path.rglob("*"):
        if path.is_file():
            bucket.put(f"store/{path.relative_to(store.path).as_posix()}", path)
    return tuple(settings.items())


def server_alone(objects: ObjectOptions, store: Store) -> float:
    """Million tokens of a token file a second, by obstore and threads alone."""
    from obstore.store import S3Store

    bucket = S3Store("bench", client_options={"allow_http": True}, **dict(objects.settings))  # type: ignore[arg-type]
    path = next((store.path / "tokens").iterdir())
    places = range(0, path.stat().st_size - PART_BYTES, PART_BYTES)
    begun = time.perf_counter()
    with ThreadPoolExecutor(objects.in_flight) as threads:
        parts = threads.map(
            lambda at: bucket.get_range(f"store/tokens/{path.name}", start=at, length=PART_BYTES), places
        )
        size = sum(len(part) for part in parts)
    return size / 4 / (time.perf_counter() - begun) / 1e6


def million_tokens_per_second(lock: Lock, store: Store) -> float:
    """Of all rows of the first steps, by one rank."""
    stream = open_stream(lock, store)
    start = time.perf_counter()
    for _ in range(STEPS):
        assert next(stream).input_ids.shape == (BATCH, LENGTH)
    return STEPS * BATCH * LENGTH / (time.perf_counter() - start) / 1e6


def first_batch_ms(lock: Lock, place: str | Path, objects: ObjectOptions | None, step: int) -> float:
    """From nothing open to the first batch of a rank of eight."""
    start = time.perf_counter()
    next(open_stream(lock, place, 0, RANKS, step, objects=objects))
    return (time.perf_counter() - start) * 1e3


def waited_ms(lock: Lock, store: Store, fetch_ahead: int) -> float:
    """What a trainer that works 20 ms a step waits for a batch of a rank of eight, on average."""
    stream = open_stream(lock, store, 0, RANKS, fetch_ahead=fetch_ahead)
    next(stream)
    waits = []
    for _ in range(WORKED_STEPS):
        time.sleep(WORK_SECONDS)
        start = time.perf_counter()
        next(stream)
        waits.append(time.perf_counter() - start)
    return statistics.mean(waits) * 1e3


def measure() -> dict[str, float]:
    """Every figure by what it is of."""
    local = made_store()
    lock = lock_over(local)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as cache, served("-m", "moto.server", "-H", "127.0.0.1", "-p") as url:
        objects = ObjectOptions(settings=fill(url, local), cache=Path(cache))
        found["Mtok/s, from the disk"] = million_tokens_per_second(lock, local)
        found["Mtok/s, that the S3 server gives, in parts of 256 KiB, 32 at a time"] = server_alone(objects, local)
        bare = replace(objects, cache=None)
        found["Mtok/s, from S3, each block once"] = million_tokens_per_second(
            lock, open_store("s3://bench/store", objects=bare)
        )
        found["Mtok/s, the same again, out of memory"] = million_tokens_per_second(
            lock, open_store("s3://bench/store", objects=bare)
        )
        million_tokens_per_second(lock, open_store("s3://bench/store", objects=objects))
        cold = replace(objects, memory_bytes=objects.memory_bytes - 1)
        found["Mtok/s, out of the cache on the disk"] = million_tokens_per_second(
            lock, open_store("s3://bench/store", objects=cold)
        )
        for step, name in ((0, "first"), (lock.schedule().steps - 1, "last")):
            fresh = replace(bare, memory_bytes=bare.memory_bytes + 1 + step)
            found[f"ms to a batch of the {name} step, from the disk"] = first_batch_ms(lock, local.path, None, step)
            found[f"ms to a batch of the {name} step, from S3"] = first_batch_ms(lock, "s3://bench/store", fresh, step)
    with served("-c", SLOW_SERVER, str(FOLDER)) as url:
        for fetch_ahead in (0, 1, 4, 16):
            fresh = ObjectOptions(memory_bytes=(1 << 29) + fetch_ahead)
            slow = open_store(f"{url}/store", objects=fresh)
            found[f"ms waited a step, 30 ms a request, {fetch_ahead} steps ahead"] = waited_ms(lock, slow, fetch_ahead)
    found["load of the machine"] = os.getloadavg()[0]
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    found = measure()
    if parser.parse_args().json:
        print(json.dumps(found))
        return
    for name, figure in found.items():
        print(f"{figure:10.2f}  {name}")


if __name__ == "__main__":
    main()
