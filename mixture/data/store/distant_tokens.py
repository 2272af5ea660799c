"""The tokens of a store that has them itself, at an address."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from mixture.data.layout import DATA_START, Documents, Manifest, Standing
from mixture.data.token_files import I64, Kind, LinkedTokens


class DistantTokens(LinkedTokens):
    """Its token files read like those that a catalog leads to: each is a piece."""

    def __init__(self, folder: Path, manifest: Manifest, standing: Standing, documents: Documents) -> None:
        records = [file for domain in manifest.domains for file in domain.files]
        kind = Kind(np.dtype(manifest.dtype), is_decoded=False, is_known=True)
        self._fill(
            folder,
            manifest,
            standing,
            documents,
            paths=[standing.path_of(file.file) for file in records],
            sizes=[file.bytes for file in records],
            kinds=[kind for _ in manifest.domains],
            columns=["" for _ in records],
        )
        self._piece_tokens = np.array([file.tokens for file in records], np.int64)

    @cached_property
    def _pieces(self) -> tuple[I64, I64, I64]:
        count = len(self._piece_tokens)
        return np.arange(count), np.full(count, DATA_START), np.cumsum(self._piece_tokens, dtype=np.int64)
