"""Addresses as people say them: of a service, and of a mixture at one."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from mixture.errors import ServiceError

API = "/v1"
MIXTURES = f"{API}/mixtures"
RIGHT_SERVICE, RIGHT_MIXTURE = "http://HOST:PORT", f"http://HOST:PORT{MIXTURES}/NAME"


def service_address(url: str) -> str:
    """`http://HOST:PORT` of what may lack http:// or end in / or /v1. Raises ServiceError `url-invalid`."""
    parts = _parts(url, RIGHT_SERVICE)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(API).rstrip('/')}"


def mixture_address(url: str) -> str:
    """`http://HOST:PORT/v1/mixtures/NAME` of what may lack http://. Raises ServiceError `url-invalid`."""
    parts = _parts(url, RIGHT_MIXTURE)
    path = parts.path.rstrip("/")
    before, found, name = path.rpartition(f"{MIXTURES}/")
    if not found or "/" in name:
        mixtures = f"{parts.scheme}://{parts.netloc}{path.partition(API)[0]}{MIXTURES}"
        raise _invalid(url, "is no address of a mixture", f"{RIGHT_MIXTURE} is right here; {mixtures} lists them")
    return f"{parts.scheme}://{parts.netloc}{before}{found}{name}"


def _parts(url: str, right: str) -> SplitResult:
    text = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of brackets and ports that are none
        is_address = False
    if not is_address or parts.query or parts.fragment or any(character.isspace() for character in text):
        raise _invalid(url, "is no address of a service", f"{right} is right here")
    return parts


def _invalid(url: str, what: str, hint: str) -> ServiceError:
    return ServiceError(f"{url!r} {what}", code="url-invalid", hint=hint)
