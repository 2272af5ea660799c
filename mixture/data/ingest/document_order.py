"""The order of documents in a store: a keyed hash of what they are, never of where they came from."""

from __future__ import annotations

import hashlib


class DocumentKeys:
    """The place of documents in a domain's order: BLAKE2b of 16 bytes over seed, domain, id and text.

    Documents with one key have the same id and text. The text enters by its digest, which is also the id of a document
    that has none.
    """

    def __init__(self, seed: int, domain: str) -> None:
        self._base = hashlib.blake2b(f"mixture-store/1\x1f{seed}\x1f{domain}\x1f".encode(), digest_size=16)

    def of(self, identity: str | None, text: bytes) -> tuple[str, bytes]:
        """Id and key of a document."""
        digest = hashlib.blake2b(text, digest_size=16).hexdigest()
        identity = digest if identity is None else identity
        key = self._base.copy()
        key.update(f"{identity}\x1f{digest}".encode())
        return identity, key.digest()
