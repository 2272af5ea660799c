"""What a service says of a mixture's lock and store: all that a stream asks of them, but for the tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mixture.client.service import Service
from mixture.data.layout import ContentKind, StoreDomain
from mixture.errors import Place, StreamError
from mixture.json_text import parse_json
from mixture.lock import Lock, parse_lock


@dataclass(frozen=True, slots=True)
class ServedStore:
    """A store as a service describes it. The fields are those of `mixture.data.store.StoreDescription`.

    path: its address
    """

    path: str
    digest: str
    tokenizer: str
    dtype: np.dtype[np.unsignedinteger]
    end_of_document: int
    domains: Mapping[str, StoreDomain]
    vocabulary: int | None = None


def _kind(said: Mapping[str, str]) -> ContentKind:
    return ContentKind(said.get("kind", ContentKind.TOKENS))  # services before there were others do not say


def fetch_lock(service: Service) -> Lock:
    """The lock that is served, verified as a lock file is. Raises LockError, and what requests raise."""
    return parse_lock(service.read("/lock"), place=Place(file=f"{service.url}/lock"))


def fetch_store(service: Service) -> ServedStore:
    """What the service reads batches from. Raises ServiceError `store-missing`, StreamError `answer-invalid`."""
    text = service.read("/store")
    try:
        said = parse_json(text)
        domains = [
            StoreDomain(one["domain"], one["tokens"], one["documents"], one["content"], _kind(one))
            for one in said["domains"]
        ]
        return ServedStore(
            path=f"{service.url}/store",
            digest=said["digest"],
            tokenizer=said["tokenizer"],
            dtype=np.dtype(said["dtype"]),
            end_of_document=said["end_of_document"],
            domains={domain.name: domain for domain in domains},
        )
    except (ValueError, LookupError, TypeError) as error:
        place = Place(file=f"{service.url}/store")
        raise StreamError(f"this is no description of a store: {error}", code="answer-invalid", place=place) from error
