"""What the trainers accepted and drew, kept as a fixture that tests hold the exports against.

nanotron and Olmix are in no registry, and nanotron's modules need a GPU's: what their config classes accepted, and what
nanotron's blended dataset drew, was put there by hand, from the sources of the versions that it names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isqrt
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

ACCEPTED = Path(__file__).parents[2] / "tests" / "formats" / "accepted_exports.json"


def content(name: str, text: str) -> Any:  # noqa: ANN401 (what a file says)
    """What a file says to its trainer: comments and layout are not part of it."""
    if name.endswith(".json"):
        return json.loads(text)
    if name.endswith(".yaml"):
        return yaml.safe_load(text)
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


def allowed(name: str, expected: int) -> int:
    """How many sequences of a domain a trainer may draw beside the lock's, by the file that it was given.

    Counts are exact. Shares are within a sequence, but for Energon's blend, which draws at random: five standard
    deviations of that; so do Hugging Face's datasets, and Levanter within a block.
    """
    if ".choose." in name or ".epochized." in name:
        return 0
    is_random = any(f".{trainer}." in name for trainer in ("energon", "hf", "levanter"))
    return 5 * isqrt(expected) if is_random else 1


def differences(drawn: Mapping[str, Mapping[str, int]], lock: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Where a trainer drew other counts than the lock's, by file; each is of the phase that its name has."""
    found = []
    for name, counts in drawn.items():
        phase = next(phase for phase in lock if f"-{phase}." in name)
        for domain in sorted({*counts, *lock[phase]}):
            got, expected = counts.get(domain, 0), lock[phase].get(domain, 0)
            if abs(got - expected) > allowed(name, expected):
                found.append(f"{name}: {domain}: {got:,} sequences, and {expected:,} in the lock")
    return found


def record(folder: Path, told: Mapping[str, Any]) -> None:
    """Keep the files of the trainers that were asked, with what they drew; those of others stay."""
    kept = json.loads(ACCEPTED.read_text(encoding="utf-8")) if ACCEPTED.exists() else {}
    for trainer, said in told.items():
        files = sorted((folder / f"for-{trainer}").iterdir())
        texts = {path.name: content(path.name, path.read_text(encoding="utf-8")) for path in files}
        kept[trainer] = {"versions": said["versions"], "drawn": said["drawn"], "files": texts}
    text = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False)
    ACCEPTED.write_text(text + "\n", encoding="utf-8")
