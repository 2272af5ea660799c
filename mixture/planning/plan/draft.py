"""What all plans are assembled from: a spec's phases with their weights, and the schedule that they are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mixture.errors import ScheduleError, SpecError
from mixture.planning.catalog import CatalogDomain
from mixture.planning.plan.findings import run as run_findings
from mixture.planning.plan.findings.curves import fitted_curves
from mixture.planning.plan.findings.domains import DomainsOfRun, counted_with, undrawable_phases
from mixture.planning.plan.findings.finding import Finding
from mixture.planning.plan.findings.unimax import divided_tokens
from mixture.planning.plan.inputs import Inputs
from mixture.planning.plan.phases import PhaseSteps, lay_out
from mixture.planning.plan.planned import PlannedDomain, PlannedPhase
from mixture.planning.plan.transitions import Part, changes_inside, drawn_weights, parts_of
from mixture.planning.plan.weights.caps import check_capped
from mixture.planning.plan.weights.weights import PhaseWeights, drawable, weigh
from mixture.planning.spec import Spec
from mixture.schedule import Schedule, ScheduleData


@dataclass(frozen=True, slots=True)
class Draft:
    """A spec's phases and weights, as far as they are to come.

    domains: what the run may draw from; weights are by index into them
    laid:    all phases of the spec
    phases:  those to come: of an amended run only the steps after the amendment
    weights: of each phase in `laid`, after its transition
    parts:   the phases to come, in stairs
    """

    spec: Spec
    inputs: Inputs
    domains: tuple[CatalogDomain, ...]
    laid: tuple[PhaseSteps, ...]
    phases: tuple[PhaseSteps, ...]
    weights: tuple[PhaseWeights, ...]
    parts: tuple[Part, ...]


Weigher = Callable[[Spec, Inputs, Sequence[PhaseSteps]], tuple[PhaseWeights, ...]]


def draft_of(spec: Spec, inputs: Inputs, *, weigher: Weigher = weigh, known: Collection[str] = ()) -> Draft:
    """All phases of a spec. known: domains that the catalog may lack and the spec may have a limit for.

    Raises SpecError: `catalog-empty`, and what `lay_out`, the weigher, `check_capped` and `parts_of` raise.
    """
    domains = drawable(inputs.catalog)
    if not domains:
        raise SpecError("the catalog has no domain to draw from", code="catalog-empty", place=spec.place("catalog"))
    laid = lay_out(spec)
    weights = weigher(spec, inputs, laid)
    check_capped(spec, {domain.name for domain in domains}.union(known))
    return Draft(spec, inputs, domains, laid, laid, weights, parts_of(spec, laid, weights))


class Run:
    """A draft with the schedule that it is drawn from, of which all figures are.

    tokenizer:   the run's; None: the one that the catalog names first for a domain that is weighed
    tokens_read: of each domain, before the draft's phases; none if not given
    """

    def __init__(
        self, draft: Draft, data: ScheduleData, *, tokenizer: str | None, tokens_read: Sequence[int] | None = None
    ) -> None:
        domains = [replace(domain, tokens=own.held) for domain, own in zip(draft.domains, data.domains, strict=True)]
        self.draft, self.data = draft, data
        self.weights = drawn_weights(draft.parts)
        undrawable = undrawable_phases(domains, draft.phases, self.weights)
        self.known = [not nowhere for nowhere in undrawable]
        self.schedule = _schedule(draft.spec, data, self.known)
        self.tokenizer = tokenizer or next(iter(counted_with(domains, self.weights)), None)
        self._domains = DomainsOfRun(
            draft.spec,
            domains,
            draft.phases,
            self.weights,
            undrawable,
            _drawn(self.schedule, draft.phases),
            tokens_read or [0] * len(domains),
            self.tokenizer,
        )

    def phases(self) -> list[PlannedPhase]:
        """The phases of the draft as they run."""
        draft, count = self.draft, len(self.draft.domains)
        return [
            PlannedPhase(
                phase,
                own.dense(count),
                sequences,
                draft.weights[phase.index].dense(count),
                changes_inside(self.data, phase),
            )
            for phase, own, sequences in zip(draft.phases, self.weights, self._domains.drawn, strict=True)
        ]

    def domains(self) -> tuple[PlannedDomain, ...]:
        """The domains over the whole run."""
        run = self._domains
        return tuple(
            PlannedDomain(domain.name, domain.tokens, sum(run.tokens_drawn(d)), run.max_epochs(d), domain.pool_tokens)
            for d, domain in enumerate(self.data.domains)
        )

    def findings(self, world_size: int | None, *, is_amended: bool) -> list[Finding]:
        """What is found in the phases of the draft, whatever comes before them."""
        draft, weights = self.draft, self.weights
        spec, phases, catalog = draft.spec, draft.phases, draft.inputs.catalog
        whole = draft.laid[len(draft.laid) - len(phases) :]
        names = [domain.name for domain in draft.domains]
        as_found = [d for d, name in enumerate(names) if name in catalog.as_found]
        return [
            *run_findings.boundaries(spec, phases),
            *run_findings.short_rest(spec, draft.laid),
            *(run_findings.undivided_batches(spec, phases, world_size) if world_size else ()),
            *run_findings.packed_lengths(spec, catalog.packed, names, phases, weights),
            *self._domains.find(),
            *run_findings.scaled_weights(spec, whole, weights),
            *run_findings.sharpened(spec, phases),
            *divided_tokens(spec, whole, weights),
            *fitted_curves(spec, whole, weights),
            *run_findings.skipped_tokens(spec, phases, self.schedule, self.known),
            *run_findings.filled_windows(spec, phases, weights, self.data, as_found, is_amended=is_amended),
            *run_findings.longest_context(spec, self.data.block_tokens),
        ]


def _schedule(spec: Spec, data: ScheduleData, known: Sequence[bool]) -> Schedule:
    """The schedule of the fields. Domains that cannot be drawn (`known` False) count as one block.

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
