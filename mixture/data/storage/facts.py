"""What is known of an object without its bytes, and what says that it is another one now."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from weakref import WeakValueDictionary

from mixture.data.storage.address import Address
from mixture.errors import Place, StoreError


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """size: in bytes; tag: the ETag, quoted, None where there is none; modified: when it was written, in seconds."""

    size: int
    tag: str | None
    modified: int

    @property
    def written(self) -> int:
        """When it was written, in nanoseconds, for comparing alone: what is below a second is made of the tag."""
        digits = 0 if self.tag is None else int.from_bytes(hashlib.blake2b(self.tag.encode(), digest_size=8).digest())
        return self.modified * 10**9 + digits % 10**9

    def is_same(self, other: ObjectFacts) -> bool:
        """Whether an object is, by all that is known of it, the same. Where both have tags these decide."""
        if self.tag is not None and other.tag is not None:
            return (self.size, self.tag) == (other.size, other.tag)
        return (self.size, self.modified) == (other.size, other.modified)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class StoredObject:
    """An object as it was when it was looked at: nothing else is read under this address from then on.

    There is one of it, made by `stored_object`, so that comparing costs nothing.
    """

    address: Address
    facts: ObjectFacts


_KNOWN: WeakValueDictionary[tuple[Address, ObjectFacts], StoredObject] = WeakValueDictionary()
_GUARD = threading.Lock()


def stored_object(address: Address, facts: ObjectFacts) -> StoredObject:
    """The object at an address of which this is known."""
    with _GUARD:
        found = _KNOWN.get((address, facts))
        if found is None:
            found = _KNOWN[address, facts] = StoredObject(address, facts)
        return found


class InterruptedReadError(Exception):
    """A read that may succeed when it is tried again. wait_seconds: how long the other side asks to wait."""

    def __init__(self, message: str, *, wait_seconds: float | None = None) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


def changed(address: Address, message: str = "is not the object that it was when the store was opened") -> StoreError:
    """The refusal of an object that was replaced."""
    hint = "write another store instead, and open that: runs read what they were locked with"
    return StoreError(message, code="store-changed", place=Place(file=str(address)), hint=hint)


def missing(address: Address) -> StoreError:
    """The refusal of an object that is not there."""
    return StoreError("there is no such object", code="file-missing", place=Place(file=str(address)))
