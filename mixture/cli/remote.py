"""How commands ask a service: its address and token, answers as JSON, and problems as errors of this library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from mixture.errors import MixtureError, Place

if TYPE_CHECKING:
    import httpx

To = Annotated[str, typer.Option("--to", metavar="URL", envvar="MIXTURE_URL", help="The address of the service.")]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", envvar="MIXTURE_TOKEN", help="Better in MIXTURE_TOKEN."),
]
SECONDS = 120.0
"""How long an answer may take: a large mixture is planned by the service before it answers."""
SILENT_SECONDS = 45.0
"""How long a stream of events may say nothing: the service sends a comment every 15 seconds."""


class ServiceError(MixtureError):
    """A service refused, or could not be asked. `errors` are the single faults that it found."""

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)
        self.errors: tuple[MixtureError, ...] = (self,)


class Service:
    """A service at an address. Raises ServiceError: `service-unreachable`, `service-answer`, or a problem's code."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:  # noqa: ANN401 JSON
        """The JSON that a request gives."""
        import httpx

        with self._reached(), httpx.Client(timeout=SECONDS) as client:
            answer = client.request(
                method, f"{self._url}{path}", json=body, headers=self._headers | dict(headers or {})
            )
            return _json(answer)

    def items(self, path: str, limit: int | None = None) -> Iterator[Any]:
        """The items of a list, page by page, up to `limit`."""
        found, asked = 0, f"{path}?limit={min(limit or 1000, 1000)}"
        while asked:
            page = self.ask("GET", asked)
            for item in page["items"]:
                if found == limit:
                    return
                found += 1
                yield item
            asked = page["next_url"]

    def events(self, path: str, after: int) -> Iterator[tuple[str, Any]]:
        """The server-sent events of an address, as (event, data), from behind the one numbered `after`."""
        import httpx

        timeout = httpx.Timeout(SECONDS, read=SILENT_SECONDS)
        headers = self._headers | {"Last-Event-ID": str(after)}
        with (
            self._reached(),
            httpx.Client(timeout=timeout) as client,
            client.stream("GET", f"{self._url}{path}", headers=headers) as answer,
        ):
            if not answer.is_success:
                answer.read()
                _json(answer)
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                if line:
                    name, _, value = line.partition(":")
                    fields[name] = value.removeprefix(" ")
                elif "data" in fields:
                    yield fields.get("event", "message"), json.loads(fields["data"])
                    fields = {}

    @contextmanager
    def _reached(self) -> Iterator[None]:
        import httpx

        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ServiceError(
                f"{self._url} can not be asked: {error}", code="service-unreachable", hint="is `mixture serve` running?"
            ) from error


def in_path(text: str) -> str:
    """A text as one piece of an address."""
    return quote(text, safe="@:")


def _json(answer: httpx.Response) -> Any:  # noqa: ANN401 JSON
    """The JSON of an answer. Raises ServiceError for a problem, and for what no service of this kind answers."""
    try:
        value = answer.json()
    except ValueError:
        value = None
    if answer.is_success and value is not None:
        return value
    if not isinstance(value, dict) or "code" not in value or "detail" not in value:
        raise ServiceError(
            f"{answer.url} answers {answer.status_code} and not as a service of this kind does", code="service-answer"
        )
    error = ServiceError(value["detail"], code=value["code"], hint=value.get("hint"))
    error.facts = value.get("facts", {})
    error.errors = tuple(_single(one, error) for one in value.get("errors", ()) if one.get("line")) or error.errors
    raise error


def _single(fault: Mapping[str, Any], problem: ServiceError) -> MixtureError:
    place = Place(fault.get("in"), fault.get("line"), fault.get("column"), fault.get("pointer") or "")
    return MixtureError(fault["detail"], code=fault.get("code", problem.code), place=place, hint=fault.get("hint"))
