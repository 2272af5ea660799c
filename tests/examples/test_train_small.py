"""The example is killed twice, goes on with other ranks and workers, and reads and learns the same."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'mixture-lock[torch]'"),
]

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_small.py"


def lines(path: Path) -> list[dict]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def test_killed_and_restarted_with_other_ranks_and_workers_a_run_ends_the_same(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), "--folder", str(tmp_path / "small")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert done.stdout.count("killed") == 2
    whole, stopped = (tmp_path / "small" / name for name in ("whole", "stopped"))
    batches = {line["step"]: line["batch"] for line in lines(whole / "batches.jsonl")}
    assert list(batches) == list(range(200))
    assert len(set(batches.values())) == 200
    found = lines(stopped / "batches.jsonl")
    assert {line["ranks"] for line in found} == {1, 2, 3}
    assert {line["step"] for line in found} == set(range(200))
    assert all(batches[line["step"]] == line["batch"] for line in found)
    losses = {line["step"]: line for line in lines(whole / "losses.jsonl")}
    for line in lines(stopped / "losses.jsonl"):
        expected = losses[line["step"]]
        assert line["mean_loss"] == pytest.approx(expected["mean_loss"], rel=1e-5)
        assert line["loss"] == pytest.approx(expected["loss"], rel=1e-4)
        assert line["share"] == expected["share"]
    assert losses[199]["mean_loss"] < losses[0]["mean_loss"] / 2
    assert losses[199]["share"].keys() == {"asyncio", "email", "json"}
