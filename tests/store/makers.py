"""What tests of stores write and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from mixture.store import Store

MakeStore = Callable[..., Store]
WriteSources = Callable[[str], Path]


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """Write rows as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def text_of(tokens: np.ndarray) -> str:
    """The text of byte tokens; end-of-document as a bar."""
    return "".join("|" if token == 256 else chr(token) for token in tokens.tolist())
