"""Who may do what: bearer tokens with scopes. The repository keeps tokens as hashes; a secret is never kept or logged.

router = APIRouter(dependencies=[Reads])                 # open, or by a token with the scope read, as is set
router = APIRouter(route_class=TokenFirst)               # has routes that take a body
def publish(caller: Annotated[Caller, Security(writer, scopes=[Scope.PUBLISH])]): …
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from mixture.api.answers import BodyRequest, BodyRoute
from mixture.api.database import RunRecord, Scope, TokenRecord, token_hash
from mixture.api.dependencies.services import AppServices, Services, services_of
from mixture.api.middleware import Problem, client_of

BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="A token made by `mixture tokens create`.")
BEARER_HINT = "Authorization: Bearer TOKEN, with what `mixture tokens create` printed"
LONGEST_SECRET = 512

Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the name and id of the token."""

    name: str
    token_id: str
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Whether the token has the scope, or one that includes it: whoever may write may read."""
        return scope is Scope.READ or scope in self.scopes or (scope is Scope.RUN and Scope.RUN_ALL in self.scopes)


async def _caller(request: Request, services: AppServices, credentials: Credentials) -> Caller | None:
    """The holder of the token that came with a request; None where none came.

    Raises Problem 401: `authorization-invalid`, `token-invalid`.
    """
    state: dict[str, Any] = request.scope.setdefault("state", {})
    if "holder" in state:
        holder: Caller = state["holder"]
        return holder
    if credentials is None:
        scheme = request.headers.get("authorization", "").strip().partition(" ")[0].lower()
        # Where all may read, what a proxy or another service on this host was told is none of ours.
        is_open = services.settings.public_reads and request.method in ("GET", "HEAD")
        if scheme == "bearer" or (scheme and not is_open):
            raise _unauthorized("this is not a bearer token", "authorization-invalid", hint=BEARER_HINT)
        return None
    secret = credentials.credentials
    # Found by its hash in an index; the repository then compares hashes in constant time.
    found = await run_in_threadpool(_holder, services, secret) if len(secret) <= LONGEST_SECRET else None
    if found is None:
        hint = "was it made with this service's settings? `mixture tokens list` says which database it looks into"
        raise _unauthorized("this token is not known, or was revoked", "token-invalid", hint=hint)
    state["caller"] = found.name
    state["holder"] = made = Caller(found.name, found.id, found.scopes)
    return made


def _holder(services: Services, secret: str) -> TokenRecord | None:
    return services.repository.find_token(token_hash(secret))


PossibleCaller = Annotated[Caller | None, Depends(_caller)]


async def reader(caller: PossibleCaller, services: AppServices) -> Caller | None:
    """Lets a request read. Raises Problem: 401 `token-missing`, 403 `scope-missing` where reading is not open."""
    if services.settings.public_reads:
        return caller
    return _require(caller, Scope.READ)


async def writer(asked: SecurityScopes, caller: PossibleCaller) -> Caller:
    """Lets a request write what the route's scopes say. Raises Problem: 401 `token-missing`, 403 `scope-missing`."""
    held = caller
    for scope in asked.scopes:
        held = _require(caller, Scope(scope))
    assert held is not None, "a route that writes names its scope"
    return held


Reads = Depends(reader)
"""For `dependencies=[Reads]` of routers."""

Publisher = Annotated[Caller, Security(writer, scopes=[Scope.PUBLISH.value])]
"""`caller: Publisher` as a parameter of a route that publishes."""

Runner = Annotated[Caller, Security(writer, scopes=[Scope.RUN.value])]
"""`caller: Runner` as a parameter of a route that registers runs or reports their progress."""


class TokenFirst(BodyRoute):
    """A route whose scopes are asked for before its body is read: FastAPI reads bodies before it asks dependencies.

    What it writes is written when there is a place among the requests that write with its scope.
    """

    @asynccontextmanager
    async def turn(self, request: BodyRequest) -> AsyncIterator[None]:
        """Ask who sends a request, then read it, then wait for a place. Raises what `writer`, `read` and a place do."""
        scopes = SecurityScopes(list(_scopes(self.dependant)))
        if not scopes.scopes:
            async with super().turn(request):
                yield
            return
        services = await services_of(request)
        caller = await _caller(request, services, await BEARER(request))
        await writer(scopes, caller)
        await request.read(self)  # kept by the request: a slow one must not hold a place
        async with services.write_places[Scope(scopes.scopes[0])].place(_waits_as(request, caller)):
            yield


def _waits_as(request: Request, caller: Caller | None) -> str:
    """Who waits for itself: who publishes by its token, wherever it is; reports of a token by where they come from."""
    name = caller.name if caller else ""
    return name if caller and caller.may(Scope.PUBLISH) else f"{name} {client_of(request.scope)}"


def _scopes(dependant: Dependant) -> Iterator[str]:
    """The scopes that a route and what it depends on ask for."""
    yield from dependant.own_oauth_scopes or ()
    for dependency in dependant.dependencies:
        yield from _scopes(dependency)


def check_reports(caller: Caller, run: RunRecord) -> None:
    """Let a caller report to a run that a token of the same name registered, as one that took its place; or to all.

    Raises Problem 403 `scope-missing`.
    """
    if run.by != caller.name and not caller.may(Scope.RUN_ALL):
        detail = f"{run.by!r} registered the run {run.id}; the token of {caller.name!r} lacks the scope 'run-all'"
        raise _scope_missing(detail, Scope.RUN_ALL)


def _require(caller: Caller | None, scope: Scope) -> Caller:
    """The caller, who has the scope."""
    if caller is None:
        raise _unauthorized("this takes a token", "token-missing", hint=BEARER_HINT)
    if not caller.may(scope):
        raise _scope_missing(f"the token of {caller.name!r} lacks the scope '{scope}'", scope)
    return caller


def _scope_missing(detail: str, scope: Scope) -> Problem:
    hint = f"`mixture tokens create NAME --scope {scope}`, run at the service, makes one that has it"
    return Problem(403, detail, code="scope-missing", hint=hint, facts={"scope": scope.value})


def _unauthorized(detail: str, code: str, *, hint: str | None = None) -> Problem:
    return Problem(401, detail, code=code, hint=hint, headers={"WWW-Authenticate": "Bearer"})
