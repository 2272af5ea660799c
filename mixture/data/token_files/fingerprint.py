"""Telling whether a file is still the one that was counted, without reading all of it."""

from __future__ import annotations

import hashlib

from mixture.data.layout import Standing
from mixture.data.token_files.files import opened

BLOCK_BYTES = 1 << 14
BLOCKS = 16


def fingerprint(path: str, standing: Standing | None = None) -> str:
    """The SHA-256 of a file's size (decimal digits, a line feed) and of 16 blocks of 16 KiB of it.

    Block i of 0..15 begins at byte i * (size - 16,384) // 15, so the first and the last are among them; a file of up to
    256 KiB enters whole. What was changed between the blocks, size kept, does not show: a digest of all of it does.
    Errors: StoreError.
    """
    with opened(path, standing) as file:
        digest = hashlib.sha256(f"{file.size}\n".encode())
        if file.size <= BLOCKS * BLOCK_BYTES:
            digest.update(file.read(0, file.size))
        else:
            for block in range(BLOCKS):
                digest.update(file.read(block * (file.size - BLOCK_BYTES) // (BLOCKS - 1), BLOCK_BYTES))
    return digest.hexdigest()
