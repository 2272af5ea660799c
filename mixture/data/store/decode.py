"""Token ids back to text, for people to read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mixture.data.layout import BYTES
from mixture.data.store.store import Store
from mixture.errors import Place, StoreError
from mixture.extras import extra


def decoder(store: Store) -> Callable[[NDArray[np.integer]], str]:
    """What turns tokens [n] of a store into text; end-of-document is left out, and half characters show as �.

    Where the store has no tokenizer.json, tokens show as numbers. Raises StoreError, `tokenizer-differs`, where the
    file is not the one that the store was made with.
    """
    if store.tokenizer == BYTES:
        return lambda ids: ids[ids < store.end_of_document].astype(np.uint8).tobytes().decode(errors="replace")
    path = store.definition
    if not path.is_file():
        return lambda ids: " ".join(map(str, ids.tolist()))
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if store.tokenizer_digest not in (None, found):
        raise StoreError(
            f"has the digest {found}, the store was made with {store.tokenizer_digest}",
            code="tokenizer-differs",
            place=Place(file=str(path)),
        )
    with extra("ingest"):
        from tokenizers import Tokenizer

    library = Tokenizer.from_str(data.decode())
    return lambda ids: str(library.decode(ids.tolist()))
