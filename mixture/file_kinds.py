"""What a file says that it is, by its first keys: whoever is handed the wrong kind can say which it is."""

from __future__ import annotations

import json
import re

LINKED_FORMAT = "mixture-catalog/1"
"""What the store.json of a folder of links says: its tokens stay in the files that they were found in."""

_MARK = b"\xef\xbb\xbf"
_LOCK = [re.compile(rb'"%s"\s*:' % key) for key in (b"format", b"segments")]
_SPEC = [re.compile(rb"^%s[ \t]*:" % key, re.MULTILINE) for key in (b"mixture", b"phases")]
_SPEC_AS_JSON = [re.compile(rb'"%s"\s*:' % key) for key in (b"budget", b"phases")]


def says_lock(data: bytes) -> bool:
    """Whether the bytes of a file, or enough of its first ones, have the keys of a lock. It may be damaged."""
    return _is_object(data) and all(key.search(data) for key in _LOCK)


def says_spec(data: bytes) -> bool:
    """Whether the bytes of a file have the keys of a spec. It may be wrong."""
    if _is_object(data):
        return all(key.search(data) for key in _SPEC_AS_JSON) and not says_lock(data)
    return all(key.search(data.removeprefix(_MARK)) for key in _SPEC)


def says_links(data: bytes) -> frozenset[str]:
    """The domains of a store.json whose text lies in files that were found; those of a store keep its random order."""
    try:
        said = json.loads(data)
        domains = said["domains"] if said["format"] == LINKED_FORMAT else ()
        return frozenset(domain["name"] for domain in domains if domain["how"]["format"] != "store")
    except (ValueError, LookupError, TypeError, RecursionError):  # whoever opens the store says what is wrong
        return frozenset()


def _is_object(data: bytes) -> bool:
    return data.removeprefix(_MARK).lstrip().startswith(b"{")
