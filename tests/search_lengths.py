"""How long random searches are: short in `make test`, and in `make test-all` as long as they are written."""

from __future__ import annotations

import os

WHOLE = os.environ.get("MIXTURE_TEST_ALL") == "1"


def examples(count: int) -> int:
    """The examples of a property, or rounds of a loop, of which `make test-all` tries `count`."""
    return count if WHOLE else max(4, count // 8)
