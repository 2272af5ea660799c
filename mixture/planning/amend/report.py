"""What an amendment does, in figures by domain; the same for programs, and its description field by field."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from mixture.lock import Lock
from mixture.planning.plan import Exact, FindingReport, Plan, json_value
from mixture.schedule import Schedule

HALF: Exact = {"decimal": "0.5", "ratio": "1/2"}
"""For examples."""


class AmendedDomainReport(TypedDict):
    """What an amendment does to a domain. Tokens are counted with repeats."""

    domain: Annotated[str, Field(examples=["a"])]
    tokens: Annotated[int, Field(examples=[200000], description="That it holds, or its pool.")]
    tokens_drawn: Annotated[int, Field(examples=[15360], description="By the steps before the amendment.")]
    tokens_to_come_before: Annotated[int, Field(examples=[10240], description="Without the amendment.")]
    tokens_to_come: Annotated[int, Field(examples=[20480], description="With it.")]
    epochs_before: Annotated[
        Exact | None, Field(examples=[HALF], description="Of the whole run, without the amendment.")
    ]
    epochs: Annotated[Exact | None, Field(examples=[HALF], description="Of the whole run, with it.")]
    tokens_skipped: Annotated[
        int, Field(examples=[0], description="Left out where the length changes, or text is skipped.")
    ]
    tokens_repeated: Annotated[
        int, Field(examples=[0], description="Of those to come, in an epoch after the domain's first.")
    ]


class AmendmentReport(TypedDict):
    """What an amendment does, in figures. Tokens are counted with repeats."""

    step: Annotated[int, Field(examples=[60], description="The first step that may be another.")]
    history: Annotated[str, Field(examples=["0c" * 32], description="Of both, at the step.")]
    amended: Annotated[str, Field(examples=["a3" * 32], description="The digest of the lock that is amended.")]
    steps_before: Annotated[int, Field(examples=[100], description="Of the run without the amendment.")]
    steps: Annotated[int, Field(examples=[120], description="Of the run with it.")]
    tokens_before: Annotated[int, Field(examples=[51200], description="Of the run without the amendment.")]
    tokens: Annotated[int, Field(examples=[61440], description="Of the run with it.")]
    tokens_drawn: Annotated[int, Field(examples=[30720], description="By the steps before the amendment.")]
    tokens_to_come: Annotated[int, Field(examples=[30720])]
    tokens_skipped: Annotated[
        int, Field(examples=[0], description="Left out where the length changes, or text is skipped.")
    ]
    tokens_repeated: Annotated[
        int, Field(examples=[0], description="Of those to come, in an epoch after a domain's first.")
    ]
    masks: Annotated[int, Field(examples=[0], description="How many ranges of text are taken down with it.")]
    domains: list[AmendedDomainReport]


class AmendedLockReport(AmendmentReport):
    """What an amendment does and the lock that comes of it, as `mixture amend --json` prints it."""

    lock: Annotated[str | None, Field(description="The file that it was written to; null where none was.")]
    digest: Annotated[str | None, Field(description="Of the new lock; null where it is refused.")]
    findings: Annotated[list[FindingReport], Field(description="Of the plan of the amended run, if a spec gave one.")]


@dataclass(frozen=True, slots=True)
class AmendedDomain:
    """What an amendment does to a domain. Tokens are counted with repeats.

    tokens:        those that it holds, or its pool
    drawn:         tokens that the run draws before the amendment
    to_come_before, to_come: tokens that it would have drawn from there on, and that it draws now
    epochs_before: over the whole run as it was; None for a domain that is new or has no tokens
    epochs:        over the whole run as it is now; None for a domain without tokens
    skipped:       tokens left out at hand-offs and skips of the new part
    repeated:      tokens that the new part draws in an epoch of the domain after its first
    """

    name: str
    tokens: int
    drawn: int
    to_come_before: int
    to_come: int
    epochs_before: Fraction | None
    epochs: Fraction | None
    skipped: int
    repeated: int

    @property
    def is_changed(self) -> bool:
        """Whether the domain gives anything else than it would have."""
        return self.to_come != self.to_come_before or self.epochs != self.epochs_before or self.skipped > 0


def amended_domains(old: Lock, new: Lock | Plan, step: int) -> tuple[AmendedDomain, ...]:
    """What amending a lock at a step does to each domain, in the new one's order.

    new: the lock that comes of it, or the plan, which may be one that is refused
    """
    before, after = old.schedule(), _schedule(new)
    num, fresh = len(new.data.domains), len(new.data.domains) - len(old.data.domains)
    drawn = after.tokens(step)
    whole, whole_before = after.tokens(after.steps), before.tokens(before.steps).tolist() + [0] * fresh
    repeated = after.tokens_repeated(after.steps) - after.tokens_repeated(step)
    skipped = [0] * num
    for handoff in after.handoffs():
        if handoff.first_step >= step:
            skipped = [a + b for a, b in zip(skipped, handoff.tokens_skipped, strict=True)]
    out: list[AmendedDomain] = []
    for d, domain in enumerate(new.data.domains):
        known = old.data.domains[d] if d < num - fresh else None
        held_before = known.held if known else 0
        out.append(
            AmendedDomain(
                name=domain.name,
                tokens=domain.held,
                drawn=int(drawn[d]),
                to_come_before=whole_before[d] - int(drawn[d]),
                to_come=int(whole[d] - drawn[d]),
                epochs_before=Fraction(whole_before[d], held_before) if held_before else None,
                epochs=Fraction(int(whole[d]), domain.held) if domain.held else None,
                skipped=skipped[d],
                repeated=int(repeated[d]),
            )
        )
    return tuple(out)


def _schedule(run: Lock | Plan) -> Schedule:
    return run.schedule if isinstance(run, Plan) else run.schedule()


def amended_json(old: Lock, new: Lock | Plan, step: int) -> AmendmentReport:
    """The report of an amendment. See `amended_domains`."""
    domains = amended_domains(old, new, step)
    before, after = old.schedule(), _schedule(new)
    return {
        "step": step,
        "history": after.history(step),
        "amended": old.digest,
        "steps_before": before.steps,
        "steps": after.steps,
        "tokens_before": int(before.tokens(before.steps).sum()),
        "tokens": int(after.tokens(after.steps).sum()),
        "tokens_drawn": sum(domain.drawn for domain in domains),
        "tokens_to_come": sum(domain.to_come for domain in domains),
        "tokens_skipped": sum(domain.skipped for domain in domains),
        "tokens_repeated": sum(domain.repeated for domain in domains),
        "masks": 0 if isinstance(new, Plan) else len(new.masks) - len(old.masks),
        "domains": [
            {
                "domain": domain.name,
                "tokens": domain.tokens,
                "tokens_drawn": domain.drawn,
                "tokens_to_come_before": domain.to_come_before,
                "tokens_to_come": domain.to_come,
                "epochs_before": json_value(domain.epochs_before),
                "epochs": json_value(domain.epochs),
                "tokens_skipped": domain.skipped,
                "tokens_repeated": domain.repeated,
            }
            for domain in domains
        ],
    }
