"""A plan: a spec and its catalog worked out to steps, sequences, tokens and epochs, with what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from shlex import quote

from mixture.errors import PlanError
from mixture.lock import Amendment, LockPhase, goes_on, goes_on_as_locked, joined
from mixture.planning.catalog import Catalog
from mixture.planning.plan.amended.past import joined_phases, past_of
from mixture.planning.plan.amended.weights import as_locked, moved_weights, weigh_as_locked
from mixture.planning.plan.draft import Run, draft_of
from mixture.planning.plan.findings.finding import LEVELS, NEVER_ACCEPTED, Finding, Level
from mixture.planning.plan.findings.run import budget_mismatch, changed_steps
from mixture.planning.plan.inputs import Inputs, read_inputs
from mixture.planning.plan.integer_weights import integer_weights
from mixture.planning.plan.planned import PlannedDomain, PlannedPhase
from mixture.planning.plan.segments import schedule_data
from mixture.planning.plan.spec_digest import spec_digest
from mixture.planning.plan.summaries import summarized
from mixture.planning.plan.weights.weights import weigh
from mixture.planning.spec import Spec
from mixture.schedule import Schedule, ScheduleData
from mixture.wording import counted


@dataclass(frozen=True, slots=True)
class Plan:
    """What a spec and a catalog come to. Its figures are those of the schedule: planned equals drawn.

    domains:   what a run may draw from, in the catalog's order; held-out domains are not there
    findings:  errors first, then warnings, then notes
    data:      the fields of the schedule; a lock is made of them
    amends:    what it is an amendment of; then phases, domains and figures are of the whole amended run
    """

    spec: Spec
    inputs: Inputs = field(repr=False)
    tokenizer: str | None
    phases: tuple[PlannedPhase, ...]
    domains: tuple[PlannedDomain, ...]
    findings: tuple[Finding, ...]
    data: ScheduleData
    spec_digest: str
    schedule: Schedule = field(repr=False, compare=False)
    amends: Amendment | None = field(default=None, repr=False)

    @property
    def catalog(self) -> Catalog:
        """The spec's catalog."""
        return self.inputs.catalog

    @property
    def lock_phases(self) -> tuple[LockPhase, ...]:
        """The phases as a lock has them."""
        return tuple(LockPhase(phase.name, phase.laid.first_step, phase.laid.steps) for phase in self.phases)

    @property
    def steps(self) -> int:
        """Steps of the run."""
        return self.data.steps

    @property
    def sequences(self) -> int:
        """Sequences of the run."""
        return sum(phase.laid.sequences for phase in self.phases)

    @property
    def tokens(self) -> int:
        """Tokens of the run."""
        return sum(phase.laid.tokens for phase in self.phases)

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """The errors that the spec does not accept: while there is one, no lock is made."""
        return tuple(finding for finding in self.findings if finding.refuses)

    @property
    def summaries(self) -> tuple[Finding, ...]:
        """The findings for people: more than five of a code are one, with the worst five and the total."""
        command = f"mixture plan {quote(str(self.spec.path))}" if self.amends is None else "mixture amend …"
        return summarized(self.findings, len(self.domains), f"{command} --json")

    def require(self) -> None:
        """Raise PlanError, with the code and place of the first error that is not accepted, if there is one."""
        if not self.refusals:
            return
        first, *others = (finding for finding in self.summaries if finding.refuses)
        message = f"{first.message}; {counted(len(others), 'more error')}" if others else first.message
        raise PlanError(message, code=first.code, place=first.place, hint=first.hint, findings=self.refusals)


def make_plan(
    spec: Spec,
    inputs: Inputs | None = None,
    *,
    world_size: int | None = None,
    pools: Mapping[str, int] | None = None,
    amends: Amendment | None = None,
) -> Plan:
    """Work a spec out.

    inputs:     what `read_inputs` gives; read from the files that the spec names if it is not given
    world_size: a number of ranks that every batch has to be divisible by
    pools:      tokens by domain that the run is kept to, whose epochs are then those of the pool; the others are whole
    amends:     a lock and a step: the plan is that of the lock's run up to the step, and of the spec's from there on;
                the spec describes the whole run, and pools are the lock's

    What a spec may accept becomes a finding; what no run could be made of is raised: SpecError with the place in the
    spec, CatalogError where a table can not be read, AmendError where the lock can not be amended so.
    """
    if world_size is not None and world_size < 1:
        raise PlanError(f"a world size of {world_size} is below 1", code="world-size-invalid", world_size=world_size)
    inputs = inputs or read_inputs(spec)
    if amends is not None:
        return amend_plan(spec, inputs, amends, world_size=world_size)
    draft = draft_of(spec, inputs)
    weights = integer_weights(draft.parts, len(draft.domains))
    run = Run(draft, schedule_data(draft, weights, pools or {}), tokenizer=spec.tokenizer)
    findings = [
        *budget_mismatch(spec, draft.phases, is_amended=False),
        *run.findings(world_size, is_amended=False),
        *changed_steps(spec, None, draft.phases),
    ]
    return _plan(run, run.phases(), findings)


def amend_plan(spec: Spec, inputs: Inputs, amendment: Amendment, *, world_size: int | None = None) -> Plan:
    """Work a spec out for a run that a lock has begun, as `make_plan` does with `amends`."""
    lock = amendment.lock
    weigher = partial(weigh_as_locked, lock) if amendment.keep_weights else weigh
    whole = draft_of(spec, inputs, weigher=weigher, known=[domain.name for domain in lock.data.domains])
    past = past_of(amendment, spec, whole.domains)
    draft = past.rest(whole)
    weights = integer_weights(draft.parts, len(draft.domains))
    if amendment.keep_weights:
        weights = as_locked(lock, weights)
    data = joined(amendment, schedule_data(draft, weights, lock.data.pools))
    run = Run(draft, data, tokens_read=past.tokens_read, tokenizer=spec.tokenizer or lock.tokenizer)
    is_one = goes_on(data, amendment.step) or goes_on_as_locked(amendment, data)
    phases = joined_phases(past.phases(), run.phases(), data, is_one=is_one)
    findings = [
        *budget_mismatch(spec, [phase.laid for phase in phases], is_amended=True),
        *run.findings(world_size, is_amended=True),
        *moved_weights(spec, amendment, [domain.name for domain in draft.domains], draft.laid, draft.parts),
        *changed_steps(spec, past.last_phase(), draft.phases),
    ]
    return _plan(run, phases, findings, amendment)


def _plan(
    run: Run, phases: Sequence[PlannedPhase], findings: Sequence[Finding], amendment: Amendment | None = None
) -> Plan:
    draft = run.draft
    return Plan(
        spec=draft.spec,
        inputs=draft.inputs,
        tokenizer=run.tokenizer,
        phases=tuple(phases),
        domains=run.domains(),
        findings=tuple(_ordered(draft.spec, findings)),
        data=run.data,
        spec_digest=spec_digest(draft.spec, draft.inputs.columns),
        schedule=run.schedule,
        amends=amendment,
    )


def _ordered(spec: Spec, findings: Sequence[Finding]) -> list[Finding]:
    """By level, then by kind; accepted where the spec says so and it can be."""
    levels, codes = list(Level), list(LEVELS)
    accept = set(spec.accept) - NEVER_ACCEPTED
    marked = [replace(finding, accepted=finding.code in accept) for finding in findings]
    return sorted(marked, key=lambda finding: (levels.index(finding.level), codes.index(finding.code)))
