"""Fuzzing by coverage, beside the tests: `python tests/fuzz/run.py --seconds 3600 [--target NAME …]`.

It needs atheris (`pip install atheris`), which is in no extra. Targets take turns, each in a process of its own with a
limit of memory; what they learn in a turn they begin the next with. A finding is a line `FOUND` with the file
that shows it, which `--show FILE --target NAME` reads once more. The exit code is 1 where there was one. Requests
to the service are for the tests alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

FEWEST_SECONDS = 20
MOST_MEMORY = 6 << 30  # of addresses: what is read of a file is far below it
SLOWEST_SECONDS = 20


def main() -> int:
    """Let targets take turns until the time is over, or read one file."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--target", action="append")
    options.add_argument("--corpus", type=Path, default=Path(tempfile.gettempdir()) / "mixture-fuzz")
    options.add_argument("--show", type=Path, help="a file that was found")
    options.add_argument("--turn", help=argparse.SUPPRESS)
    said = options.parse_args()
    if said.show:
        return _show(said.target[0], said.show)
    if said.turn:
        return _turn(said.turn, said.corpus, said.seconds)
    return _all(said.target or _names(), said.corpus, said.seconds)


def _names() -> list[str]:
    from fuzz.targets import make_targets

    with tempfile.TemporaryDirectory() as folder:
        return list(make_targets(Path(folder)))


def _all(names: list[str], corpus: Path, seconds: int) -> int:
    ends = time.monotonic() + seconds
    found = 0
    turn = max(FEWEST_SECONDS, min(300, seconds // len(names)))
    while True:
        for name in names:
            left = int(ends - time.monotonic())
            if left < FEWEST_SECONDS / 2:
                print(f"END {found} found", flush=True)
                return 1 if found else 0
            found += _one(name, corpus, min(turn, left))


def _one(name: str, corpus: Path, seconds: int) -> int:
    """One turn of a target; how many findings it had."""
    command = [sys.executable, __file__, "--turn", name, "--corpus", str(corpus), "--seconds", str(seconds)]
    (corpus / name).mkdir(parents=True, exist_ok=True)
    (corpus / "found" / name).mkdir(parents=True, exist_ok=True)
    before = set((corpus / "found" / name).iterdir())
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, errors="replace", timeout=seconds + 120
        )
        said, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as error:
        said, code = (error.stderr or b"").decode(errors="replace"), 1
    tried = [line for line in said.splitlines() if line.startswith("Done ")]
    print(f"{time.strftime('%H:%M:%S')} {name}: {tried[-1] if tried else f'ended with {code}'}", flush=True)
    files = sorted(set((corpus / "found" / name).iterdir()) - before)
    if code and not tried:
        print(f"FOUND {name} {' '.join(map(str, files))}\n" + "\n".join(said.splitlines()[-25:]), flush=True)
        return 1
    return 0


def _turn(name: str, corpus: Path, seconds: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["mixture"]):
        from fuzz.targets import check, make_targets

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        target = make_targets(Path(folder))[name]
        for i, seed in enumerate(target.seeds):
            (corpus / name / f"seed-{i}").write_bytes(seed)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        arguments = [
            sys.argv[0], f"-max_total_time={seconds}", f"-timeout={SLOWEST_SECONDS}", "-rss_limit_mb=1500",
            f"-artifact_prefix={corpus / 'found' / name}/", "-max_len=65536",
            str(corpus / name),
        ]  # fmt: skip
        atheris.Setup(arguments, lambda data: check(target, data))
        atheris.Fuzz()
    return 0


def _show(name: str, file: Path) -> int:
    from fuzz.targets import check, make_targets

    with tempfile.TemporaryDirectory() as folder:
        check(make_targets(Path(folder))[name], file.read_bytes())
    print("no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main())
