"""Where a stream stands: a small JSON object, the same for all ranks and world sizes, and whether a stream may go on
from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from mixture.data.layout import ContentKind, StoreDescription
from mixture.errors import StreamError
from mixture.json_text import digest
from mixture.schedule import Schedule

_Step = Annotated[int, Field(ge=0)]
_Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Content = Annotated[str, Field(pattern="^(tokens|files):[0-9a-f]{64}$")]
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
    content:    the digest of the content of the domains that were weighted before it and of the masks that began, and
                what it is made of (`content_digest`)
    boundaries: (step, history) where the segments and batches so far begin
    masks:      the digest of the masks that began before it (`Masks.digest`), which is inside `content` and stands here
                so that a refusal can say what differs; None where none had
    accepted:   where the content changed and that was accepted
    """

    step: _Step
    history: _Hex
    content: _Content
    boundaries: list[_Boundary]
    masks: _Hex | None = None
    accepted: list[AcceptedContent] = []

    def as_dict(self) -> dict[str, Any]:
        """The state as JSON has it; `masks` and `accepted` only where there is something."""
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
    return [(start, schedule.history(start)) for start in schedule.data.boundaries if start < step]


def content_digest(schedule: Schedule, store: StoreDescription, step: int, masks: str | None) -> str:
    """The digest over the content digests of the domains that are weighted before a step, and the masks of before it.

    masks: the digest of those that begin before the step (`Masks.digest`), None where none does

    It is `tokens:`, or `files:` where a domain's content is that of files read in place, and the SHA-256 of the
    canonical JSON of a list: [name, content] a domain, in the lock's order, and behind them, where there are masks,
    [their digest].
    """
    read = [schedule.names[d] for d in schedule.data.drawn_before(step)]
    return digest_of({name: store.domains[name].content for name in read}, masks, kind=kind_of(store, read))


def kind_of(store: StoreDescription, names: Iterable[str]) -> ContentKind:
    """What content digests of these domains are made of: of tokens, where that is so of all of them."""
    kinds = {store.domains[name].kind for name in names if name in store.domains}
    return ContentKind.FILES if ContentKind.FILES in kinds else ContentKind.TOKENS


def digest_of(contents: Mapping[str, str], masks: str | None = None, *, kind: ContentKind = ContentKind.TOKENS) -> str:
    """The kind, and the SHA-256 of content digests by domain, and of the digest of masks where there is one."""
    return f"{kind}:{digest([*contents.items(), *([] if masks is None else [[masks]])])}"


def content_differs(schedule: Schedule, store: StoreDescription, state: StreamState, found: str) -> StreamError:
    """The refusal of a state of other content than what is here: of other text, or of the same with other masks."""
    if state.content == content_digest(schedule, store, state.step, state.masks):
        message = (
            f"the masks are not those under which the state was saved: text that was taken down before step "
            f"{state.step} in the one was read in the other"
        )
        hint = (
            f"resume under the lock it was saved under, or one that takes down more from step {state.step} on, or open "
            "this one with accept_content='a reason'"
        )
    else:
        message = (
            f"the store's content is not what was read before step {state.step}: {found} here, {state.content} in the "
            "state"
        )
        hint = "open the store that the run began with, or open this one with accept_content='a reason'"
    return StreamError(message, code="content-differs", hint=hint, found=found, expected=state.content)


def check_history(schedule: Schedule, state: StreamState) -> None:
    """Raise StreamError, `history-differs`, where this schedule did not read the same before the state's step.

    The message says between which two steps the two part.
    """
    if state.step > schedule.steps:
        raise StreamError(
            f"the state is at step {state.step:,}, the lock ends at step {schedule.steps:,}",
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
        f"the state's run and this lock part between step {agreed:,} and step {parted:,}: what was read by step "
        f"{state.step:,} is not what this lock reads",
        code="history-differs",
        hint="resume under the lock it was saved under, or one amended at or after that step",
        agreed=agreed,
        parted=parted,
        step=state.step,
    )
