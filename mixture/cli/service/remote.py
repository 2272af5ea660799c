"""What commands that ask a service share: its address and token, pages of lists, and what to do where it refuses."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer

from mixture.errors import ServiceError

if TYPE_CHECKING:
    from mixture.client.service import Service

Url = Annotated[
    str, typer.Option("--url", metavar="URL", envvar="MIXTURE_URL", help="The service, as http://127.0.0.1:8000.")
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", envvar="MIXTURE_TOKEN", help="Better in MIXTURE_TOKEN."),
]
Patience = Annotated[
    float, typer.Option("--patience", min=0, metavar="SECONDS", help="How long a service that is away is waited for.")
]
ANSWER_SECONDS = 120.0
"""How long an answer may take: a large mixture is planned by the service before it answers."""
PAGE = 1000
DIGEST_DIGITS = 64


def digest_of(text: str) -> str | None:
    """The hex of a digest with or without `sha256:`, None for what is none."""
    digits = text.strip().lower().removeprefix("sha256:")
    return digits if len(digits) == DIGEST_DIGITS and set(digits) <= set(string.hexdigits) else None


class Scope(StrEnum):
    """What a command's token has to let it do."""

    READ = "read"
    PUBLISH = "publish"
    RUN = "run"


def service_at(url: str, token: str | None) -> Service:
    """The service at an address, asked once. Raises ServiceError `url-invalid`, `token-invalid`."""
    from mixture.client.address import service_address
    from mixture.client.service import Service

    return Service(service_address(url), token, ANSWER_SECONDS, patience_seconds=0)


@contextmanager
def explained(scope: Scope) -> Iterator[None]:
    """Say in a ServiceError what somebody at a command line can do, as where a token comes from."""
    try:
        yield
    except ServiceError as error:
        if error.code == "token-missing":
            made = f"`mixture tokens create NAME --scope {scope}`, run at the service, makes one"
            error.hint = f"--token or MIXTURE_TOKEN; {made}"
        if error.code == "service-unreachable":
            error.hint = "is `mixture serve` running there?"
        raise


def items(
    service: Service, path: str, *, limit: int | None = None, query: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """The items of a list, page by page, up to `limit`."""
    asked_for = {"limit": str(min(limit or PAGE, PAGE)), **(query or {})}
    found, asked = 0, f"{path}?{urlencode(asked_for)}"
    while asked:
        page = service.ask("GET", asked)
        for item in page["items"]:
            if found == limit:
                return
            found += 1
            yield item
        asked = page["next_url"]
