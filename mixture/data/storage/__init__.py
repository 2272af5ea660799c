"""Objects in object stores and at web servers: what they are, their bytes, and a cache of those on this machine."""

from mixture.data.storage.address import Address, located
from mixture.data.storage.blocks import Blocks, blocks_of
from mixture.data.storage.disk import DiskCache
from mixture.data.storage.facts import ObjectFacts, StoredObject, stored_object
from mixture.data.storage.file import ObjectFile
from mixture.data.storage.options import ObjectOptions
from mixture.data.storage.spans import Span

__all__ = [
    "Address",
    "Blocks",
    "DiskCache",
    "ObjectFacts",
    "ObjectFile",
    "ObjectOptions",
    "Span",
    "StoredObject",
    "blocks_of",
    "located",
    "stored_object",
]
