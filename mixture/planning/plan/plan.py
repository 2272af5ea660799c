"""A plan: a spec and its catalog worked out to steps, sequences, tokens and epochs, with what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from shlex import quote

from mixture.errors import AmendError, PlanError, ScheduleError, SpecError
from mixture.lock import Amendment, LockPhase, goes_on, goes_on_as_locked, joined
from mixture.planning.catalog import Catalog
from mixture.planning.plan.amended.past import check_lengths, joined_phases, past_of
from mixture.planning.plan.amended.weights import as_locked, moved_weights, weigh_as_locked
from mixture.planning.plan.digests import spec_digest
from mixture.planning.plan.findings import run as run_findings
from mixture.planning.plan.findings.curves import fitted_curves
from mixture.planning.plan.findings.domains import DomainsOfRun, counted_with, undrawable_phases
from mixture.planning.plan.findings.findings import LEVELS, NEVER_ACCEPTED, Finding, Level
from mixture.planning.plan.findings.unimax import divided_tokens
from mixture.planning.plan.inputs import Inputs, read_inputs
from mixture.planning.plan.phases import PhaseSteps, lay_out
from mixture.planning.plan.planned import PlannedDomain, PlannedPhase
from mixture.planning.plan.segments import schedule_data
from mixture.planning.plan.stairs import changes_inside, drawn_weights, integer_weights, parts_of
from mixture.planning.plan.summaries import summarized
from mixture.planning.plan.weights.caps import check_capped
from mixture.planning.plan.weights.weights import drawable, weigh
from mixture.planning.spec import Spec
from mixture.schedule import Schedule, ScheduleData
from mixture.units import format_count
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
    catalog, domains = inputs.catalog, drawable(inputs.catalog)
    if not domains:
        raise SpecError("the catalog has no domain to draw from", code="catalog-empty", place=spec.place("catalog"))
    laid = lay_out(spec)
    kept = amends.lock if amends is not None and amends.keep_weights else None
    weighed = weigh(spec, inputs, laid) if kept is None else weigh_as_locked(kept, spec, inputs, laid)
    names = {domain.name for domain in domains}
    check_capped(spec, names | ({domain.name for domain in amends.lock.data.domains} if amends else set()))
    parts = parts_of(spec, laid, weighed)
    past = past_of(amends, spec, domains) if amends else None
    phases = laid
    if past is not None:
        phases, parts = past.cut(laid), past.parts(parts)
        domains, pools = past.domains, past.amendment.lock.data.pools
        check_lengths(past.amendment, spec, phases)
    weights = drawn_weights(parts)
    integers = integer_weights(parts, len(domains))
    if kept is not None:
        integers = as_locked(kept, integers)
    data = schedule_data(spec, domains, [part.laid for part in parts], integers, pools=pools or {})
    if past is not None:
        _check_end(past.amendment, spec, laid)
        data = joined(past.amendment, data)

    held = [replace(domain, tokens=(pools or {}).get(domain.name, domain.tokens)) for domain in domains]
    undrawable = undrawable_phases(held, phases, weights)
    known = [not nowhere for nowhere in undrawable]
    schedule = _schedule(spec, data, known)
    drawn = _drawn(schedule, phases)
    as_found = [d for d, domain in enumerate(held) if domain.name in catalog.as_found]
    before = past.tokens_read if past else [0] * len(domains)
    tokenizer = spec.tokenizer or (amends and amends.lock.tokenizer) or next(iter(counted_with(domains, weights)), None)
    run = DomainsOfRun(spec, held, phases, weights, undrawable, drawn, before, tokenizer)
    final = dict(enumerate(map(past.weights, weighed) if past is not None else weighed))
    coming = [
        PlannedPhase(
            phase,
            own.dense(len(domains)),
            sequences,
            final[phase.index].dense(len(domains)),
            changes_inside(data, phase),
        )
        for phase, own, sequences in zip(phases, weights, drawn, strict=True)
    ]
    if past is not None:
        is_one = goes_on(data, past.amendment.step) or goes_on_as_locked(past.amendment, data)
        coming = list(joined_phases(past.phases(), coming, data, is_one=is_one))
    findings = [
        *run_findings.budget_mismatch(spec, [phase.laid for phase in coming], is_amended=past is not None),
        *run_findings.boundaries(spec, phases),
        *run_findings.short_rest(spec, laid),
        *(run_findings.undivided_batches(spec, phases, world_size) if world_size else ()),
        *run_findings.packed_lengths(spec, catalog.packed, [domain.name for domain in held], phases, weights),
        *run.find(),
        *run_findings.scaled_weights(spec, laid[len(laid) - len(phases) :], weights),
        *run_findings.sharpened(spec, phases),
        *divided_tokens(spec, laid[len(laid) - len(phases) :], weights),
        *fitted_curves(spec, laid[len(laid) - len(phases) :], weights),
        *(moved_weights(spec, amends, [domain.name for domain in domains], laid, parts) if amends else ()),
        *run_findings.skipped_tokens(spec, phases, schedule, known),
        *run_findings.changed_steps(spec, past.last_phase() if past is not None else None, phases),
        *run_findings.filled_windows(spec, phases, weights, data, as_found, is_amended=past is not None),
        *run_findings.longest_context(spec, data.block_tokens),
    ]
    return Plan(
        spec=spec,
        inputs=inputs,
        tokenizer=tokenizer,
        phases=tuple(coming),
        domains=tuple(
            PlannedDomain(domain.name, domain.tokens, sum(run.tokens_drawn(d)), run.max_epochs(d), domain.pool_tokens)
            for d, domain in enumerate(data.domains)
        ),
        findings=tuple(_ordered(spec, findings)),
        data=data,
        spec_digest=spec_digest(spec, inputs.columns),
        schedule=schedule,
        amends=amends,
    )


def _check_end(amendment: Amendment, spec: Spec, phases: Sequence[PhaseSteps]) -> None:
    """A run may end where it is amended, and not before."""
    steps = phases[-1].end_step
    if steps < amendment.step:
        raise AmendError(
            f"the spec's run ends at step {format_count(steps)}, before the amendment at step"
            f" {format_count(amendment.step)}",
            code="amend-outside-run",
            place=spec.place("budget"),
            hint="the spec describes the whole run, from its first step to its last",
            step=amendment.step,
            steps=steps,
        )


def _schedule(spec: Spec, data: ScheduleData, known: Sequence[bool]) -> Schedule:
    """The schedule of the fields. Domains that can not be drawn (`known` False) count as one block.

    How many sequences a domain gives depends on weights alone, so a plan with such an error has all its other figures.
    """
    domains = tuple(
        domain if is_known else replace(domain, tokens=data.block_tokens, pool_tokens=None)
        for domain, is_known in zip(data.domains, known, strict=True)
    )
    try:
        return Schedule(data if all(known) else replace(data, domains=domains))
    except ScheduleError as error:
        name = error.facts.get("name")
        message = error.message if name is None else f"domain {name!r}: {error.message}"
        place = spec.place("phases" if name is None else "catalog")
        raise SpecError(message, code=error.code, place=place, hint=error.hint, **error.facts) from error


def _drawn(schedule: Schedule, phases: Sequence[PhaseSteps]) -> list[tuple[int, ...]]:
    """The sequences that each phase draws of each domain."""
    counts = [
        schedule.counts(step) for step in [*(phase.first_step for phase in phases[:1]), *(p.end_step for p in phases)]
    ]
    return [tuple((after - before).tolist()) for before, after in pairwise(counts)]


def _ordered(spec: Spec, findings: Sequence[Finding]) -> list[Finding]:
    """By level, then by kind; accepted where the spec says so and it can be."""
    levels, codes = list(Level), list(LEVELS)
    accept = set(spec.accept) - NEVER_ACCEPTED
    marked = [replace(finding, accepted=finding.code in accept) for finding in findings]
    return sorted(marked, key=lambda finding: (levels.index(finding.level), codes.index(finding.code)))
