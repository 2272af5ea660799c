"""How objects are read: where they are kept on this machine, and how long is waited for them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from mixture.errors import Place, StoreError

CACHE_DIR = "MIXTURE_CACHE_DIR"
CACHE_BYTES = "MIXTURE_CACHE_BYTES"
DEFAULT_CACHE_BYTES = 50 * 10**9


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """How objects are read. Credentials come from the environment, as obstore reads it, or stand in `settings`.

    cache:            the folder that what was read is kept in, for all processes of this machine; None: it is kept in
                      memory alone, and tables of stores in a temporary folder that goes with the process
    cache_bytes:      how large all in that folder may get
    memory_bytes:     of what was read, or is being read ahead, that this process keeps
    in_flight:        requests at a time
    attempts:         how often a range is asked for; what came before a body was cut is not asked for again
    stall_seconds:    without a byte, after which a request is given up
    request_seconds:  for a request with its whole body
    patience_seconds: for all attempts at a range
    settings:         of obstore, such as ("endpoint", "http://localhost:9000"); for all buckets
    """

    cache: Path | None = None
    cache_bytes: int = DEFAULT_CACHE_BYTES
    memory_bytes: int = 1 << 29
    in_flight: int = 32
    attempts: int = 8
    stall_seconds: float = 20.0
    request_seconds: float = 120.0
    patience_seconds: float = 300.0
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_environment(cls, **given: object) -> ObjectOptions:
        """The options with MIXTURE_CACHE_DIR and MIXTURE_CACHE_BYTES (50GB, 2 GiB, a number), where these are set.

        Errors: StoreError `cache-invalid`.
        """
        found = cls()
        if os.environ.get(CACHE_DIR):
            found = replace(found, cache=Path(os.environ[CACHE_DIR]))
        if os.environ.get(CACHE_BYTES):
            found = replace(found, cache_bytes=bytes_of(os.environ[CACHE_BYTES], CACHE_BYTES))
        return replace(found, **given)  # type: ignore[arg-type]


def bytes_of(text: str, asked_in: str) -> int:
    """The number of bytes that 50GB, 2GiB or 1000000 is. Errors: StoreError `cache-invalid`."""
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        return int(TypeAdapter(ByteSize).validate_python(text))
    except ValidationError as error:
        place = Place(path=asked_in)
        raise StoreError(f"{text!r} is no size", code="cache-invalid", place=place, hint="50GB, 2GiB") from error
