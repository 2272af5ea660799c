"""A store is there whole or not at all, whenever its ingest is stopped, and by whatever."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import Resumed, ingest
from mixture.data.store import Verify, open_store
from mixture.data.texts import IngestProgress, Stage
from mixture.errors import IngestError

pytestmark = pytest.mark.usefixtures("merged_apart")

CHILD = """
import sys
from mixture import ingest

def told(progress):
    print(progress.stage, progress.done, flush=True)
    if stops:
        sys.stdin.readline()

if __name__ == "__main__":
    stops = sys.argv[4] == "stop"
    ingest(sys.argv[1], sys.argv[2], processes=int(sys.argv[3]), progress=told)
"""


@pytest.fixture
def listing(tmp_path: Path, sources: WriteSources) -> Path:
    for name in ("a", "b", "c"):
        rows = [{"text": f"{name} {n} " * (1 + n % 300), "id": n} for n in range(600)]
        write_lines(tmp_path / f"{name}.jsonl", rows)
    return sources("domains: {" + ", ".join(f"{name}: {{files: [{name}.jsonl], id: id}}" for name in "abc") + "}")


def start(tmp_path: Path, listing: Path, processes: int, mode: str) -> "subprocess.Popen[str]":
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    command = [sys.executable, str(script), str(listing), str(tmp_path / "store"), str(processes), mode]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def left(tmp_path: Path) -> list[str]:
    known = {"SOURCES.yaml", "child.py", "a.jsonl", "b.jsonl", "c.jsonl"}
    return sorted({path.name for path in tmp_path.iterdir()} - known)


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_killed_at_any_moment_and_started_again_it_is_as_if_never_killed(tmp_path: Path, listing: Path, processes: int):
    out = tmp_path / "store"
    for lines in (1, 3, 6):  # of six: while it reads, writes, and puts the tables together
        with start(tmp_path, listing, processes, "go") as child:
            assert child.stdout is not None
            for _ in range(lines):
                child.stdout.readline()
            child.kill()
        if out.exists():
            open_store(out, verify=Verify.FULL)
            break
    else:
        ingest(listing, out, processes=processes)
    assert left(tmp_path) in (["store"], [".store.ingest", "store"])
    ingest(listing, tmp_path / "expected")
    assert all_bytes(out) == all_bytes(tmp_path / "expected")


@pytest.mark.long
def test_a_reader_that_polls_sees_nothing_and_then_all(tmp_path: Path, listing: Path):
    out = tmp_path / "store"
    with start(tmp_path, listing, 2, "go") as child:
        while child.poll() is None:
            if out.exists():
                assert len(open_store(out, verify=Verify.FULL).domains) == 3
    assert child.returncode == 0
    assert left(tmp_path) == ["store"]


def test_a_second_ingest_to_the_same_place_is_refused_and_the_first_goes_on(tmp_path: Path, listing: Path):
    with start(tmp_path, listing, 1, "stop") as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(IngestError, match="another ingest") as caught:
            ingest(listing, tmp_path / "store")
        assert caught.value.code == "ingest-running"
        child.communicate("\n" * 1000)
    assert child.returncode == 0
    assert len(open_store(tmp_path / "store", verify=Verify.FULL).domains) == 3


def test_a_store_or_anything_else_is_never_written_over(tmp_path: Path, listing: Path):
    out = tmp_path / "store"
    out.mkdir()
    ingest(listing, out)
    before = all_bytes(out)
    with pytest.raises(IngestError) as caught:
        ingest(listing, out)
    assert caught.value.code == "store-exists"
    assert all_bytes(out) == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    for place in ("other", "other/mine.txt"):
        with pytest.raises(IngestError) as caught:
            ingest(listing, tmp_path / place)
        assert caught.value.code == "place-taken"
    assert left(tmp_path) == ["other", "store"]
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["mine.txt"]


def test_what_an_ingest_leaves_that_is_killed_when_its_store_is_there_is_removed_by_the_next(
    tmp_path: Path, listing: Path
):
    def interrupt(progress: IngestProgress) -> None:
        if progress.stage is Stage.WRITE:
            raise KeyboardInterrupt

    out = tmp_path / "store"
    with pytest.raises(KeyboardInterrupt):
        ingest(listing, out, progress=interrupt)
    (tmp_path / ".store.ingest").rename(tmp_path / ".kept")
    ingest(listing, out)
    before = all_bytes(out)
    (tmp_path / ".kept").rename(tmp_path / ".store.ingest")
    with pytest.raises(IngestError) as caught:
        ingest(listing, out)
    assert caught.value.code == "store-exists"
    assert all_bytes(out) == before
    assert left(tmp_path) == ["store"]


def test_a_store_may_go_into_an_empty_folder_that_a_link_leads_to(tmp_path: Path, listing: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    ingest(listing, tmp_path / "link")
    assert len(open_store(tmp_path / "real", verify=Verify.FULL).domains) == 3
    assert left(tmp_path) == ["link", "real"]


@pytest.mark.long
def test_a_process_that_dies_is_an_error_and_what_is_finished_is_kept(tmp_path: Path, sources: WriteSources):
    names = [f"d{n}" for n in range(60)]  # so many jobs that most are still to do when it dies
    for name in names:
        write_lines(tmp_path / "in" / f"{name}.jsonl", [{"text": f"{name} {n}"} for n in range(2000)])
    listing = sources("domains:\n" + "".join(f"  {name}: {{files: [in/{name}.jsonl]}}\n" for name in names))

    def kill_one(progress: IngestProgress) -> None:
        for child in multiprocessing.active_children():
            if child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(IngestError, match="died before its work was done") as caught:
        ingest(listing, tmp_path / "store", processes=2, progress=kill_one)
    assert caught.value.code == "process-died"
    resumed: list[Resumed] = []
    told = ingest(listing, tmp_path / "store", processes=1, resumed=resumed.append)
    assert told.digest == ingest(listing, tmp_path / "expected", processes=1).digest
    assert len(getattr(caught.value, "__notes__", [])) == len(resumed)
    assert left(tmp_path) == ["expected", "in", "store"]


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_an_interrupted_ingest_keeps_what_is_finished_and_nothing_else(tmp_path: Path, listing: Path, processes: int):
    out = tmp_path / "store"

    def interrupt(progress: IngestProgress) -> None:
        if progress.stage is Stage.WRITE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ingest(listing, out, processes=processes, progress=interrupt)
    assert multiprocessing.active_children() == []
    (work,) = tmp_path.glob(".store.ingest/mixture-work-*")
    assert sorted(entry.name for entry in work.iterdir()) == ["asked.json", "parts"]
    resumed: list[Resumed] = []
    ingest(listing, out, resumed=resumed.append)
    (told,) = resumed
    assert 3 <= told.kept < told.parts == 6
    assert caught.value.__notes__ == [f"{told.kept} finished parts are kept: the same ingest goes on from there"]
    assert left(tmp_path) == ["store"]


def test_an_ingest_that_is_stopped_before_a_part_is_finished_leaves_nothing(tmp_path: Path, listing: Path):
    def interrupt(progress: IngestProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(listing, tmp_path / "store", progress=interrupt)
    assert left(tmp_path) == []


def test_a_place_that_can_not_be_written_is_an_error(tmp_path: Path, listing: Path):
    with pytest.raises(IngestError) as caught:
        ingest(listing, tmp_path / "a.jsonl" / "store")
    assert caught.value.code == "store-unwritable"
    assert caught.value.place is not None


@pytest.mark.parametrize("kind", ["folder", "folder with a lock", "file", "link", "broken link", "linked lock"])
def test_a_folder_that_no_ingest_made_is_refused_and_left_as_it_is(tmp_path: Path, listing: Path, kind: str):
    folder, elsewhere = tmp_path / ".store.ingest", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("x")
    match kind:
        case "folder" | "folder with a lock" | "linked lock":
            folder.mkdir()
            if kind == "linked lock":
                (folder / "mixture-ingest.lock").symlink_to(elsewhere / "mine.txt")
            else:
                (folder / "mine.txt").write_text("x")
            if kind == "folder with a lock":
                (folder / "mixture-ingest.lock").touch()
        case "file":
            folder.write_text("x")
        case "link":
            folder.symlink_to("elsewhere")
        case "broken link":
            folder.symlink_to("nowhere")
    before = all_bytes(tmp_path)
    with pytest.raises(IngestError, match=r"\.store\.ingest") as caught:
        ingest(listing, tmp_path / "store")
    assert caught.value.code == ("store-unwritable" if kind == "linked lock" else "place-taken")
    assert all_bytes(tmp_path) == before
    assert left(tmp_path) == [".store.ingest", "elsewhere"]
    assert folder.is_symlink() == ("link" in kind.split())


def test_a_place_where_a_file_system_is_mounted_is_refused_before_any_work(tmp_path: Path, listing: Path):
    told: list[IngestProgress] = []
    with pytest.raises(IngestError, match="mounted here") as caught:
        ingest(listing, "/proc", progress=told.append)
    assert caught.value.code == "place-taken"
    assert told == []


def test_ids_that_can_not_be_written_are_an_error(tmp_path: Path, listing: Path):
    def take_its_place(progress: IngestProgress) -> None:
        for work in tmp_path.glob(".store.ingest/mixture-work-*"):
            (work / "store" / "documents_by_id.parquet" / "x").mkdir(parents=True, exist_ok=True)

    with pytest.raises(IngestError, match="the store can not be written: ") as caught:
        ingest(listing, tmp_path / "store", progress=take_its_place)
    assert caught.value.code == "store-unwritable"
    resumed: list[Resumed] = []
    ingest(listing, tmp_path / "store", resumed=resumed.append)
    assert [(one.kept, one.parts) for one in resumed] == [(6, 6)]
    assert left(tmp_path) == ["store"]


def test_a_place_whose_name_is_not_utf8_is_refused_before_any_work(tmp_path: Path, listing: Path):
    with pytest.raises(IngestError, match="not UTF-8") as caught:
        ingest(listing, tmp_path / os.fsdecode(b"st\xff"))
    assert caught.value.code == "store-unwritable"
    assert left(tmp_path) == []
