"""Where a stream stands: a small JSON object, the same for all ranks and world sizes, and whether a stream may go on
from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from mixture.errors import StreamError
from mixture.json_text import digest
from mixture.schedule import Schedule
from mixture.store import StoreDescription

_Step = Annotated[int, Field(ge=0)]
_Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Content = Annotated[str, Field(pattern="^tokens:[0-9a-f]{64}$")]
_Boundary = Annotated[tuple[_Step, _Hex], Strict(False)]  # JSON has no tuples: a list of two


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AcceptedContent(_Model):
    """From `step` on a run was continued on other content than it began with, for a reason.

    content: the digest of what was expected: of the lock's domains, or of what a state had read
    """

    step: _Step
    content: _Content
    reason: Annotated[str, Field(min_length=1)]


class StreamState(_Model):
    """What a checkpoint keeps of the data.

    step:       the next step to read; a step that was begun and not finished is read again
    history:    the digest of all that decided what was read before it
    content:    the digest of the content of the domains that were weighted before it, and what it is made of
    boundaries: (step, history) where the segments and batches so far begin
    accepted:   where the content changed and that was accepted
    """

    step: _Step
    history: _Hex
    content: _Content
    boundaries: list[_Boundary]
    accepted: list[AcceptedContent] = []

    def as_dict(self) -> dict[str, Any]:
        """The state as JSON has it; `accepted` only where there is something."""
        return self.model_dump(mode="json", exclude_defaults=True)


def read_state(state: Mapping[str, Any]) -> StreamState:
    """Check a saved state's form. Raises StreamError, `state-invalid`."""
    try:
        return StreamState.model_validate(dict(state) if isinstance(state, Mapping) else state)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise StreamError(f"this is no stream's state: {where}{first['msg']}", code="state-invalid") from error


def boundaries(schedule: Schedule, step: int) -> list[tuple[int, str]]:
    """(step, history) at the starts of the segments and batches that begin before a step."""
    starts = {s.first_step for s in schedule.data.segments} | {b.first_step for b in schedule.data.batches}
    return [(start, schedule.history(start)) for start in sorted(starts) if start < step]


def content_digest(schedule: Schedule, store: StoreDescription, step: int) -> str:
    """The digest over the content digests of the domains that are weighted before a step."""
    segments = [segment for segment in schedule.data.segments if segment.first_step < step]
    return digest_of(
        {
            name: store.domains[name].content
            for d, name in enumerate(schedule.names)
            if any(segment.weights[d] for segment in segments)
        }
    )


def digest_of(contents: Mapping[str, str]) -> str:
    """`tokens:` and the SHA-256 of content digests by domain."""
    return "tokens:" + digest([*contents.items()])


def check_history(schedule: Schedule, state: StreamState) -> None:
    """Raise StreamError, `history-differs`, where this schedule did not read the same before the state's step.

    The message says between which two steps the two part.
    """
    if state.step > schedule.steps:
        raise StreamError(
            f"the state is at step {state.step}, the lock ends at step {schedule.steps}",
            code="history-differs",
            hint="resume under a lock that is at least as long",
            step=state.step,
            steps=schedule.steps,
        )
    if schedule.history(state.step) == state.history:
        return
    agreed, parted = 0, state.step
    for step, history in [*sorted(state.boundaries), (state.step, state.history)]:
        if step <= schedule.steps and schedule.history(step) == history:
            agreed = step
        else:
            parted = step
            break
    raise StreamError(
        f"the state's run and this lock part between step {agreed} and step {parted}: what was read by step "
        f"{state.step} is not what this lock reads",
        code="history-differs",
        hint="resume under the lock it was saved under, or one amended at or after that step",
        agreed=agreed,
        parted=parted,
        step=state.step,
    )
