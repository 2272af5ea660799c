"""How long an answer holds: entity tags, 304, and Cache-Control.

What a lock's digest fixes never changes: it may be kept for good. What a name points to may be asked again after
seconds, and so may what follows from the text of a spec, whose comments a lock does not fix.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

from starlette.requests import Request
from starlette.responses import Response

from mixture._version import __version__


class Lifetime(Enum):
    """How long an answer may be kept, in seconds."""

    FOR_GOOD = "max-age=31536000, immutable"
    SHORT = "max-age=10, must-revalidate"
    NOT_AT_ALL = "no-cache"


@dataclass(frozen=True, slots=True)
class Freshness:
    """The entity tag of an answer (without quotes) and how long it holds."""

    tag: str
    lifetime: Lifetime

    def headers(self, request: Request) -> dict[str, str]:
        """ETag, Cache-Control and Vary. Where reading takes a token, no shared cache may keep an answer."""
        is_public = request.app.state.services.settings.public_reads
        return {
            "ETag": f'"{self.tag}"',
            "Cache-Control": f"{'public' if is_public else 'private'}, {self.lifetime.value}",
            "Vary": "Accept" if is_public else "Accept, Authorization",
        }


def mixture_tag(digest: str, text_digest: str) -> str:
    """The entity tag of a mixture: the digest of its lock, as If-Match takes it, and what tells its spec's text."""
    return f"sha256:{digest}.{tag_of(text_digest)[:16]}"


def digest_in_tag(tag: str) -> str:
    """`sha256:…` of a mixture's entity tag, with or without what follows it."""
    return tag.partition(".")[0]


def tag_of(*parts: object) -> str:
    """An entity tag over all that an answer depends on; the version of this service is always part of it."""
    return hashlib.sha256("\x1f".join(map(str, (__version__, *parts))).encode("utf-8", "replace")).hexdigest()[:32]


def address_of(request: Request) -> str:
    """Path and query, for entity tags."""
    return f"{request.scope['path']}?{request.url.query}"


def unquoted_tags(header: str) -> list[str]:
    """The tags in an If-Match or If-None-Match header, without quotes and `W/`; `*` stays."""
    return [tag.strip().removeprefix("W/").strip('"') for tag in header.split(",") if tag.strip()]


def not_modified(request: Request, fresh: Freshness) -> Response | None:
    """The answer 304 where the client has this answer already (If-None-Match), else None."""
    header = request.headers.get("if-none-match")
    if header is None:
        return None
    tags = unquoted_tags(header)
    if fresh.tag in tags or "*" in tags:
        return Response(status_code=304, headers=fresh.headers(request))
    return None
