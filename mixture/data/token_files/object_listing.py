"""Looking at many objects: in lists, a thousand a request, or one by one, many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from mixture.data.layout import Standing
from mixture.data.storage import Address, Blocks, ObjectFacts, StoredObject, located, stored_object
from mixture.errors import StoreError

FEW = 8
"""Objects that are asked for one by one rather than found in a list of all that is beside them."""


def pin_all(paths: Iterable[str], standing: Standing) -> None:
    """Look at those of some files that are objects, so that nothing else is read in their place.

    Those that are not there are left out. Errors: StoreError, those of `Blocks`.
    """
    addresses = [place for place in map(located, paths) if isinstance(place, Address)]
    if addresses:
        folders = Counter(address.parent for address in addresses)
        listed = [folder for folder, count in folders.items() if count > FEW]
        for found in look_at_all(addresses, standing.blocks, listed).values():
            standing.pin(found)


def look_at_all(
    addresses: Iterable[Address], blocks: Blocks, folders: Iterable[Address] = ()
) -> Mapping[str, StoredObject]:
    """Objects by address, without those that are not there.

    folders: that may be listed, where there are more than a few
    """
    left: list[Address] = list(dict.fromkeys(addresses))
    found: dict[str, StoredObject] = {}
    if len(left) > FEW:
        for folder in folders:
            for path, facts in (_listed(folder, blocks) or {}).items():
                one = stored_object(Address(folder.root, path), facts)
                found[str(one.address)] = one
        left = [address for address in left if str(address) not in found]
    with ThreadPoolExecutor(blocks.options.in_flight) as threads:
        for looked in threads.map(lambda address: _look(address, blocks), left):
            if looked is not None:
                found[str(looked.address)] = looked
    return found


def _listed(folder: Address, blocks: Blocks) -> Mapping[str, ObjectFacts] | None:
    try:
        return blocks.objects.listed(folder)
    except StoreError as error:
        if error.code != "object-forbidden":  # to read is a right, to list another
            raise
        return None


def _look(address: Address, blocks: Blocks) -> StoredObject | None:
    try:
        return blocks.objects.look(address)
    except StoreError as error:
        if error.code != "file-missing":
            raise
        return None
