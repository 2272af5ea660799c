"""/v1/runs/{id}/events: a run's log as server-sent events, as it grows, through whichever copy of the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from mixture.api.answers import LARGEST_NUMBER, only
from mixture.api.database import RunRecord
from mixture.api.dependencies import AppServices, Reads
from mixture.api.middleware import Work, client_of, problems, threads_of
from mixture.api.routes.runs import RunId, progress_shown
from mixture.api.routes.runs import router as runs

router = APIRouter(prefix=runs.prefix, tags=["runs"])
ENTRIES = 200
RETRY_MILLISECONDS = 2000
EVENTS = "text/event-stream"
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The log, as it grows: the data of an event `progress` is a report.",
        "content": {
            EVENTS: {
                "itemSchema": {
                    "properties": {
                        "event": {"enum": ["progress", "reset", "end"]},
                        "data": {
                            "contentMediaType": "application/json",
                            "contentSchema": {"$ref": "#/components/schemas/Progress"},
                        },
                    }
                }
            }
        },
    }
}


def known_run(run_id: RunId, services: AppServices) -> RunRecord:
    """A run that there is: said before the stream begins. Raises RepositoryError, `unknown-run`."""
    return services.repository.run(run_id)


async def stream_place(request: Request, services: AppServices) -> AsyncIterator[None]:
    """One of the streams that this client may have open, until it ends. Waits for nothing, and takes no thread."""
    with services.streams.place(client_of(request.scope)):
        yield


@router.get(
    "/{run_id}/events",
    dependencies=[Reads, only(EVENTS), Depends(stream_place)],
    response_class=EventSourceResponse,
    responses={**STREAMED, **problems.documented(404, 429, 503)},
)
async def stream_run_events(
    run: Annotated[RunRecord, Depends(known_run)],
    services: AppServices,
    after: Annotated[
        int, Query(ge=0, le=LARGEST_NUMBER, description="Begin behind this number of the log.", examples=[0])
    ] = 0,
    last_event_id: Annotated[
        int | None,
        Header(
            ge=0,
            le=LARGEST_NUMBER,
            description="Sent by a browser that connects again; goes before `after`.",
            examples=[1530],
        ),
    ] = None,
) -> AsyncIterator[ServerSentEvent]:
    """The run's log: an event `progress` a report, whose id is its number; goes on as reports come in.

    An event `end` says that this copy of the service is ending: connect again, with Last-Event-ID, and nothing is
    missed. An event `reset` says that the log has no such number, as one that was put back from a copy: it then comes
    from its beginning. A comment comes every 15 seconds while there is nothing to say.
    """
    seen = after if last_event_id is None else last_event_id
    watch, repository = services.log_watch, services.repository
    yield ServerSentEvent(retry=RETRY_MILLISECONDS, comment=f"behind {seen}")
    if seen > run.last_seq:
        yield ServerSentEvent(data={"reason": f"the log ends at {run.last_seq}"}, event="reset")
        seen = 0
    while not services.stopping.is_set():
        ask = partial(repository.progress, run.id, after=seen, limit=ENTRIES)
        entries = await anyio.to_thread.run_sync(ask, limiter=threads_of(Work.LOGS))
        for entry in entries:
            yield ServerSentEvent(data=progress_shown(entry), event="progress", id=str(entry.seq))
            seen = entry.seq
        if not entries and not await watch.grown(run.id, seen):
            break
    yield ServerSentEvent(data={"reason": "this copy of the service is ending"}, event="end")
