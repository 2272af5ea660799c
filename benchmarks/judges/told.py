"""The side of a trainer: what it drew, by phase and domain, as one line of JSON. Needs NumPy alone.

A module in `trainers` loads the exports of a folder (`benchmarks.judges.text`) by its library's own classes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

import numpy as np

END = 256
LETTERS = {ord(name[0]): name for name in ("books", "code", "rare", "web")}
"""Every token of a domain is its first letter, but for the one that ends a document."""
PHASES = {"early": 3_200, "late": 800}
"""Sequences of each phase."""
Drawn = dict[str, dict[str, int]]
"""Sequences, by file of the export and by domain."""


def domain_of(tokens: object) -> str:
    """Whose a sequence is: its first letter. All others have to be the same."""
    found = set(np.asarray(tokens).tolist()) - {END}
    assert len(found) == 1, f"a sequence of several domains: {found}"
    return LETTERS[found.pop()]


def counted(sequences: Iterable[object]) -> dict[str, int]:
    """How many sequences each domain has."""
    return dict(sorted(Counter(map(domain_of, sequences)).items()))


def tell(judge: Callable[[Path], Drawn], *packages: str) -> None:
    """Run a judge over the folder that the command line names. Whatever its library prints goes to standard error."""
    out, sys.stdout = sys.stdout, sys.stderr
    drawn = judge(Path(sys.argv[1]).resolve())
    print(json.dumps({"versions": {name: version(name) for name in packages}, "drawn": drawn}), file=out)
