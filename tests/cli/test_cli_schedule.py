"""positions, counts, find, handoffs and history say the same as the library, as JSON, columns and Arrow."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from mixture import read_lock
from mixture.schedule import COLUMNS


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_positions_come_in_the_order_asked(small: Path, run) -> None:
    rows = lines(run("positions", small / "mixture.lock.json", "--position", 700, 0, 17, "--json").stdout)
    assert [row["position"] for row in rows] == [700, 0, 17]
    assert list(rows[0]) == [
        "position", "step", "slot", "domain", "draw", "epoch", "sequence", "first_token", "tokens",
    ]  # fmt: skip
    assert rows[0] | {"step": 87, "slot": 4, "tokens": 128} == rows[0]


def test_a_range_as_json_columns_and_arrow_is_the_same(small: Path, run) -> None:
    lock = small / "mixture.lock.json"
    schedule = read_lock(lock).schedule()
    expected = schedule.rows(600, 100)
    as_json = lines(run("positions", lock, "--first-position", 600, "--last-position", 699, "--json").stdout)
    assert [row["sequence"] for row in as_json] == expected.sequence.tolist()
    as_text = run("positions", lock, "--first-position", 600, "--last-position", 699).stdout.splitlines()
    assert as_text[0].split() == list(as_json[0])
    assert [line.split()[6] for line in as_text[1:]] == [str(n) for n in expected.sequence]
    run("positions", lock, "--first-position", 600, "--last-position", 699, "--arrow", small / "rows.arrow")
    table = pa.ipc.open_file(pa.memory_map(str(small / "rows.arrow"))).read_all()
    kinds = {name: str(kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)}
    assert list(kinds) == list(as_json[0]) == list(COLUMNS)
    assert kinds.pop("domain") == "dictionary<values=string, indices=int32, ordered=0>"
    assert set(kinds.values()) == {"int64"}
    assert table.to_pylist() == as_json


def test_counts_find_handoffs_and_history_are_the_librarys(small: Path, run) -> None:
    lock = small / "mixture.lock.json"
    schedule = read_lock(lock).schedule()
    counts = lines(run("counts", lock, "--step", 0, 80, 100, "--json").stdout)
    assert counts == [dict(zip("abc", schedule.counts(step).tolist(), strict=True)) for step in (0, 80, 100)]
    places = lines(run("find", lock, "b", 777, "--json").stdout)
    assert [place["position"] for place in places] == schedule.find("b", 777)
    rows = schedule.at([place["position"] for place in places])
    assert [place["epoch"] for place in places] == rows.epoch.tolist()
    for place in places:
        assert list(place) == ["position", "step", "slot", "epoch"]
        assert schedule.positions_before(place["step"]) + place["slot"] == place["position"]
    handoffs = lines(run("handoffs", lock, "--json").stdout)
    assert [h["first_step"] for h in handoffs] == [0, 80]
    assert handoffs[1]["tokens_skipped"] == dict(zip("abc", schedule.handoffs()[1].tokens_skipped, strict=True))
    history = lines(run("history", lock, "--step", 80, "--json").stdout)
    assert history == [{"step": 80, "history": schedule.history(80)}]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("positions", "LOCK", "--position", 800), 1, "error[position-out-of-range]"),
        (("positions", "LOCK", "--position", -1), 1, "error[position-out-of-range]"),
        (("positions", "LOCK"), 2, "--position"),
        (("positions", "LOCK", "--first-position", 5), 2, "--last-position"),
        (("positions", "LOCK", "--first-position", 5, "--last-position", 4), 2, "comes after"),
        (("positions", "LOCK", "--position", "five"), 2, "valid integer"),
        (("counts", "LOCK", "--step", 101), 1, "error[step-out-of-range]"),
        (("find", "LOCK", "aa", 0), 1, "did you mean 'a'?"),
        (("find", "LOCK", "a", 200000), 1, "error[token-out-of-range]"),
        (("history", "LOCK", "--step", 101), 1, "error[step-out-of-range]"),
        (("positions", "missing.json", "--position", 0), 1, "error[lock-missing]"),
        (
            ("positions", "mixture.yaml", "--position", 0),
            1,
            "error[not-a-lock]: mixture.yaml: this is a spec (`mixture plan`",
        ),
        (("explain", "mixture.yaml"), 1, "error[not-a-lock]: mixture.yaml: this is a spec (`mixture plan` shows it"),
        (("plan", "LOCK"), 1, "mixture.lock.json: this is a lock (`mixture explain` shows it)"),
        (("amend", "LOCK", "LOCK", "--step", 5), 1, "this is a lock (`mixture explain` shows it)"),
        (("diff", "LOCK", "cells.csv"), 1, "error[not-a-mapping]"),
        (("plan", "missing.yaml"), 1, "missing.yaml"),
        (("stream", "LOCK", "--store", "nowhere"), 1, "error[store-missing]"),
        (("verify", "--store", "."), 1, "error[store-missing]"),
        (("ingest", "mixture.yaml", "-o", "out"), 1, "mixture.yaml:1"),
        (("nonsense",), 2, "nonsense"),
    ],
)
def test_what_can_not_be_answered_is_refused_with_a_code(small: Path, run, arguments, code: int, says: str) -> None:
    named = ["mixture.lock.json" if argument == "LOCK" else argument for argument in arguments]
    before = sorted(path.name for path in small.iterdir())
    assert says in run(*named, cwd=small, code=code).stderr
    assert sorted(path.name for path in small.iterdir()) == before


def test_a_reader_that_goes_away_ends_the_program_quietly(small: Path) -> None:
    command = [sys.executable, "-c", "from mixture.cli import main; main()"]
    arguments = [
        "positions",
        str(small / "mixture.lock.json"),
        "--first-position",
        "0",
        "--last-position",
        "699",
        "--json",
    ]
    process = subprocess.Popen(command + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.wait(60)
    assert process.stderr.read() == b""
    process.stderr.close()


def test_output_goes_through_links_and_never_over_what_is_no_file(small: Path, run) -> None:
    lock = small / "mixture.lock.json"
    os.mkfifo(small / "pipe")
    (small / "there").mkdir()
    for target in ("pipe", "there", "."):
        failed = run("positions", lock, "--position", 0, "--arrow", small / target, code=1)
        assert "error[file-not-written]" in failed.stderr
    assert stat.S_ISFIFO((small / "pipe").stat().st_mode)
    (small / "link.arrow").symlink_to(small / "there" / "rows.arrow")
    run("positions", lock, "--position", 0, "--arrow", small / "link.arrow")
    assert (small / "link.arrow").is_symlink()
    assert pa.ipc.open_file((small / "there" / "rows.arrow").read_bytes()).read_all().num_rows == 1


def test_names_that_look_like_markup_are_shown_as_they_are(small: Path, run) -> None:
    (small / "cells.csv").write_text('domain,tokens\n[/a],200000\n"[web] x",90000\n', encoding="utf-8")
    text = (small / "mixture.yaml").read_text(encoding="utf-8")
    text = text.replace("phase: first", 'phase: "[/b]"').replace("{a: 50%, b: 30%, c: 20%}", "uniform")
    (small / "mixture.yaml").write_text(text.replace("{a: 20%, b: 80%}", "uniform"), encoding="utf-8")
    shown = run("plan", small / "mixture.yaml").stdout
    for name in ("[/a]", "[web] x", "[/b]"):
        assert name in shown


def test_names_that_are_not_utf_8_and_closed_output_are_no_reason_to_fail(small: Path) -> None:
    program = str(Path(sys.executable).with_name("mixture"))
    odd = os.fsencode(small) + b"/s\xff.yaml"
    Path(os.fsdecode(odd)).write_bytes((small / "mixture.yaml").read_bytes())
    for environment in ({"PYTHONIOENCODING": "utf-8:strict"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}):
        done = subprocess.run([program, "lock", odd], capture_output=True, check=False, env=os.environ | environment)
        assert (done.returncode, done.stderr.count(b"Traceback")) == (0, 0)
    closed = subprocess.run(["sh", "-c", f"{program} plan {small}/mixture.yaml >&-"], capture_output=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, b"")


def test_a_domain_of_few_sequences_is_found_a_few_times_at_once(small: Path, run) -> None:
    text = (small / "mixture.yaml").read_text(encoding="utf-8")
    (small / "mixture.yaml").write_text(text.replace("budget: 100 steps", "budget: 1000000 steps"), encoding="utf-8")
    run("lock", small / "mixture.yaml")
    lock = small / "mixture.lock.json"
    found = lines(run("find", lock, "b", 777, "--limit", 5, "--json").stdout)
    assert [place["position"] for place in found] == read_lock(lock).schedule().find("b", 777)[:5]
    assert "the first 5 times" in run("find", lock, "b", 777, "--limit", 5).stdout


def test_every_command_has_help_with_an_example(run) -> None:
    listed = run("--help").stdout
    for command in ("plan", "lock", "positions", "counts", "find", "handoffs", "history", "ingest", "stream", "verify"):
        assert command in listed
        shown = run(command, "--help").stdout
        assert re.search(f"Examples?: mixture {command} ", " ".join(shown.split()))
        assert "--json" in shown
