"""How a request names a mixture: `name`, or `name@sha256:<digest>`. One rule for names, one for digests.

A digest may be cut, as pages print it, to its first digits: eight or more, that tell it from the others of the name.

Nothing that a request says becomes a path: names and digests are looked up, never opened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path as PathParameter

from mixture.names import DIGEST_MARK, EXAMPLE_DIGEST

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
DIGEST_PATTERN = r"[0-9a-f]{64}"
SHORT_DIGEST_PATTERN = r"[0-9a-f]{8,64}"
DIGEST = EXAMPLE_DIGEST
SUFFIXES = (".json", ".csv", ".parquet", ".arrow")
"""Endings of an address that say a format (`mixture.api.answers.formats`), so that no name may have them."""

_NAME = re.compile(NAME_PATTERN)
_REF = re.compile(f"({NAME_PATTERN})(?:{DIGEST_MARK}({SHORT_DIGEST_PATTERN}))?")


@dataclass(frozen=True, slots=True)
class Ref:
    """A mixture's name, and where the request pins one the digest of its lock (lower-case hex), or its first digits."""

    name: str
    digest: str | None = None

    @property
    def is_short(self) -> bool:
        """Whether it has only the first digits of a digest."""
        return self.digest is not None and len(self.digest) < len(DIGEST)

    def __str__(self) -> str:
        return self.name if self.digest is None else f"{self.name}{DIGEST_MARK}{self.digest}"


def is_name(text: str) -> bool:
    """Whether a mixture may be published under this name."""
    return _NAME.fullmatch(text) is not None and not text.lower().endswith(SUFFIXES)


def parse_ref(text: str) -> Ref | None:
    """`name` or `name@sha256:<digest>`, which may be cut; None for what is neither."""
    found = _REF.fullmatch(text)
    return None if found is None else Ref(found[1], found[2])


def _ref_parameter(name: str, description: str) -> Any:  # noqa: ANN401 what Path gives
    return PathParameter(
        alias=name,
        pattern=f"^{NAME_PATTERN}({DIGEST_MARK}{SHORT_DIGEST_PATTERN})?$",
        description=description,
        openapi_examples={
            "name": {"summary": "What the name points to now", "value": "demo"},
            "pinned": {"summary": "One digest, for good", "value": f"demo{DIGEST_MARK}{DIGEST}"},
        },
    )


RefText = Annotated[
    str,
    _ref_parameter(
        "ref",
        "A mixture's name, or `name@sha256:<digest>` to pin the digest of its lock: its 64 digits, or the first 8 or "
        "more, where they tell it from the others of the name.",
    ),
]
"""The path parameter `{ref}`."""
OtherRefText = Annotated[str, _ref_parameter("other", "Another mixture, or another digest of this one, named alike.")]
"""The path parameter `{other}`."""
