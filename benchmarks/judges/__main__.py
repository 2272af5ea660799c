"""Every export, loaded by its trainer's own classes, and what they draw beside what the lock draws.

    python -m benchmarks.judges --install        the trainers, in environments below .cache/judges
    python -m benchmarks.judges [--only NAME ...] [--record]

`--record` keeps what the trainers accepted in tests/formats/accepted_exports.json, which tests compare exports with.
Exit 1 where a trainer refuses an export, or draws other counts. MosaicML's and Energon's own forms of the text are
written by their writers; Megatron, OLMo-core and datatrove read what `export-store` writes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.judges.install import TRAINERS
from benchmarks.judges.record import differences, record
from benchmarks.judges.text import SEQUENCE_LENGTH, drawn_by, make_text
from mixture.data.store import Store

TEXT = TRAINERS.folder / "text"
PATIENCE_SECONDS = 600


def told_by(trainer: str, folder: Path) -> dict[str, Any]:
    """What a trainer says that it drew. Raises CalledProcessError, where it refuses an export."""
    command = [str(TRAINERS.python_of(trainer)), "-m", f"benchmarks.judges.trainers.{trainer}", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_SECONDS)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def wrong_files(said: Mapping[str, Any], store: Store) -> list[str]:
    """Where datatrove has other samples than the whole sequences of the store's domains."""
    found = {next(iter(counts.items())) for counts in said["drawn"].values()}
    expected = {(name, domain.tokens // SEQUENCE_LENGTH) for name, domain in store.domains.items()}
    return [f"{name}: {count:,} samples" for name, count in sorted(found ^ expected)]


def main() -> int:
    """Run it and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install the trainers, and nothing else")
    parser.add_argument("--only", nargs="+", choices=TRAINERS.packages, default=list(TRAINERS.packages), metavar="NAME")
    parser.add_argument("--record", action="store_true", help="keep what was accepted as a fixture of the tests")
    asked = parser.parse_args()
    if asked.install:
        TRAINERS.install()
        return 0
    store, lock = make_text(TEXT)
    drawn = drawn_by(lock)
    accepted: dict[str, dict[str, Any]] = {}
    is_wrong = False
    for trainer in asked.only:
        if not TRAINERS.python_of(trainer).exists():
            print(f"{trainer}: not installed: --install")
            continue
        try:
            said = told_by(trainer, TEXT)
        except (subprocess.SubprocessError, ValueError) as error:
            print(f"{trainer}: refused: {error}")
            is_wrong = True
            continue
        wrong = wrong_files(said, store) if trainer == "datatrove" else differences(said["drawn"], drawn)
        versions = ", ".join(f"{name} {version}" for name, version in said["versions"].items())
        print(f"{trainer} ({versions}): {len(said['drawn'])} files, {len(wrong)} counts that are not the lock's")
        for line in wrong:
            print(f"  {line}")
        is_wrong |= bool(wrong)
        if not wrong and trainer != "datatrove":
            accepted[trainer] = said
    if asked.record:
        record(TEXT, accepted)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
