"""Clusters over Ray, started on this machine, in a process of its own: it changes signals, threads and warnings."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.needs_ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'mixture[ray]'"),
]


def mixture(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("mixture")), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


def test_over_ray_every_byte_is_what_processes_make(made, library: Path, tmp_path: Path, digests) -> None:
    out = tmp_path / "out"
    mixture("cluster", library / "sources.yaml", "-k", 12, "-o", out, "--engine", "ray", "--processes", 2)
    assert digests(out) == digests(made.path)


def test_an_error_of_a_task_reaches_the_user_as_it_is(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text('{"text": "river bank", "topic": ""}\n', encoding="utf-8")
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: [a.jsonl]}, b: {files: [b.jsonl]}}", encoding="utf-8")
    done = mixture(
        "cluster", tmp_path / "sources.yaml", "--cluster-column", "topic", "-o", tmp_path / "out",
        "--engine", "ray", "--processes", 1, code=1,
    )  # fmt: skip
    assert "error[label-missing]: " in done.stderr
    assert "Traceback" not in done.stderr


def test_an_address_at_which_no_cluster_answers(tmp_path: Path, library: Path) -> None:
    done = mixture(
        "cluster", library / "sources.yaml", "-k", 2, "-o", tmp_path / "out",
        "--engine", "ray", "--ray-address", "127.0.0.1:1", code=1,
    )  # fmt: skip
    assert "error[ray-unreachable]" in done.stderr
