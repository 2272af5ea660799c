"""The text that all loaders read: rows of tokens in one file, by domain, and the shares of the domains."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

NAME = "text.json"


@dataclass(frozen=True)
class Text:
    """Rows [n, length] of uint32 in `rows.npy`, those of the first domain first.

    folder:   where it is; loaders put their own form of it below
    length:   tokens of a row
    rows:     of each domain
    percents: the share of each domain of a run
    telling:  so many first tokens of a row tell which row it is
    """

    folder: Path
    length: int
    rows: tuple[int, ...]
    percents: tuple[int, ...]
    telling: int = 16

    @classmethod
    def read(cls, folder: Path) -> Text:
        """What `write` wrote."""
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return cls(folder, found["length"], tuple(found["rows"]), tuple(found["percents"]))

    def write(self) -> None:
        """Say what there is, for other processes."""
        said = {"length": self.length, "rows": self.rows, "percents": self.percents}
        (self.folder / NAME).write_text(json.dumps(said), encoding="utf-8")

    @property
    def shares(self) -> list[float]:
        """Of each domain."""
        return [percent / 100 for percent in self.percents]

    @property
    def num_rows(self) -> int:
        """Of all domains."""
        return sum(self.rows)

    def mapped(self) -> NDArray[np.uint32]:
        """All rows."""
        found: NDArray[np.uint32] = np.load(self.folder / "rows.npy", mmap_mode="r")
        return found

    def of_domains(self) -> list[NDArray[np.uint32]]:
        """The rows of each domain."""
        return np.split(self.mapped(), np.cumsum(self.rows)[:-1])

    def domain_of_start(self) -> dict[bytes, int]:
        """The domain by the bytes of a row's first tokens."""
        return {
            start.tobytes(): number
            for number, rows in enumerate(self.of_domains())
            for start in np.asarray(rows[:, : self.telling])
        }


def worst_deviation(domains: NDArray[np.integer], shares: list[float]) -> float:
    """The most that the count of a domain differs from its share, over all prefixes of a run; in rows."""
    positions = np.arange(1, len(domains) + 1)
    return max(
        float(np.abs(np.cumsum(domains == number) - share * positions).max()) for number, share in enumerate(shares)
    )
