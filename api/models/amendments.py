"""What is said of amendments over HTTP: what comes in, what one does, and the lineage of a mixture."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from mixture.api.answers import LARGEST_NUMBER, RequestBody, VisibleText
from mixture.api.models.runs import RunIds
from mixture.api.refs import DIGEST
from mixture.lock import MaskedDocument, MaskedRange
from mixture.names import DIGEST_MARK
from mixture.planning.plan import Exact, FindingReport

LONGEST_SPEC = 4 * 2**20
MOST_MASKS = 100_000
HALF = {"decimal": "0.5", "ratio": "1/2"}

Count = Annotated[int, Field(strict=True, ge=0, le=LARGEST_NUMBER)]


class MaskedText(RequestBody):
    """Text that is taken down: tokens of a domain, or a document where the service has the text."""

    document: str | None = Field(
        None, min_length=1, max_length=10_000, examples=[None], description="The id of a document, in place of a range."
    )
    domain: str | None = Field(
        None, max_length=1000, examples=["a"], description="Of the range; of a document, null: in all domains."
    )
    first_token: Count | None = Field(None, examples=[4096], description="An offset in the domain's tokens.")
    tokens: Annotated[int, Field(strict=True, ge=1, le=LARGEST_NUMBER)] | None = Field(
        None, examples=[512], description="How many from there on."
    )
    first_step: Count | None = Field(None, examples=[None], description="From which step on; null: the amendment's.")

    @model_validator(mode="after")
    def _one_of_both(self) -> MaskedText:
        place = (self.first_token, self.tokens)
        if self.document is None and (self.domain is None or None in place):
            raise ValueError("domain, first_token and tokens are right here, or a document")
        if self.document is not None and place != (None, None):
            raise ValueError("a document is taken down whole: first_token and tokens are of a range")
        return self

    def what(self) -> MaskedDocument | MaskedRange:
        """The text that it names."""
        if self.document is not None:
            return MaskedDocument(self.document, self.domain)
        assert self.domain is not None, "refused above"
        assert self.first_token is not None, "refused above"
        assert self.tokens is not None, "refused above"
        return MaskedRange(self.domain, self.first_token, self.tokens)


class NewAmendment(RequestBody):
    """From a step on a run is another one. What comes before stays as it is in the lock that is amended."""

    base: str = Field(
        max_length=300,
        examples=[f"small{DIGEST_MARK}{DIGEST}"],
        description="The lock that is amended, name@sha256:…, as `ref` of GET /v1/mixtures/NAME says it; under the "
        "same name, what that points to now. With `dry_run` the name alone is right, too.",
    )
    step: Count = Field(examples=[60], description="The first step that may be another.")
    spec: str | None = Field(
        None,
        max_length=LONGEST_SPEC,
        examples=[None],
        description="The text of a spec of the whole run, of which the part from the step on counts; null: that of "
        "the lock that is amended goes on.",
    )
    tables: dict[str, str] = Field(
        default_factory=dict,
        examples=[{}],
        description="The tables that the spec names, as in publishing; those that are not given are of the base.",
    )
    skip_steps: Count = Field(0, examples=[0], description="So many steps' worth of text is left out at the step.")
    masks: list[MaskedText] = Field(default_factory=list, max_length=MOST_MASKS, description="Text that is taken down.")
    reason: VisibleText | None = Field(None, min_length=1, max_length=2000, examples=["a loss spike"])
    keep_weights: bool = Field(
        False,
        strict=True,
        examples=[False],
        description="Rules of the spec that are fitted to the tokens of a phase (`curve`, `unimax`) are not fitted "
        "again: phases that the lock has keep its weights.",
    )
    dry_run: bool = Field(False, strict=True, examples=[True], description="Only say what it does; nothing is kept.")
    leaves_runs: RunIds = Field(default_factory=list)

    @model_validator(mode="after")
    def _keys_of_a_spec(self) -> NewAmendment:
        if self.tables and self.spec is None:
            raise ValueError("tables are those of a spec, and there is none")
        if self.keep_weights and self.spec is None:
            raise ValueError("keep_weights is for a spec: without one the weights stay as they are")
        return self


class AmendedDomainShown(BaseModel):
    """What an amendment does to a domain. Tokens are counted with repeats."""

    domain: str = Field(examples=["a"])
    tokens: int = Field(examples=[200000])
    tokens_drawn: int = Field(examples=[15360], description="By the steps before the amendment.")
    tokens_to_come_before: int = Field(examples=[10240], description="Without the amendment.")
    tokens_to_come: int = Field(examples=[20480])
    epochs_before: Exact | None = Field(examples=[HALF], description="Of the whole run, without the amendment.")
    epochs: Exact | None = Field(examples=[HALF], description="Of the whole run, with it.")
    tokens_skipped: int = Field(examples=[0], description="Left out where the length changes, or text is skipped.")
    tokens_repeated: int = Field(examples=[0], description="Of those to come, in an epoch after the domain's first.")


class AmendmentMade(BaseModel):
    """What an amendment does, in figures, and the lock that comes of it."""

    name: str = Field(examples=["small"])
    digest: str = Field(examples=[DIGEST], description="Of the new lock: SHA-256, lower-case hex.")
    ref: str = Field(examples=[f"small{DIGEST_MARK}{DIGEST}"], description="Its address for good, once it is kept.")
    published: bool = Field(examples=[False], description="Whether the name points to it now.")
    batches: bool = Field(
        examples=[True],
        description="Whether a store of this service holds the text of its domains: without one, there are no batches.",
    )
    step: int = Field(examples=[60])
    parts_at: int = Field(
        examples=[60],
        description="The step at which the two locks part: checkpoints up to it go on under the new one.",
    )
    history: str = Field(examples=["0c" * 32], description="Of both, at the step.")
    amended: str = Field(examples=["a3" * 32], description="The digest of the lock that is amended.")
    steps_before: int = Field(examples=[100])
    steps: int = Field(examples=[120])
    tokens_before: int = Field(examples=[51200])
    tokens: int = Field(examples=[61440])
    tokens_drawn: int = Field(examples=[30720])
    tokens_to_come: int = Field(examples=[30720])
    tokens_skipped: int = Field(examples=[0])
    tokens_repeated: int = Field(examples=[0])
    masks: int = Field(examples=[0], description="How many ranges of text are taken down with it.")
    domains: list[AmendedDomainShown]
    findings: list[FindingReport] = Field(description="What the plan of the amended run found, as in GET …/plan.")


class CountPair(BaseModel):
    """A figure before a step and from it on."""

    before: int = Field(examples=[4096])
    after: int = Field(examples=[16384])


class MoverShown(BaseModel):
    """A domain whose token share changed."""

    domain: str = Field(examples=["web"])
    before: Exact = Field(examples=[HALF])
    after: Exact = Field(examples=[HALF])


class ChangeShown(BaseModel):
    """What the lock does otherwise from a step on."""

    sequence_length: CountPair
    batch_sequences: CountPair
    half_l1: Exact = Field(examples=[HALF], description="How far the weights moved, 0 to 1.")
    domains_moved: int = Field(examples=[2])
    weights_until: int = Field(examples=[100], description="Up to which step the weights from there on hold.")
    movers: list[MoverShown] = Field(description="Those that moved most, the largest change first.")
    skip_sequences: int = Field(examples=[0])
    tokens_skipped: int = Field(examples=[0], description="Left out there, at a hand-off or by a skip.")
    masked_tokens: int = Field(examples=[0], description="Taken down from there on.")
    masked_domains: int = Field(examples=[0])


class BoundaryShown(BaseModel):
    """A step behind an amendment's at which the run changes."""

    step: int = Field(examples=[80])
    phase: str | None = Field(examples=["late"], description="That begins there.")
    began: int | None = Field(examples=[None], description="Where the phase began in the amended lock, if elsewhere.")
    change: ChangeShown


class DroppedPhase(BaseModel):
    """A phase of the amended lock that is no more."""

    phase: str = Field(examples=["late"])
    first_step: int = Field(examples=[80])


class AmendmentShown(BaseModel):
    """One amendment of a lineage."""

    number: int = Field(examples=[1], description="From 1, the oldest first.")
    step: int = Field(examples=[60])
    amended: str = Field(examples=["a3" * 32], description="Digest of the lock that was amended.")
    made: str = Field(examples=[DIGEST], description="Digest of the lock that came of it.")
    history: str = Field(examples=["0c" * 32], description="Of both, at the step.")
    reason: str | None = Field(examples=["a loss spike"])
    steps_before: int = Field(examples=[100])
    steps: int = Field(examples=[120])
    domains_added: list[str] = Field(examples=[[]])
    keep_weights: bool = Field(
        examples=[False], description="Whether weights that a rule would have fitted again were kept."
    )
    change: ChangeShown | None = Field(
        description="Null where the run begins or ends at the step, or another amendment replaced it there."
    )
    later: list[BoundaryShown] = Field(
        description="Up to the next amendment's step: what the amended lock does not have, or, where that is not here, "
        "what there is."
    )
    dropped: list[DroppedPhase] = Field(examples=[[]])
    superseded_by: int | None = Field(
        examples=[None], description="The later amendment that takes over at this step or before it."
    )
    replaced_by: int | None = Field(examples=[None], description="The last later amendment at the very step.")
    void: bool = Field(examples=[False], description="Whether a later amendment left nothing of it.")
    parts_at: int | None = Field(
        examples=[60], description="Where the mixture parts from the amended lock; null where that was not looked at."
    )
    words: list[str] = Field(examples=[["A step has 4 sequences and no longer 8."]], description="The same, to read.")
    url: str | None = Field(
        examples=[f"/v1/mixtures/small{DIGEST_MARK}{DIGEST}"], description="Of the amended mixture, where it is here."
    )


class ResumableShown(BaseModel):
    """Whose checkpoints go on under the lock."""

    lock: str = Field(examples=[DIGEST])
    up_to_step: int = Field(examples=[60])
    own: bool = Field(examples=[False], description="Whether they are the lock's own, which go on at any step.")


class LockVersion(BaseModel):
    """What the name led to, from then on."""

    revision: int = Field(examples=[2])
    digest: str = Field(examples=[DIGEST])
    at: datetime = Field(examples=["2026-03-01T12:00:00Z"])
    by: str | None = Field(examples=["release-bot"])
    in_lineage: bool = Field(examples=[True], description="Whether the lock is this one, or one that it came from.")
    url: str = Field(examples=[f"/v1/mixtures/small{DIGEST_MARK}{DIGEST}"])


class Lineage(BaseModel):
    """Where a lock came from: its amendments, the checkpoints that go on under it, and the versions of its name."""

    name: str = Field(examples=["small"])
    digest: str = Field(examples=[DIGEST])
    steps: int = Field(examples=[120])
    masked_tokens: int = Field(examples=[0])
    amendments: list[AmendmentShown] = Field(description="The oldest first; empty for a lock that amends nothing.")
    resumable: list[ResumableShown]
    versions: list[LockVersion] = Field(description="The newest first, up to 1,000; /moves has all of them.")
