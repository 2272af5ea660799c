"""An ingest that was stopped goes on where it stopped, and only with what belongs into its store."""

import gzip
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import Earlier, Resumed, ingest
from mixture.data.store import Verify, open_store
from mixture.data.texts import IngestProgress, Stage
from mixture.errors import IngestError

pytestmark = pytest.mark.usefixtures("merged_apart")

STARTER = """
import json, os, sys
from mixture import ingest
from mixture.data.texts import lines
from mixture.data.ingest import resumption, work

def tell(**said):
    os.write(1, (json.dumps(said) + chr(10)).encode())

def told(resumed):
    tell(kept=resumed.kept, parts=resumed.parts, dropped=resumed.dropped)

if __name__ == "__main__":
    work._JOB_BYTES = lines._PIECE = 4000  # many parts of little text
    resumption._MERGE_DOMAINS = 1
    for line in sys.stdin:
        sources, out, processes = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            tell(started=os.getpid())
            report = ingest(sources, out, processes=processes, resumed=told)
            tell(digest=report.digest)
            os._exit(0)
        tell(ended=os.waitpid(child, 0)[1])
"""
"""Starts ingests in process groups of their own, out of a process that has imported all that they need."""


class Starter:
    """Ingests that can be killed with all of their processes."""

    def __init__(self, folder: Path) -> None:
        script = folder / "starter.py"
        script.write_text(STARTER)
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._waiting = b""

    def start(self, *ingest: object) -> int:
        """Start one. Gives the number of its process group, which exists by then."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(ingest).encode() + b"\n")
        told = self.told(60)
        assert told is not None
        return int(told["started"])

    def told(self, seconds: float) -> dict[str, Any] | None:
        """The next that is told, if it is within a time."""
        assert self._process.stdout is not None
        while b"\n" not in self._waiting:
            if not self._selector.select(seconds):
                return None
            self._waiting += os.read(self._process.stdout.fileno(), 1 << 16)
        line, _, self._waiting = self._waiting.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """End the process that starts them."""
        self._selector.close()
        self._process.communicate()


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[Starter]:
    one = Starter(tmp_path)
    yield one
    one.end()


@pytest.fixture
def listing(tmp_path: Path, sources: WriteSources) -> Path:
    for number in range(3):
        rows = [{"text": f"{number} {n} " * (1 + n % 40), "id": n} for n in range(100)]
        write_lines(tmp_path / "in" / f"{number}.jsonl", rows)
    return sources("domains:\n" + "".join(f"  d{n}: {{files: [in/{n}.jsonl], id: id}}\n" for n in range(3)))


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stopped(listing: Path, out: Path, domain: str, **options: Any) -> None:
    """An ingest that is stopped when it merges a domain; those before it are finished."""

    def stop(progress: IngestProgress) -> None:
        if progress.stage is Stage.WRITE and progress.domain == domain:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(listing, out, progress=stop, **options)


def goes_on(listing: Path, out: Path, **options: Any) -> Resumed:
    """How an ingest goes on; its store must be that of an ingest that was never stopped."""
    resumed: list[Resumed] = []
    ingest(listing, out, resumed=resumed.append, **options)
    other = out.parent / "never-stopped"
    ingest(listing, other, **options)
    assert all_bytes(out) == all_bytes(other)
    assert not list(out.parent.glob(".*.ingest"))
    (one,) = resumed
    return one


@pytest.mark.long
def test_killed_at_twenty_random_moments_it_goes_on_each_time(tmp_path: Path, listing: Path, starter: Starter):
    """Kills it with all of its processes, and polls the store meanwhile, which is whole or not there."""
    out = tmp_path / "store"
    expected = ingest(listing, tmp_path / "expected")
    began = time.monotonic()
    starter.start(str(listing), str(tmp_path / "timed"), 1)
    while "ended" not in (starter.told(60) or {}):
        pass
    whole = time.monotonic() - began
    moments = random.Random(7)
    kills, kept, finished = 0, [], 0
    while kills < 20:
        processes = 2 if kills % 5 == 4 else 1
        group = starter.start(str(listing), str(out), processes)
        moment = time.monotonic() + moments.uniform(0, whole if processes == 1 else 4 * whole)
        killed = False
        while True:
            if not killed and time.monotonic() >= moment:
                killed = True
                with suppress(ProcessLookupError):  # it has just ended by itself
                    os.killpg(group, signal.SIGKILL)
                    kills += 1
            told = starter.told(1 if killed else max(0.0, moment - time.monotonic())) or {}
            if out.exists():
                assert open_store(out, verify=Verify.FULL).digest == expected.digest
            kept += [(told["kept"], told["parts"])] if "kept" in told else []
            if "ended" in told:
                break
        if out.exists():
            finished += 1
            out.rename(tmp_path / f"finished{finished}")
    resumed: list[Resumed] = []
    assert ingest(listing, out, resumed=resumed.append).digest == expected.digest
    assert all_bytes(out) == all_bytes(tmp_path / "expected")
    for number in range(finished):
        assert all_bytes(tmp_path / f"finished{number + 1}") == all_bytes(tmp_path / "expected")
    assert not list(tmp_path.glob(".store.ingest"))
    print(f"{kills} kills; {finished} finished; parts there at each start: {kept}")
    assert sum(count for count, _ in kept) > 0


def test_what_is_finished_is_used(tmp_path: Path, listing: Path):
    stopped(listing, tmp_path / "store", "d2")
    assert goes_on(listing, tmp_path / "store") == Resumed(kept=5, parts=6, dropped=0, reasons=())


def test_sources_that_lie_elsewhere_now_are_the_same(tmp_path: Path, listing: Path):
    stopped(listing, tmp_path / "store", "d2")
    (tmp_path / "moved").mkdir()
    (tmp_path / "in").rename(tmp_path / "moved" / "in")
    listing = listing.rename(tmp_path / "moved" / listing.name)
    assert goes_on(listing, tmp_path / "store") == Resumed(kept=5, parts=6, dropped=0, reasons=())


@pytest.mark.parametrize("how", ["grown", "in place, at the same time"])
def test_of_a_source_that_has_changed_everything_is_done_again_and_of_others_nothing(
    tmp_path: Path, listing: Path, how: str
):
    stopped(listing, tmp_path / "store", "d2")
    path = tmp_path / "in" / "1.jsonl"
    before = path.stat()
    if how == "grown":
        with path.open("a") as file:
            file.write('{"id": "new", "text": "new"}\n')
    else:
        path.write_bytes(path.read_bytes().replace(b'"1 0 "', b'"1 X "'))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
    assert goes_on(listing, tmp_path / "store") == Resumed(kept=3, parts=6, dropped=2, reasons=())


def test_a_domain_that_is_added_or_left_out_leaves_what_is_finished_of_others(tmp_path: Path, listing: Path):
    stopped(listing, tmp_path / "store", "d2")
    text = listing.read_text().replace("  d0: {files: [in/0.jsonl], id: id}\n", "")
    write_lines(tmp_path / "in" / "new.jsonl", [{"text": "new", "id": 1}])
    listing.write_text(text + "  a: {files: [in/new.jsonl], id: id}\n")
    assert goes_on(listing, tmp_path / "store") == Resumed(kept=3, parts=6, dropped=2, reasons=())


def test_other_options_use_what_they_do_not_change_and_say_why_the_rest_is_removed(tmp_path: Path, listing: Path):
    out = tmp_path / "store"
    stopped(listing, out, "d2")
    told = goes_on(listing, out, file_tokens=65_536)
    assert told == Resumed(kept=3, parts=6, dropped=2, reasons=("file_tokens was 1073741824, is 65536",))
    out = tmp_path / "seeds" / "store"
    stopped(listing, out, "d2")
    assert goes_on(listing, out, seed=7) == Resumed(kept=0, parts=6, dropped=5, reasons=("seed was 0, is 7",))


@pytest.mark.parametrize("change", ["none", "another domain", "a source of one"])
def test_small_domains_are_merged_together_and_used_where_none_of_them_has_changed(
    tmp_path: Path, listing: Path, monkeypatch: pytest.MonkeyPatch, change: str
):
    write_lines(tmp_path / "in" / "new.jsonl", [{"text": "new", "id": 1}])
    write_lines(tmp_path / "in" / "z.jsonl", [{"text": "last", "id": 1}])
    listing.write_text(listing.read_text() + "  z: {files: [in/z.jsonl], id: id}\n")
    ingest(listing, tmp_path / "apart")
    monkeypatch.setattr("mixture.data.ingest.resumption._MERGE_DOMAINS", 3)
    ingest(listing, tmp_path / "together")
    assert all_bytes(tmp_path / "together") == all_bytes(tmp_path / "apart")
    out = tmp_path / "store"
    stopped(listing, out, "z")
    expected = Resumed(kept=5, parts=6, dropped=0, reasons=())
    match change:
        case "another domain":  # between those that are merged
            listing.write_text(listing.read_text() + "  d11: {files: [in/new.jsonl], id: id}\n")
            expected = Resumed(kept=5, parts=7, dropped=0, reasons=())
        case "a source of one":
            (tmp_path / "in" / "new.jsonl").replace(tmp_path / "in" / "1.jsonl")
            expected = Resumed(kept=3, parts=6, dropped=2, reasons=())
    assert goes_on(listing, out) == expected


def test_begun_anew_it_uses_nothing(tmp_path: Path, listing: Path):
    stopped(listing, tmp_path / "store", "d2")
    told = goes_on(listing, tmp_path / "store", earlier=Earlier.ANEW)
    assert told == Resumed(kept=0, parts=6, dropped=5, reasons=("it begins anew",))


@pytest.mark.parametrize("harm", ["cut", "gone", "record"])
def test_a_part_that_is_not_whole_is_made_again(tmp_path: Path, listing: Path, harm: str):
    stopped(listing, tmp_path / "store", "d0")
    path = next(tmp_path.glob(f".store.ingest/*/parts/*/{'part.json' if harm == 'record' else '00000.tokens'}"))
    match harm:
        case "cut":
            os.truncate(path, 10)
        case "gone":
            path.unlink()
        case "record":
            path.write_text("{}")
    assert goes_on(listing, tmp_path / "store") == Resumed(kept=2, parts=6, dropped=0, reasons=())


def test_a_source_that_can_not_be_read_is_mended_and_the_ingest_goes_on(tmp_path: Path, listing: Path):
    packed = gzip.compress((tmp_path / "in" / "2.jsonl").read_bytes())
    listing.write_text(listing.read_text().replace("in/2.jsonl", "in/2.jsonl.gz"))
    (tmp_path / "in" / "2.jsonl.gz").write_bytes(packed[:-20])
    with pytest.raises(IngestError) as caught:
        ingest(listing, tmp_path / "store")
    assert caught.value.code == "source-unreadable"
    assert caught.value.__notes__ == ["3 finished parts are kept: the same ingest goes on from there"]
    (tmp_path / "in" / "2.jsonl.gz").write_bytes(packed)
    assert goes_on(listing, tmp_path / "store") == Resumed(kept=2, parts=6, dropped=1, reasons=())


def test_a_source_that_changes_while_the_ingest_reads_is_refused(tmp_path: Path, listing: Path):
    def write(progress: IngestProgress) -> None:
        with (tmp_path / "in" / "1.jsonl").open("a") as file:
            file.write('{"id": "new", "text": "new"}\n')

    with pytest.raises(IngestError, match="changed since the ingest began") as caught:
        ingest(listing, tmp_path / "store", progress=write)
    assert caught.value.code == "source-changed"
    assert caught.value.place is not None
    assert caught.value.place.file == str(tmp_path / "in" / "1.jsonl")
    assert goes_on(listing, tmp_path / "store") == Resumed(kept=1, parts=6, dropped=0, reasons=())
