"""Whether a new lock may take the place of a lock file."""

from __future__ import annotations

import os
from pathlib import Path

from mixture.errors import LockError, Place
from mixture.lock.file import read_lock
from mixture.lock.lock import Lock

REPLACEABLE = frozenset({"lock-outdated", "lock-field", "lock-digest", "lock-not-canonical", "lock-self-check"})
"""Errors of a lock file that a new lock corrects. A file that is no lock is left alone."""


def lock_to_replace(path: str | os.PathLike[str]) -> Lock | None:
    """The lock that a new one at this path replaces; None where there is none, or a damaged one.

    Raises what `read_lock` does for a file that is no lock.
    """
    try:
        return read_lock(path)
    except LockError as error:
        if error.code == "lock-missing" or error.code in REPLACEABLE:
            return None
        raise


def check_replaceable(lock: Lock, path: str | os.PathLike[str]) -> None:
    """Check that a lock file may be replaced by a lock that a spec alone gives.

    Raises LockError: `lock-amended` of an amended lock, `lock-has-pools` of a lock with pools, which no spec has.
    """
    place = Place(file=str(Path(path)))
    if lock.amends is not None:
        raise LockError(
            f"this lock was amended at step {lock.amends.step:,}: made again it would read something else before it",
            code="lock-amended",
            place=place,
            hint="`mixture amend` changes it, --check says whether the spec gives it, and -o writes elsewhere",
            step=lock.amends.step,
        )
    if lock.data.pools:
        raise LockError(
            f"this lock keeps {len(lock.data.pools):,} domains to pools, which no spec says: made again it reads them"
            " whole",
            code="lock-has-pools",
            place=place,
            hint="`mixture ladder` makes such locks, --check says whether the spec gives it, and -o writes elsewhere",
        )
