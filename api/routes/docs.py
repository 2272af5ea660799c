"""/docs and /openapi.json: the description of the service, to read and to try. Nothing is loaded from other hosts."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

router = APIRouter(tags=["service"], include_in_schema=False)

ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon.png": "image/png",
}
"""Files of Swagger UI that the package fastapi-offline holds, and their kinds."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The page's own files, the styles that Swagger UI writes into its elements, and requests to this service."""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mixture: API</title>
<link rel="icon" href="docs/favicon.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<noscript>This page needs JavaScript; the description itself is <a href="openapi.json">openapi.json</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
START = """\
SwaggerUIBundle({
  url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, tryItOutEnabled: true, validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis], layout: "BaseLayout",
});
"""
KEPT = {"Cache-Control": "public, max-age=3600"}


@router.get("/openapi.json")
def description(request: Request) -> JSONResponse:
    """The description of the service, OpenAPI 3.1."""
    return JSONResponse(request.app.openapi(), headers={"Cache-Control": "public, max-age=60"})


@router.get("/docs")
def page() -> HTMLResponse:
    """The description to read and to try."""
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": POLICY, "Cache-Control": "public, max-age=60"})


@router.get("/docs/start.js")
def start() -> Response:
    """What starts Swagger UI: a file, since the page runs no script that stands in it."""
    return Response(START, headers=KEPT, media_type="text/javascript")


@router.get("/docs/{name}")
def asset(name: str) -> Response:
    """A file of Swagger UI."""
    if name not in ASSETS:
        raise HTTPException(404)
    data = files("fastapi_offline").joinpath("static", name).read_bytes()
    return Response(data, headers=KEPT, media_type=ASSETS[name])
