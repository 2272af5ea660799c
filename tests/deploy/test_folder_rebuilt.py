"""Four processes over one folder that another process rebuilds: the old answers, then the new ones, never an error."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from api_helpers import ask
from mixture_folder import write_mixture

from mixture.api.app import create_app
from mixture.api.settings import Settings

pytestmark = pytest.mark.long

COPIES, GENERATIONS, MOST_ROUNDS = 4, 6, 2000
PAGES = (
    "/v1/mixtures/small",
    "/v1/mixtures/small/spec",
    "/v1/mixtures/small/lock",
    "/v1/mixtures/small/composition?by=kind",
    "/v1/mixtures/small/counts?step=50",
    "/v1/catalogs/small/domains",
)
FILES = ("cells.csv", "mixture.yaml", "mixture.lock.json")
SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: {steps} steps
phases: [{{phase: only, weights: {{a: {share}%, b: {rest}%}}}}]
"""

REBUILD = """
import os, shutil, sys
from pathlib import Path

live, *made = map(Path, sys.argv[1:])
for folder in made:
    for name in ("cells.csv", "mixture.yaml", "mixture.lock.json"):
        beside = live / f".{name}.new"
        shutil.copyfile(folder / name, beside)
        os.replace(beside, live / name)
        print(folder.name, name, flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def generations(tmp_path: Path) -> list[Path]:
    """Folders with one mixture at several times; no answer of one is that of another."""
    folders = [tmp_path / "made" / f"{number:02}" for number in range(GENERATIONS)]
    for number, folder in enumerate(folders):
        cells = f"domain,tokens,kind\na,{200_000 + 100 * number},web\nb,{90_000 + 100 * number},code\n"
        write_mixture(folder, SPEC.format(steps=100 + number, share=30 + number, rest=70 - number), cells=cells)
    return folders


@pytest.fixture
def answers(generations: list[Path], tmp_path: Path) -> dict[str, dict[bytes, int]]:
    """For each page, the number of the generation by its answer."""
    found: dict[str, dict[bytes, int]] = {page: {} for page in PAGES}
    for number, folder in enumerate(generations):
        app = create_app(Settings(data_dir=tmp_path / "other", mixtures_dirs=(folder,), rate_per_second=0))
        for page in PAGES:
            found[page][ask(app, "GET", page).raise_for_status().content] = number
        app.state.services.close()
    assert all(len(texts) == GENERATIONS for texts in found.values())
    return found


@pytest.fixture
def live(generations: list[Path], tmp_path: Path) -> Path:
    """The folder that is served, at first as the first generation."""
    folder = tmp_path / "live"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_bytes((generations[0] / name).read_bytes())
    return folder


@pytest.fixture
def copies(start_copy, live: Path) -> list[str]:
    """The addresses of copies that have read the folder as it is at first."""
    urls = [start_copy(mixtures_dirs=[live]).url for _ in range(COPIES)]
    for url in urls:
        httpx2.get(f"{url}/readyz", timeout=60).raise_for_status()
    return urls


def rebuilding(live: Path, generations: list[Path]) -> subprocess.Popen[str]:
    """Another process, which puts the later generations into the folder by rename: a file for each line it is sent."""
    command = [sys.executable, "-c", REBUILD, str(live), *map(str, generations[1:])]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def generation_told(client: httpx2.Client, page: str, answers: dict[str, dict[bytes, int]]) -> int:
    answer = client.get(page)
    assert answer.status_code == 200, (page, answer.text)
    return answers[page][answer.content]


def test_in_each_state_of_a_rebuild_all_processes_give_the_last_answers_that_hold(copies, live, generations, answers):
    clients = [httpx2.Client(base_url=url, timeout=60) for url in copies]
    with rebuilding(live, generations) as process:
        assert process.stdout is not None
        try:
            for number in range(1, GENERATIONS):
                for name in FILES:
                    assert process.stdout.readline().split() == [f"{number:02}", name]
                    expected = number if name == FILES[-1] else number - 1
                    told = [generation_told(client, page, answers) for client in clients for page in PAGES]
                    assert set(told) == {expected}, (number, name)
                    go_on(process)
            assert process.wait(60) == 0
        finally:
            process.kill()
            for client in clients:
                client.close()


def test_answers_go_from_the_old_to_the_new_while_a_folder_is_rebuilt_and_never_back(
    copies, live, generations, answers
):
    def reader(url: str) -> list[int]:
        """The generations of a copy's answers, in the order in which they were asked for."""
        with httpx2.Client(base_url=url, timeout=60) as client:
            told = [generation_told(client, page, answers) for page in PAGES]
            for _ in range(MOST_ROUNDS):
                ended = process.poll() is not None
                round_told = [generation_told(client, page, answers) for page in PAGES]
                told += round_told
                if ended:
                    assert set(round_told) == {GENERATIONS - 1}, "it ended before they were asked for"
                    return told
        raise AssertionError(f"the folder was not rebuilt within {MOST_ROUNDS} rounds")

    with rebuilding(live, generations) as process, ThreadPoolExecutor(COPIES) as threads:
        try:
            readers = threads.map(reader, copies)
            assert process.stdout is not None
            for _ in process.stdout:
                # The others ask without waiting for the process; that it waits for one more makes it last a while.
                assert httpx2.get(f"{copies[0]}{PAGES[0]}", timeout=60).status_code == 200
                go_on(process)
            process.wait(60)
            seen = list(readers)
        finally:
            process.kill()
    assert process.returncode == 0
    for told in seen:
        assert told == sorted(told)
