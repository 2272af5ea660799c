"""A second reader of the format, a C program from the same page alone: it answers as the library does."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from docs.pages import ROOT
from hypothesis import given, settings
from schedule.making import lock_paths, read_fields, to_fields
from schedule.random_runs import runs
from search_lengths import examples

from mixture.schedule import Rows, Schedule, ScheduleData

GOLDEN = ROOT / "tests" / "golden"
SOURCE = ROOT / "tests" / "docs" / "schedule_by_the_page.c"
COLUMNS = ("position", "step", "slot", "draw", "epoch", "sequence", "first_token", "tokens", "domain")
Ask = Callable[[dict[str, Any], Iterable[int]], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler on this machine")
    out = tmp_path_factory.mktemp("c") / "schedule_by_the_page"
    options = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-pedantic"]
    subprocess.run([compiler, *options, str(SOURCE), "-o", str(out)], check=True)
    return out


@pytest.fixture(scope="module")
def ask(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """The program's answers at positions of a lock."""
    path = tmp_path_factory.mktemp("lock") / "lock.json"

    def answers(lock: dict[str, Any], positions: Iterable[int]) -> list[tuple[Any, ...]]:
        path.write_text(json.dumps({"format": 1, "features": []} | lock), encoding="utf-8")
        told = subprocess.run(
            [program, path], input="\n".join(map(str, positions)), capture_output=True, text=True, check=True
        ).stdout
        lines = (line.split("\t") for line in told.splitlines())
        return [(*map(int, line[:-1]), line[-1]) for line in lines]

    return answers


def expected(schedule: Schedule, rows: Rows) -> list[tuple[Any, ...]]:
    steps, slots = schedule.steps_and_slots(rows.position)
    numbers = (rows.position, steps, slots, rows.draw, rows.epoch, rows.sequence, rows.first_token, rows.tokens)
    names = [schedule.names[d] for d in rows.domain.tolist()]
    return list(zip(*(column.tolist() for column in numbers), names, strict=True))


@settings(max_examples=examples(350))
@given(data=runs())
def test_it_reads_a_hundred_thousand_positions_of_random_runs_as_the_library_does(ask: Ask, data: ScheduleData) -> None:
    schedule = Schedule(data)
    start = data.seed % schedule.num_sequences
    parts = [schedule.rows(first, min(600, schedule.num_sequences - first)) for first in (0, start)]
    rows = Rows.join(parts)
    assert ask(to_fields(data), rows.position.tolist()) == expected(schedule, rows)


def test_it_gives_the_rows_that_every_lock_keeps_and_the_golden_answers(ask: Ask) -> None:
    told = [(lock["check"], lock) for lock in map(read_fields, ROOT.glob("mixtures/*/mixture.lock.json"))]
    golden = [read_fields(path) for path in GOLDEN.glob("*.json") if not path.name.endswith(".lock.json")]
    told += [(answers["positions"], read_fields(ROOT / answers["lock"])) for answers in golden]
    assert len(told) > 10
    for rows, lock in told:
        answers = ask(lock, [row["position"] for row in rows])
        named = [dict(zip(COLUMNS, answer, strict=True)) for answer in answers]
        assert [{name: row[name] for name in rows[0]} for row in named] == rows


@pytest.mark.parametrize(
    ("change", "word"),
    [({"format": 2}, "format"), ({"features": ["images"]}, "images"), ({"features": None}, "features")],
)
def test_it_refuses_what_it_cannot_read(program: Path, tmp_path: Path, change: dict[str, Any], word: str) -> None:
    lock = {"format": 1, "features": []} | read_fields(lock_paths()[0]) | change
    path = tmp_path / "lock.json"
    path.write_text(json.dumps({name: value for name, value in lock.items() if value is not None}), encoding="utf-8")
    refused = subprocess.run([program, path], input="0", capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert word in refused.stderr
