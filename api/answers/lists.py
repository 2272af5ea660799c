"""The one shape of lists: `{items, next, next_url}`, an opaque cursor, and a Link header to the next page.

A route takes `page: PageQuery`, asks for one item more than `page.limit`, and gives `page_of(items, page, key=…)`:
the cursor holds the key of the last item shown, so that what is added meanwhile neither shifts nor repeats items.
"""

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import quote

from fastapi import Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from mixture.api.middleware import Problem
from mixture.json_text import parse_json
from mixture.names import odd_character

T = TypeVar("T")
Key = str | int | list[str | int]
"""Where a page begins: behind the item with this key."""

LONGEST_CURSOR = 1024
LARGEST_NUMBER = 2**63 - 1
ALL = 2**62
"""The limit of a page that has all items."""


class Page(BaseModel, Generic[T]):
    """A page of a list. `next` is the cursor of the next page, `next_url` its address; both null on the last."""

    items: list[T]
    next: str | None = Field(None, examples=["ImRlbW8i"])
    next_url: str | None = Field(None, examples=["/v1/mixtures?limit=100&cursor=ImRlbW8i"])


class Listed(BaseModel):
    """A list as it is answered, its items plain values."""

    items: list[Any]
    next: str | None = None
    next_url: str | None = None


@dataclass(frozen=True, slots=True)
class PageAsked:
    """What a request asks of a list: at most `limit` items, behind the item with the key `after`."""

    limit: int
    after: Key | None

    @property
    def is_whole(self) -> bool:
        """Whether all items are requested, behind `after` where that is given."""
        return self.limit == ALL


def encode_cursor(key: Key) -> str:
    """An opaque cursor for a key."""
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def decode_cursor(text: str) -> Key:
    """The key in a cursor. Raises Problem 422 `bad-cursor`."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        key = parse_json(data)
    except ValueError:
        key = None
    parts = key if isinstance(key, list) else [key]
    if not parts or not all(_is_key(part) for part in parts):
        hint = "take `next` from the answer before, as it is"
        raise Problem(422, "this is not a cursor of this service", code="bad-cursor", hint=hint)
    found: Key = key
    return found


def _is_key(part: object) -> bool:
    """Whether a list can begin there: databases know no text with control characters, nor numbers without end."""
    if isinstance(part, str):
        return odd_character(part) is None
    return isinstance(part, int) and not isinstance(part, bool) and 0 <= part <= LARGEST_NUMBER


def page_query(*, limit: int, most: int) -> Callable[..., Awaitable[PageAsked]]:
    """A dependency that reads `?limit=&cursor=`; `limit` is the default, `most` the largest."""

    async def page(
        limit: Annotated[int, Query(ge=1, le=most, description="Items of one page.", examples=[limit])] = limit,
        cursor: Annotated[
            str | None,
            Query(max_length=LONGEST_CURSOR, description="`next` of the page before.", examples=["ImRlbW8i"]),
        ] = None,
    ) -> PageAsked:
        return PageAsked(limit, None if cursor is None else decode_cursor(cursor))

    return page


def table_page_query(
    *, limit: int, most: int, is_table: Callable[[Request], bool]
) -> Callable[..., Awaitable[PageAsked]]:
    """The same for a list that is a table too: whoever reads a file expects all of it, and sees no `Link` header.

    is_table: whether a request is for a table, which has all items where no `limit` is given
    """
    words = f"Items of one page. Default: {limit} in JSON; CSV, Parquet and Arrow have all items without it."

    async def page(
        request: Request,
        limit_given: Annotated[
            int | None, Query(alias="limit", ge=1, le=most, description=words, examples=[limit])
        ] = None,
        cursor: Annotated[
            str | None,
            Query(max_length=LONGEST_CURSOR, description="`next` of the page before.", examples=["ImRlbW8i"]),
        ] = None,
    ) -> PageAsked:
        default = ALL if is_table(request) else limit
        return PageAsked(limit_given or default, None if cursor is None else decode_cursor(cursor))

    return page


PageQuery = Annotated[PageAsked, Depends(page_query(limit=100, most=1000))]


def name_after(page: PageAsked) -> str | None:
    """The key of a list ordered by name. Raises Problem 422 `bad-cursor` for a cursor of another list."""
    if page.after is None or isinstance(page.after, str):
        return page.after
    raise Problem(422, "this cursor is of another list", code="bad-cursor")


def number_after(page: PageAsked) -> int | None:
    """The key of a list ordered by number. Raises Problem 422 `bad-cursor` for a cursor of another list."""
    if page.after is None or isinstance(page.after, int):
        return page.after
    raise Problem(422, "this cursor is of another list", code="bad-cursor")


def next_url(request: Request, cursor: str | None) -> str | None:
    """The address of the next page, without host: it holds behind any proxy."""
    if cursor is None:
        return None
    path = request.scope.get("state", {}).get("asked_path", request.url.path)
    return f"{quote(path, safe='/@:')}?{request.url.include_query_params(cursor=cursor).query}"


def link(url: str | None) -> dict[str, str]:
    """The Link header to the next page; none on the last."""
    return {} if url is None else {"Link": f'<{url}>; rel="next"'}


def page_of(
    items: Sequence[T], page: PageAsked, *, key: Callable[[T], Key], request: Request, more: bool = False
) -> Page[T]:
    """A page of up to `limit` items, from up to `limit + 1` that were found.

    more: whether the list goes on where fewer were found, as those that have no room on a page are not read
    """
    shown = list(items[: page.limit])
    cursor = encode_cursor(key(shown[-1])) if more or len(items) > page.limit else None
    return Page[T](items=shown, next=cursor, next_url=next_url(request, cursor))


def page_answer(page: Page[T], response: Response) -> Page[T]:
    """A page as a route's answer: it sets Link, and that the list is to be asked for again."""
    response.headers["Cache-Control"] = "no-cache"
    response.headers.update(link(page.next_url))
    return page
