"""/assets/…: the files that pages load."""

from __future__ import annotations

from pathlib import PurePath

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from mixture.api.middleware import Freshness, Lifetime, not_modified, tag_of
from mixture.api.pages.assets import KINDS, assets

router = APIRouter(tags=["assets"])


@router.get("/assets/{name}")
def asset(name: str, request: Request) -> Response:
    """A file of the pages."""
    data = assets().get(name)
    if data is None:
        raise HTTPException(404)
    fresh = Freshness(tag_of(data.hex()), Lifetime.SHORT)
    known = not_modified(request, fresh)
    return known or Response(data, headers=fresh.headers(request), media_type=KINDS[PurePath(name).suffix])
