"""Clusters over Ray, started on this machine, in a process of its own: it changes signals, threads and warnings."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.needs_ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'mixture-lock[ray]'"),
]


def mixture(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("mixture")), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


SCRIPT = """
import json, sys
from mixture.clusters import ClusterOptions, Ray, cluster
from mixture.errors import ClusterError

class Refuses:
    def run(self):
        raise ClusterError("document 'y' has no column 'topic'", code="label-missing", hint="as it is")

if __name__ == "__main__":
    engine = Ray(None, 2)
    try:
        list(engine.results([Refuses()]))
    except ClusterError as error:
        told = {"code": error.code, "message": error.message, "hint": error.hint}
    cluster(sys.argv[1], sys.argv[2], ClusterOptions(k=6), engine=engine)
    import ray
    print(json.dumps(told | {"running": ray.is_initialized()}))
"""


def test_over_ray_every_byte_is_what_processes_make_and_an_error_of_a_task_is_told_as_it_is(
    made, library: Path, tmp_path: Path, digests
) -> None:
    """Both over one Ray, which takes seconds to start, and is ended with the run."""
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, tmp_path / "script.py", library / "sources.yaml", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "code": "label-missing",
        "message": "document 'y' has no column 'topic'",
        "hint": "as it is",
        "running": False,
    }
    assert digests(tmp_path / "out") == digests(made.path)


def test_an_address_at_which_no_cluster_answers(tmp_path: Path, library: Path) -> None:
    done = mixture(
        "cluster", library / "sources.yaml", "-k", 2, "-o", tmp_path / "out",
        "--engine", "ray", "--ray-address", "127.0.0.1:1", code=1,
    )  # fmt: skip
    assert "error[ray-unreachable]" in done.stderr
