"""The lock: its fields, its file, its lineage, its masks."""

from mixture.lock.amendment import Amendment, goes_on, goes_on_as_locked, joined
from mixture.lock.file import lock_text, parse_lock, read_lock, write_lock
from mixture.lock.lineage import lineage_of, parting_step
from mixture.lock.lock import FORMAT, Accepted, Amends, Lock, LockPhase, Mask, look_up, with_digest
from mixture.lock.mask_file import MaskedDocument, MaskedRange, MaskLine, read_mask_file
from mixture.lock.masks import in_order, mask_faults, without_masked
from mixture.lock.replacement import check_replaceable, lock_to_replace

__all__ = [
    "Accepted", "Amendment", "Amends", "FORMAT", "Lock", "LockPhase", "Mask", "MaskLine", "MaskedDocument",
    "MaskedRange", "check_replaceable", "goes_on", "goes_on_as_locked", "in_order", "joined", "lineage_of", "lock_text",
    "lock_to_replace", "look_up", "mask_faults", "parse_lock", "parting_step", "read_lock", "read_mask_file",
    "with_digest", "without_masked", "write_lock",
]  # fmt: skip
