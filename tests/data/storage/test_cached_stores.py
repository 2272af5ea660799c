"""Stores whose objects are kept on the disk, or in memory alone."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from data.makers import bare_store
from data.storage.conftest import Run
from data.storage.web_server import WebServer, web_server
from stream_helpers import bytes_of, lock_over

from mixture.data.storage import ObjectOptions
from mixture.data.store import open_store
from mixture.lock import write_lock
from mixture.stream import open_stream

pytestmark = [
    pytest.mark.needs_objects,
    pytest.mark.skipif(
        importlib.util.find_spec("tenacity") is None and "MIXTURE_TEST_ALL" not in os.environ,
        reason="tenacity is not installed",
    ),
]
Options = Callable[..., ObjectOptions]


def blocks_in(folder: Path) -> list[Path]:
    return list((folder / "blocks").rglob("*.block"))


def again(objects: ObjectOptions) -> ObjectOptions:
    """The same cache, and nothing in memory."""
    return replace(objects, memory_bytes=objects.memory_bytes + 1)


def test_a_second_run_asks_for_no_token(run: Run, web: WebServer, options: Options, tmp_path: Path):
    objects = options(cache=tmp_path)
    first = bytes_of(open_stream(run.lock, f"{web.url}/store", objects=objects))
    web.ranges.clear()
    assert bytes_of(open_stream(run.lock, f"{web.url}/store", objects=again(objects))) == first
    assert not [path for path, _, _ in web.ranges if "/tokens/" in path]


def test_damaged_blocks_are_fetched_again(run: Run, web: WebServer, options: Options, tmp_path: Path):
    objects = options(cache=tmp_path)
    first = bytes_of(open_stream(run.lock, f"{web.url}/store", objects=objects))
    for path in blocks_in(tmp_path):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert bytes_of(open_stream(run.lock, f"{web.url}/store", objects=again(objects))) == first


def test_damaged_tables_are_fetched_again(run: Run, web: WebServer, options: Options, tmp_path: Path):
    objects = options(cache=tmp_path)
    expected = run.store.documents("web", 0, 500)
    assert open_store(f"{web.url}/store", objects=objects).documents("web", 0, 500) == expected
    (table,) = (tmp_path / "tables").rglob("documents.parquet")
    table.write_bytes(table.read_bytes()[::-1])
    assert open_store(f"{web.url}/store", objects=objects).documents("web", 0, 500) == expected


def test_a_cache_and_a_memory_of_a_few_blocks_change_nothing(
    run: Run, web: WebServer, options: Options, tmp_path: Path
):
    objects = options(cache=tmp_path, cache_bytes=60_000, memory_bytes=4_000)
    stream = open_stream(run.lock, f"{web.url}/store", objects=objects)
    assert bytes_of(stream) == bytes_of(open_stream(run.lock, run.store))
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 60_000


def test_without_a_cache_nothing_stays_on_the_disk(run: Run, web: WebServer, tmp_path: Path):
    code = (
        "import sys; from mixture import open_store; s = open_store(sys.argv[1]); "
        "print(s.documents('web', 0, 500).num_rows, s.path)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code, f"{web.url}/store"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert Path(done.stdout.split()[1]).is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_processes_that_share_a_cache_read_the_same(run: Run, web: WebServer, tmp_path: Path):
    """Four ranks at once; the environment says where."""
    write_lock(run.lock, tmp_path / "run.lock.json")
    code = (
        "import sys, hashlib; from mixture import open_stream; d = hashlib.sha256()\n"
        "for batch in open_stream(sys.argv[1], sys.argv[2], int(sys.argv[3]), 4): d.update(batch.input_ids.tobytes())\n"
        "print(d.hexdigest())"
    )
    environment = {**os.environ, "MIXTURE_CACHE_DIR": str(tmp_path / "cache"), "MIXTURE_CACHE_BYTES": "80 kB"}
    lock = str(tmp_path / "run.lock.json")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, lock, f"{web.url}/store", str(rank)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(4)
    ]
    for rank, process in enumerate(running):
        said, _ = process.communicate()
        here = hashlib.sha256()
        for batch in open_stream(run.lock, run.store, rank, 4):
            here.update(batch.input_ids.tobytes())
        assert said.strip() == here.hexdigest()
    assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()) <= 80_000


def test_memory_stays_flat_over_ten_epochs(run: Run, web: WebServer, options: Options):
    objects = options(memory_bytes=8_000)
    stream = open_stream(run.lock, f"{web.url}/store", objects=objects)
    list(stream.read(range(0, 40)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10):
        list(stream.read(range(0, 40)))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000, f"{grown} KiB more"


def test_the_last_step_is_there_after_few_requests(run: Run, web: WebServer, options: Options):
    """store.json, a look at each token file, and the blocks of one step: no table, nothing before the step."""
    stream = open_stream(run.lock, f"{web.url}/store", first_step=39, objects=options())
    batch = next(stream)
    assert batch.step == 39
    looked = 2 * 1 + len(list((run.store.path / "tokens").iterdir()))
    assert sum(web.asked.values()) <= looked + len(batch)
    assert set(web.asked) <= {"/store/store.json"} | {
        f"/store/tokens/{path.name}" for path in (run.store.path / "tokens").iterdir()
    }


def test_the_last_step_of_an_endless_run_is_there_after_few_requests(options: Options, tmp_path: Path):
    """4 * 10^9 sequences of 4,096 tokens, 512 ranks: a look at each file, and the rows of this rank."""
    names = [f"d{number}" for number in range(8)]
    bare_store(tmp_path / "store", {name: [1 << 41] for name in names})
    keys = {"sequence_length": "4096", "batch": "512 sequences", "budget": f"{4 * 10**9 // 512} steps"}
    phases = "  - {phase: all, weights: proportional}"
    lock = lock_over(open_store(tmp_path / "store"), tmp_path / "run", phases, **keys)
    with web_server(tmp_path) as web:
        last = lock.schedule().steps - 1
        stream = open_stream(lock, f"{web.url}/store", 511, 512, last, next_token=True, objects=options())
        (batch,) = stream
        assert batch.input_ids.shape == (1, 4097)
        assert sum(web.asked.values()) == 2 + len(names) + 1
        assert sum(stop - start for path, start, stop in web.ranges if "/tokens/" in path) == 4097 * 4
