"""What an amendment does, in figures by domain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mixture.lock import Lock
from mixture.planning.plan import Plan, json_value
from mixture.schedule import Schedule


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


def amended_json(old: Lock, new: Lock | Plan, step: int) -> dict[str, object]:
    """The amendment as JSON has it: the runs' figures, those to come, and `domains`. See `amended_domains`."""
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
