"""Whether the ids in token files are of the vocabulary, before anything reads them for good."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mixture.data.layout import Documents, LinkedFormat, LinkedManifest, Standing
from mixture.data.token_files import LinkedTokens

_SAMPLES = 16
_SAMPLE_TOKENS = 1024
_CHUNK = 1 << 21


def look_at_ids(folder: Path, manifest: LinkedManifest, numbers: Sequence[int], *, base: Path, is_full: bool) -> None:
    """Compare ids of some domains with the vocabulary: all, or those of 16 places a file.

    base: the folder that paths are relative to

    Parquet is not read again for a look at some: its files were decoded when they were counted.
    Errors: StoreError `id-outside-vocabulary`.
    """
    standing = Standing(folder)
    source = LinkedTokens(folder, manifest, standing, Documents(folder, manifest, standing), base)
    reader = source.doubted().reader(range(len(manifest.domains)))
    for number in numbers:
        domain, first = manifest.domains[number], 0
        if domain.how.format is LinkedFormat.PARQUET:
            continue
        for file in domain.files:
            count = min(file.tokens, _CHUNK if is_full else _SAMPLE_TOKENS)
            last = first + file.tokens - count
            steps = -(-file.tokens // count) if is_full and count else _SAMPLES
            places: list[int] = sorted({first + (last - first) * i // max(1, steps - 1) for i in range(steps)})
            for place in places if count else ():
                reader.range(number, place, count)
            first += file.tokens
