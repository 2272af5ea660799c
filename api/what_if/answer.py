"""What a what-if is answered with: figures of the plan, those of before beside them, and the spec that gives them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from mixture.api.refs import DIGEST
from mixture.api.registry import LoadedMixture
from mixture.planning.plan import Exact, FindingReport, finding_json, fraction_of, tokens_over_cap
from mixture.planning.whatif import WhatIf


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class WhatIfPhase(_Frozen):
    """A phase as it would be."""

    phase: str = Field(examples=["pretraining"])
    first_step: int = Field(examples=[0])
    steps: int = Field(examples=[15259])
    steps_before: int = Field(examples=[15259], description="Of the mixture as it is.")
    tokens: int = Field(examples=[16000221184])
    tokens_before: int = Field(examples=[16000221184])
    batch_sequences: int = Field(examples=[512])
    sequence_length: int = Field(examples=[2048])


LAID = ("first_step", "steps", "tokens", "batch_sequences", "sequence_length")


class WhatIfDomain(_Frozen):
    """A domain as it would be read over the run, and as the mixture reads it."""

    domain: str = Field(examples=["books"])
    tokens: int = Field(examples=[1904000000])
    weights: tuple[float, ...] = Field(examples=[[0.0567, 0.0775]], description="By phase, in order of phases.")
    tokens_drawn: int = Field(examples=[1217536000])
    tokens_drawn_before: int = Field(examples=[1217536000])
    epochs: float | None = Field(examples=[0.639])
    epochs_before: float | None = Field(examples=[0.639])
    max_epochs: float | None = Field(examples=[4.0])
    tokens_missing: int = Field(
        examples=[0], description="That it would have to hold more to be read no oftener than it may."
    )


class WhatIfAnswer(_Frozen):
    """A changed spec, planned. Nothing of it is kept."""

    name: str = Field(examples=["demo"])
    digest: str = Field(examples=[DIGEST], description="Of the lock of the mixture that was changed.")
    lockable: bool = Field(examples=[True], description="False where there is an error that the spec does not accept.")
    steps: int = Field(examples=[19073])
    sequences: int = Field(examples=[8788992])
    tokens: int = Field(examples=[19999490048])
    phases: tuple[WhatIfPhase, ...]
    domains: tuple[WhatIfDomain, ...]
    findings: tuple[FindingReport, ...]
    said: tuple[str, ...] = Field(
        examples=[["phase 'pretraining': the other 8 weighed domains were 94.3% together and are 90%: …"]],
        description="What became of the shares that were not asked for. Nothing is renormalised without a line here.",
    )
    spec: str = Field(
        examples=["mixture: demo\nseed: 0\n…"], description="The changed spec: `mixture plan` gives the same."
    )


def what_if_answer(mixture: LoadedMixture, found: WhatIf) -> WhatIfAnswer:
    """The answer, made of a plan."""
    plan, before = found.plan, mixture.plan_json
    drawn = {domain["domain"]: domain for domain in before["domains"]}
    phases = {phase["phase"]: phase for phase in before["phases"]}
    return WhatIfAnswer(
        name=mixture.name,
        digest=mixture.digest,
        lockable=not plan.refusals,
        steps=plan.steps,
        sequences=plan.sequences,
        tokens=plan.tokens,
        phases=tuple(
            WhatIfPhase(
                phase=one.name,
                steps_before=phases[one.name]["steps"],
                tokens_before=phases[one.name]["tokens"],
                **{name: getattr(one.laid, name) for name in LAID},
            )
            for one in plan.phases
        ),
        domains=tuple(
            WhatIfDomain(
                domain=one.name,
                tokens=one.tokens,
                weights=tuple(float(phase.shares[d]) for phase in plan.phases),
                tokens_drawn=one.tokens_drawn,
                tokens_drawn_before=drawn[one.name]["tokens_drawn"],
                epochs=None if one.epochs is None else float(one.epochs),
                epochs_before=_number(drawn[one.name]["epochs"]),
                max_epochs=None if one.max_epochs is None else float(one.max_epochs),
                tokens_missing=tokens_over_cap(one.tokens_drawn, one.tokens, one.max_epochs),
            )
            for d, one in enumerate(plan.domains)
        ),
        findings=tuple(finding_json(finding) for finding in plan.findings),
        said=found.remarks,
        spec=found.spec_text,
    )


def _number(figure: Exact | None) -> float | None:
    return None if figure is None else float(fraction_of(figure))
