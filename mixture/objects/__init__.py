"""Objects in object stores and at web servers: what they are, their bytes, and a cache of those on this machine."""

from mixture.objects.address import Address, located
from mixture.objects.blocks import Blocks, blocks_of
from mixture.objects.disk import DiskCache
from mixture.objects.facts import ObjectFacts, StoredObject, stored_object
from mixture.objects.file import ObjectFile
from mixture.objects.options import ObjectOptions, bytes_of
from mixture.objects.spans import Span

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
    "bytes_of",
    "located",
    "stored_object",
]
