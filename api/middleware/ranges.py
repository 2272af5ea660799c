"""Parts of an answer by `Range` (RFC 9110, 14): readers of Parquet and CSV by URL ask how long it is, then for parts.

An answer is made once for a reader's questions: its bytes are kept by its entity tag while there is room.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mixture.api.middleware.http_caching import Freshness
from mixture.api.middleware.problems import Problem, documented

MOST_BYTES = 64 * 2**20
"""Of an answer that has parts."""
MOST_KEPT = 2 * MOST_BYTES
_PART = re.compile(r"(?P<first>\d{0,18})-(?P<last>\d{0,18})", re.ASCII)
_HEAD = "is_head"
MOST_AT_ONCE = 4
WAIT_SECONDS = 10.0
_MAKING = threading.BoundedSemaphore(MOST_AT_ONCE)

PARTS: dict[int | str, dict[str, Any]] = {
    206: {"description": "The part that `Range` asks for; with `If-Range`, where that is the answer's entity tag."},
    **documented(416),
}
"""For `responses=` of routes whose answers have parts."""


class TooLongForPartsError(Exception):
    """An answer has more bytes than are kept."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The bytes of an answer, and headers that are found with them."""

    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.content)


def mark_head(scope: Any) -> None:  # noqa: ANN401 an ASGI scope
    """Keep in mind that a request, which routes see as GET, is HEAD."""
    scope.setdefault("state", {})[_HEAD] = True


def asks_for_parts(request: Request) -> bool:
    """Whether it asks for a part, or for the size of the whole as who asks for parts next."""
    return "range" in request.headers or bool(request.scope.get("state", {}).get(_HEAD))


def joined(pieces: Iterator[bytes], taken: list[bytes]) -> Whole:
    """All pieces as one; `taken` has those that were taken. Raises TooLongForPartsError."""
    size = 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise TooLongForPartsError
    return Whole(b"".join(taken))


def ranged_answer(
    request: Request, fresh: Freshness, make: Callable[[], Whole], *, headers: dict[str, str], media_type: str
) -> Response:
    """An answer, or the part of it that the request asks for.

    Several parts at a time are answered with the whole, as the RFC lets a server do. Raises Problem 416
    `range-not-satisfiable`, with the size, 503 `busy`, and what `make` raises.
    """
    ranged = request.app.state.services.ranged
    if asks_for_parts(request):
        whole: Whole = ranged.get(fresh.tag, lambda: _made_in_turn(make))
    else:
        whole = ranged.peek(fresh.tag) or make()
    content, headers = whole.content, headers | {**whole.headers, "Accept-Ranges": "bytes"}
    part = _asked_part(request, fresh, len(content))
    if part is None:
        return Response(content, headers=headers, media_type=media_type)
    headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{len(content)}"
    return Response(content[part.start : part.stop], 206, headers, media_type)


def _made_in_turn(make: Callable[[], Whole]) -> Whole:
    """A whole answer, of which a few are made at a time: each is in memory before it is counted with those kept.

    Raises Problem 503 `busy`.
    """
    if not _MAKING.acquire(timeout=WAIT_SECONDS):
        raise Problem(503, "too many answers are made to give parts of", code="busy", headers={"Retry-After": "5"})
    try:
        return make()
    finally:
        _MAKING.release()


def _asked_part(request: Request, fresh: Freshness, size: int) -> range | None:
    header = request.headers.get("range")
    if header is None or request.scope.get("state", {}).get(_HEAD):
        return None  # only GET has parts
    unit, _, ranges = header.partition("=")
    same = request.headers.get("if-range", f'"{fresh.tag}"') == f'"{fresh.tag}"'
    if unit.strip().lower() != "bytes" or "," in ranges or not same:
        return None
    found = _PART.fullmatch("".join(ranges.split()))
    first, last = (found["first"], found["last"]) if found else ("", "")
    if first:
        part = range(int(first), min(int(last) + 1 if last else size, size))
    else:
        part = range(max(0, size - int(last or 0)), size)
    if not part or (first and last and int(last) < int(first)):
        detail = f"there is no range {header[:100]!r} in an answer of {size:,} bytes"
        hint = f"bytes=FIRST-LAST, bytes=FIRST- or bytes=-COUNT, of bytes 0 to {size - 1}"
        unsatisfiable = {"Content-Range": f"bytes */{size}"}
        raise Problem(416, detail, code="range-not-satisfiable", hint=hint, headers=unsatisfiable)
    return part
