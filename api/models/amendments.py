"""What is said of amendments over HTTP: what comes in, what one does, and the lineage of a mixture."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from mixture.api.answers import LARGEST_NUMBER, RequestBody, VisibleText
from mixture.api.models.runs import RunIds
from mixture.api.refs import DIGEST
from mixture.lock import MaskedDocument, MaskedRange
from mixture.names import DIGEST_MARK
from mixture.planning.amend import AmendmentReport
from mixture.planning.explain import ExplainedAmendment, ResumableReport
from mixture.planning.plan import FindingReport

LONGEST_SPEC = 4 * 2**20
MOST_MASKS = 100_000

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


class AmendmentMade(AmendmentReport):
    """What an amendment does, in figures, and the lock that comes of it."""

    name: Annotated[str, Field(examples=["small"])]
    digest: Annotated[str, Field(examples=[DIGEST], description="Of the new lock: SHA-256, lower-case hex.")]
    ref: Annotated[
        str, Field(examples=[f"small{DIGEST_MARK}{DIGEST}"], description="Its address for good, once it is kept.")
    ]
    published: Annotated[bool, Field(examples=[False], description="Whether the name points to it now.")]
    batches: Annotated[
        bool,
        Field(
            examples=[True],
            description="Whether a store of this service holds the text of its domains: without one, there are no "
            "batches.",
        ),
    ]
    parts_at: Annotated[
        int,
        Field(
            examples=[60],
            description="The step at which the two locks part: checkpoints up to it go on under the new one.",
        ),
    ]
    findings: Annotated[
        list[FindingReport], Field(description="What the plan of the amended run found, as in GET …/plan.")
    ]


class LineageAmendment(ExplainedAmendment):
    """One amendment of a lineage."""

    words: Annotated[
        list[str], Field(examples=[["A step has 4 sequences and no longer 8."]], description="The same, to read.")
    ]
    url: Annotated[
        str | None,
        Field(
            examples=[f"/v1/mixtures/small{DIGEST_MARK}{DIGEST}"],
            description="Of the amended mixture, where it is here.",
        ),
    ]


class LockVersion(TypedDict):
    """What the name led to, from then on."""

    revision: Annotated[int, Field(examples=[2])]
    digest: Annotated[str, Field(examples=[DIGEST])]
    at: Annotated[str, Field(examples=["2026-03-01T12:00:00Z"], json_schema_extra={"format": "date-time"})]
    by: Annotated[str | None, Field(examples=["release-bot"])]
    in_lineage: Annotated[
        bool, Field(examples=[True], description="Whether the lock is this one, or one that it came from.")
    ]
    url: Annotated[str, Field(examples=[f"/v1/mixtures/small{DIGEST_MARK}{DIGEST}"])]


class Lineage(TypedDict):
    """Where a lock came from: its amendments, the checkpoints that go on under it, and the versions of its name."""

    name: Annotated[str, Field(examples=["small"])]
    digest: Annotated[str, Field(examples=[DIGEST])]
    steps: Annotated[int, Field(examples=[120])]
    masked_tokens: Annotated[int, Field(examples=[0])]
    amendments: Annotated[
        list[LineageAmendment], Field(description="The oldest first; empty for a lock that amends nothing.")
    ]
    resumable: list[ResumableReport]
    versions: Annotated[list[LockVersion], Field(description="The newest first, up to 1,000; /moves has all of them.")]
