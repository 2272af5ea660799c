"""What a lock has fixed of a run before a step: the part of an amended plan that no spec changes any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from mixture.errors import AmendError
from mixture.lock import Amendment, Lock, LockPhase
from mixture.planning.catalog import CatalogDomain
from mixture.planning.plan.draft import Draft
from mixture.planning.plan.phases import PhaseSteps
from mixture.planning.plan.planned import PlannedPhase
from mixture.planning.plan.transitions import changes_inside
from mixture.planning.plan.weights.weights import PhaseWeights
from mixture.planning.spec import Spec
from mixture.schedule import WHOLE, ScheduleData
from mixture.units import format_count, format_written


@dataclass(frozen=True, slots=True)
class Past:
    """The part of a run before an amendment.

    domains:     of the amended run: the lock's in their order, then those that are new
    index:       for each domain that the catalog has now, its place among `domains`
    tokens_read: what each of `domains` gives before the step
    """

    amendment: Amendment
    domains: tuple[CatalogDomain, ...]
    index: tuple[int, ...]
    tokens_read: tuple[int, ...]

    def rest(self, draft: Draft) -> Draft:
        """What is to come of the draft of a whole run, over the domains of this one.

        Raises AmendError: `amend-outside-run` where it ends before the amendment, `block-not-multiple`.
        """
        _check_end(self.amendment, draft)
        phases = self._cut(draft.laid)
        _check_lengths(self.amendment, draft.spec, phases)
        laid = self._cut([part.laid for part in draft.parts])
        return replace(
            draft,
            domains=self.domains,
            phases=phases,
            weights=tuple(map(self._weights, draft.weights)),
            parts=tuple(
                replace(part, laid=one, old=self._weights(part.old), new=self._weights(part.new))
                for one, part in zip(laid, draft.parts[len(draft.parts) - len(laid) :], strict=True)
            ),
        )

    def _weights(self, own: PhaseWeights) -> PhaseWeights:
        """Weights over the catalog's domains as weights over the run's."""
        return replace(
            own,
            shares={self.index[d]: share for d, share in own.shares.items()},
            paths={self.index[d]: path for d, path in own.paths.items()},
            listed=None if own.listed is None else frozenset(self.index[d] for d in own.listed),
        )

    def _cut(self, phases: Sequence[PhaseSteps]) -> tuple[PhaseSteps, ...]:
        """The part of phases that is to come."""
        step = self.amendment.step
        return tuple(
            phase if phase.first_step >= step else replace(phase, first_step=step, steps=phase.end_step - step)
            for phase in phases
            if phase.end_step > step
        )

    def phases(self) -> tuple[PlannedPhase, ...]:
        """The lock's phases as they run up to the step."""
        lock, step = self.amendment.lock, self.amendment.step
        held = [
            replace(phase, steps=min(phase.steps, step - phase.first_step))
            for phase in lock.phases
            if phase.first_step < step
        ]
        return tuple(_planned(lock, one, len(self.domains)) for one in held if one.steps)

    def last_phase(self) -> PhaseSteps | None:
        """The last of them; None where the whole run is amended."""
        return next((phase.laid for phase in reversed(self.phases())), None)


def joined_phases(
    past: Sequence[PlannedPhase], coming: Sequence[PlannedPhase], data: ScheduleData, *, is_one: bool
) -> tuple[PlannedPhase, ...]:
    """The phases of an amended run. What goes on under a name that was there, in another way, is `NAME@STEP`.

    data:   the amended run's
    is_one: nothing changes at the amendment's step but what the lock has there, so a phase that lies across it is one

    Raises AmendError, `phase-again`, where that name was there, too.
    """
    out = list(past)
    rest = list(coming)
    if is_one and out and rest and rest[0].name in (out[-1].name, plain_name(out[-1].name, out[-1].laid.first_step)):
        before, after = out.pop(), rest.pop(0)
        laid = replace(
            after.laid,
            name=before.name,
            first_step=before.laid.first_step,
            steps=before.laid.steps + after.laid.steps,
        )
        drawn = tuple(a + b for a, b in zip(before.sequences, after.sequences, strict=True))
        out.append(PlannedPhase(laid, _mean(before, after, data), drawn, after.final))
    for phase in rest:
        name = free_name(phase.name, phase.laid.first_step, {one.name for one in out})
        out.append(replace(phase, laid=replace(phase.laid, name=name)))
    return tuple(replace(phase, changes=changes_inside(data, phase.laid)) for phase in out)


def _mean(before: PlannedPhase, after: PlannedPhase, data: ScheduleData) -> tuple[Fraction, ...]:
    """The shares of a phase that lies across an amendment: exact where they are the same all over."""
    whole = replace(before.laid, steps=before.laid.steps + after.laid.steps)
    if not changes_inside(data, whole):
        return after.shares
    pairs = zip(before.shares, after.shares, strict=True)
    return tuple((a * before.laid.steps + b * after.laid.steps) / whole.steps for a, b in pairs)


def plain_name(name: str, first_step: int) -> str:
    """The name that a phase has in its spec."""
    return name.removesuffix(f"@{first_step}")


def free_name(name: str, first_step: int, taken: Collection[str]) -> str:
    """What a phase that begins at a step is called in a lock that has others. Raises AmendError, `phase-again`."""
    if name not in taken:
        return name
    fresh = f"{name}@{first_step}"
    if fresh in taken:
        raise AmendError(
            f"the lock has a phase {fresh!r} already",
            code="phase-again",
            hint="give the phase another name in the spec",
            phase=name,
        )
    return fresh


def past_of(amendment: Amendment, spec: Spec, catalog: Sequence[CatalogDomain]) -> Past:
    """What an amendment leaves as it is, under a spec and the domains that its catalog has now.

    Raises AmendError: `domain-changed` where a domain that was drawn from has other tokens now, `amend-changes-order`
    where the spec has another seed, block or window, `block-not-multiple` where the lock's block does not hold whole
    sequences of a length, `tokenizer-differs`.
    """
    lock, step = amendment.lock, amendment.step
    data = lock.data
    now = {domain.name: domain for domain in catalog}
    drawn = [any(s.weights[d] for s in data.segments if s.first_step < step) for d in range(len(data.domains))]
    domains: list[CatalogDomain] = []
    for domain, is_drawn in zip(data.domains, drawn, strict=True):
        held = now.get(domain.name)
        if held is None:
            held = CatalogDomain(domain.name, domain.tokens)
        elif is_drawn and held.tokens != domain.tokens:
            raise AmendError(
                f"domain {domain.name!r} had {format_count(domain.tokens)} tokens when the run began to draw from it,"
                f" and has {format_count(held.tokens)} now: its order would change, and what was read with it",
                code="domain-changed",
                place=spec.place("catalog"),
                hint=f"keep it as it was and name the new text {domain.name + '@2'!r}; a group that holds both draws"
                " from them as one",
                domain=domain.name,
                tokens_locked=domain.tokens,
                tokens_now=held.tokens,
            )
        domains.append(held)
    known = {domain.name for domain in data.domains}
    domains += [domain for domain in catalog if domain.name not in known]
    place = {domain.name: d for d, domain in enumerate(domains)}
    _check_order(amendment, spec)
    read = lock.schedule().tokens(step).tolist()
    return Past(
        amendment=amendment,
        domains=tuple(domains),
        index=tuple(place[domain.name] for domain in catalog),
        tokens_read=(*read, *[0] * (len(domains) - len(read))),
    )


def _check_order(amendment: Amendment, spec: Spec) -> None:
    lock, data = amendment.lock, amendment.lock.data
    asked = {
        "seed": (spec.seed, data.seed, "seed"),
        "block": (spec.shuffle.block_tokens or data.block_tokens, data.block_tokens, "shuffle.block"),
        "window": (spec.shuffle.window_blocks or data.window_blocks, data.window_blocks, "shuffle.window"),
    }
    for what, (now, locked, path) in asked.items():
        if now != locked:
            raise AmendError(
                f"the {what} is {format_count(locked)} in the lock and {format_count(now)} in the spec: what was read"
                " was read in the lock's order",
                code="amend-changes-order",
                place=spec.place(path),
                hint=f"write {format_written(locked)}" + ("" if what == "seed" else ", or leave it out"),
                locked=locked,
                now=now,
            )
    if spec.tokenizer is not None and lock.tokenizer is not None and spec.tokenizer != lock.tokenizer:
        raise AmendError(
            f"the run reads tokens of {lock.tokenizer!r}, the spec names {spec.tokenizer!r}",
            code="tokenizer-differs",
            place=spec.place("tokenizer"),
            locked=lock.tokenizer,
            now=spec.tokenizer,
        )


def _check_end(amendment: Amendment, draft: Draft) -> None:
    """A run may end where it is amended, and not before."""
    steps = draft.laid[-1].end_step
    if steps < amendment.step:
        raise AmendError(
            f"the spec's run ends at step {format_count(steps)}, before the amendment at step"
            f" {format_count(amendment.step)}",
            code="amend-outside-run",
            place=draft.spec.place("budget"),
            hint="the spec describes the whole run, from its first step to its last",
            step=amendment.step,
            steps=steps,
        )


def _check_lengths(amendment: Amendment, spec: Spec, phases: Sequence[PhaseSteps]) -> None:
    """Raise AmendError, `block-not-multiple`, at the first phase whose length does not divide the lock's block."""
    block = amendment.lock.data.block_tokens
    for phase in phases:
        if block % phase.sequence_length:
            own = f"phases[{phase.index}].sequence_length"
            raise AmendError(
                f"a block of {format_count(block)} tokens does not hold whole sequences of"
                f" {format_count(phase.sequence_length)} (phase {phase.name!r}), and the lock's block can not change",
                code="block-not-multiple",
                place=spec.place(own if spec.phases[phase.index].sequence_length else "sequence_length"),
                hint=f"every length divides {format_count(block)}"
                + ("; it is the longest that this run can have" if phase.sequence_length > block else ""),
                block_tokens=block,
                sequence_length=phase.sequence_length,
            )


def _planned(lock: Lock, phase: LockPhase, num_domains: int) -> PlannedPhase:
    """A phase of a lock as a plan has it. Where it has several sets of weights, their mean over its steps."""
    data, end = lock.data, phase.first_step + phase.steps
    batch = [one for one in data.batches if one.first_step <= phase.first_step][-1]
    inside = [
        segment
        for segment in data.segments
        if segment.first_step < end and phase.first_step < segment.first_step + segment.steps
    ]
    steps = [min(one.first_step + one.steps, end) - max(one.first_step, phase.first_step) for one in inside]
    extra = num_domains - len(data.domains)
    weighed = zip(*([n * weight for weight in one.weights] for n, one in zip(steps, inside, strict=True)), strict=True)
    counts = lock.schedule().counts(end) - lock.schedule().counts(phase.first_step)
    laid = PhaseSteps(
        index=-1,
        name=phase.name,
        first_step=phase.first_step,
        steps=phase.steps,
        asked_end=Fraction(end),
        sequence_length=inside[0].sequence_length,
        batch_sequences=batch.sequences,
    )
    none = [Fraction(0)] * extra
    shares = (*(Fraction(sum(one), WHOLE * phase.steps) for one in weighed), *none)
    final = (*(Fraction(weight, WHOLE) for weight in inside[-1].weights), *none)
    return PlannedPhase(laid, shares, (*counts.tolist(), *[0] * extra), final)
