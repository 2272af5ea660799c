"""/v1/mixtures/{ref}/batches: the tokens that a rank reads, streamed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from mixture.api.answers import Format, only, wrong_query
from mixture.api.batches import BatchesResponse, Frames, open_steps
from mixture.api.dependencies import AppServices, AskedMixture, Reads
from mixture.api.middleware import problems
from mixture.errors import StreamError
from mixture.stream import MOST_STEPS, StreamOptions

router = APIRouter(prefix="/v1/mixtures", tags=["batches"], dependencies=[Reads])
LARGEST = 2**63 - 1

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": (
            "An Arrow IPC stream: step, position, domain, epoch, first_token, input_ids; with `documents` the lists "
            "document (its number within its domain) and document_end (within the row), and document_closed (whether a "
            "document ends with the row) too. Where the lock takes text down, a list `masked` says which tokens were, "
            "from their step on: the end of a document stands in their place, and no loss is to be taken there. A step "
            "is one or more record batches; the last one's message has the metadata `mixture.step`, `mixture.rows` and "
            "`mixture.checksum`. "
            "A record batch without rows ends the stream: `mixture.end` is `complete`, `stopping` or `failed`, and "
            "`mixture.next_step` is where to go on. A body without it was cut."
        ),
        "content": {Format.ARROW.value: {"schema": {"type": "string", "format": "binary"}}},
    },
    **problems.documented(404, 409, 429, 503),
}


@router.get(
    "/{ref}/batches",
    dependencies=[only(Format.ARROW.value)],
    response_class=Response,
    responses=STREAMED,
)
def stream_batches(
    asked: AskedMixture,
    services: AppServices,
    first_step: Annotated[int, Query(ge=0, le=LARGEST, examples=[15258])] = 0,
    last_step: Annotated[
        int | None,
        Query(
            ge=0,
            le=LARGEST,
            examples=[15259],
            description=f"The last step, or the end of the run where that comes first; default: `first_step`. At most "
            f"{MOST_STEPS:,} steps.",
        ),
    ] = None,
    rank: Annotated[int, Query(ge=0, le=LARGEST, examples=[3])] = 0,
    world_size: Annotated[int, Query(ge=1, le=LARGEST, examples=[8], description="The number of ranks.")] = 1,
    *,
    next_token: Annotated[
        bool, Query(description="One token more a row: the one that follows. Rows begin where they did.")
    ] = False,
    documents: Annotated[
        bool,
        Query(description="Say where documents begin and end in each row: document, document_end, document_closed."),
    ] = False,
    uneven: Annotated[
        bool, Query(description="Let ranks differ by one row where the batch can not be shared.")
    ] = False,
) -> Response:
    """The rows of one rank, step by step, as fast as they are taken.

    `mixture.client.open_remote_stream` reads this, checks it, and goes on by itself where it was cut.
    """
    mixture = asked.mixture
    last = first_step if last_step is None else last_step
    if last < first_step:
        raise wrong_query("last_step", f"first_step {first_step} comes after last_step {last}", "bad-range")
    try:
        store = asked.store()
        options = StreamOptions(
            rank=rank, world_size=world_size, first_step=first_step, next_token=next_token, documents=documents,
            uneven=uneven,
        )  # fmt: skip
        opened = open_steps(mixture.lock, store, options)
    except StreamError as error:
        raise problems.problem_of(error, status=409 if error.code == "batch-not-divisible" else None) from error
    end = min(last + 1, opened.steps)
    if end - first_step > MOST_STEPS:
        detail = f"{end - first_step:,} steps are more than {MOST_STEPS:,}, as many as one answer has"
        raise wrong_query("last_step", detail, "bad-range", hint="request several ranges")
    return BatchesResponse(Frames(opened, end, services.metrics, mixture=mixture.name), services)
