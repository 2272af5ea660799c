"""An explained lock in words: short sentences, for terminals and pages alike."""

from __future__ import annotations

from collections.abc import Iterator

from mixture.planning.explain.changes import Boundary, Change, Moves
from mixture.planning.explain.explain import AmendmentExplained, Explanation, PhaseExplained, Resumable
from mixture.units import decimal, format_short, percent
from mixture.wording import NAMED, Quote, counted, listed, names_of

SHOWN_DIGITS = 12
"""Of a digest."""
MOST_LATER, MOST_LATER_MOVERS = 10, 2
"""Boundaries behind an amendment that are told, and the domains that one names."""


def run_words(found: Explanation) -> str:
    """The size of the run."""
    sizes = (found.steps, "step"), (found.sequences, "sequence"), (found.tokens, "token"), (found.domains, "domain")
    said = [f"The run: {', '.join(counted(*size) for size in sizes)}."]
    if found.pools:
        are = "is kept to a pool" if found.pools.domains == 1 else "are kept to pools"
        size, whole = (format_short(tokens) for tokens in (found.pools.pool_tokens, found.pools.tokens))
        said.append(f"{counted(found.pools.domains, 'domain')} {are}, of {size} tokens together; whole, {whole}.")
    if found.masked_tokens:
        said.append(f"Taken down from some step on: {counted(found.masked_tokens, 'token')}.")
    return " ".join(said)


def phase_words(phase: PhaseExplained, quote: Quote) -> str:
    """A phase: its steps, what a step is, and all that it reads."""
    last = phase.first_step + phase.steps - 1
    where = f"step {last:,}" if phase.steps == 1 else f"steps {phase.first_step:,} to {last:,}"
    sequences = f"{counted(phase.batch_sequences, 'sequence')} of {counted(phase.sequence_length, 'token')}"
    said = f"Phase {quote(phase.name)}, {where}: {sequences} a step, {counted(phase.tokens, 'token')}."
    changes = [f"{step:,}" for step in phase.weights_change]
    more = len(changes) - NAMED
    steps = "step" if len(changes) == 1 else "steps"
    return said if not changes else f"{said} Its weights change at {steps} {listed(changes[:NAMED], more=more)}."


def lineage_words(found: Explanation) -> str:
    """How often the lock was amended."""
    count = len(found.amendments)
    if not count:
        return "It amends no other lock."
    return f"It came from another lock by {counted(count, 'amendment')}, the oldest first:"


def amendment_head(one: AmendmentExplained) -> str:
    """Which amendment this is."""
    return f"Amendment {one.number}, at step {one.step:,}, of lock {one.amended[:SHOWN_DIGITS]}"


def amendment_words(one: AmendmentExplained, quote: Quote) -> Iterator[str]:
    """What an amendment did, a sentence each; `quote` makes a name, and a reason, one that can be printed."""
    if one.reason is not None:
        yield f"Why: {quote(one.reason)}."
    if one.steps != one.steps_before:
        yield f"The run has {one.steps:,} steps and no longer {one.steps_before:,}."
    if one.domains_added:
        yield f"Appended: {counted(len(one.domains_added), 'domain')}, {names_of(one.domains_added, quote)}."
    if one.keep_weights:
        yield "Rules that are fitted to a phase's tokens keep the weights that the run had, where they can."
    change = one.change
    if change is not None and change.is_any:
        yield from _change_words(change, quote)
    elif not one.is_void:
        yield _unchanged(one)
    if one.replaced_by is not None:
        yield f"Replaced by amendment {one.replaced_by}, at the same step: what changes there is said with it."
    elif one.superseded_by is not None:
        yield _superseded(one)
    if one.later and one.parts_at is None:
        yield "What comes later, new or as it was in the amended lock, which is not at hand:"
    for boundary in one.later[:MOST_LATER]:
        yield _boundary_words(boundary, quote)
    if len(one.later) > MOST_LATER:
        yield f"… and {len(one.later) - MOST_LATER:,} more."
    if one.dropped:
        said = [f"{quote(name)} (from step {step:,})" for name, step in one.dropped[:NAMED]]
        yield f"No longer there: {listed(said, more=len(one.dropped) - NAMED)}."
    if one.parts_at is not None:
        yield f"This lock reads what that lock reads up to step {one.parts_at:,}."


def resumable_words(one: Resumable) -> str:
    """Whose checkpoints may go on, and from where."""
    if one.is_own:
        return f"of this lock, {one.lock[:SHOWN_DIGITS]}: at any step"
    return f"of lock {one.lock[:SHOWN_DIGITS]}: up to step {one.up_to_step:,}"


def _change_words(change: Change, quote: Quote) -> Iterator[str]:
    (old_length, length), (old_batch, batch) = change.sequence_length, change.batch_sequences
    if length != old_length:
        yield f"A sequence has {counted(length, 'token')} and no longer {old_length:,}."
    if batch != old_batch:
        yield f"A step has {counted(batch, 'sequence')} and no longer {old_batch:,}."
    if change.moved:
        moved = [
            f"{quote(one.domain)} {percent(one.before, digits=4)} → {percent(one.after, digits=4)}"
            for one in change.movers
        ]
        yield (
            f"Weights: half-L1 distance {decimal(change.half_l1, digits=4)}, {counted(change.moved, 'domain')} moved:"
            f" {listed(moved, more=change.moved - len(moved))}. They hold up to step {change.weights_until:,}."
        )
    if change.skip_sequences:
        yield f"Left out: {counted(change.skip_sequences, 'sequence')}, {counted(change.tokens_skipped, 'token')}."
    elif change.tokens_skipped:
        yield f"Left out at the hand-off: {counted(change.tokens_skipped, 'token')}."
    if change.masked_tokens:
        where = counted(change.masked_domains, "domain")
        yield f"Taken down from there on: {counted(change.masked_tokens, 'token')} of {where}."


def _boundary_words(one: Boundary, quote: Quote) -> str:
    change, said = one.change, list[str]()
    if one.weights is None:
        said += [_moves_words(change, "", quote)] if change.moved else []
    elif one.weights.moved:
        said.append(_moves_words(one.weights, " from those before the amendment", quote))
    elif change.moved:
        said.append("weights unchanged")
    sizes = []
    if change.sequence_length[0] != change.sequence_length[1]:
        sizes.append(f"a sequence has {counted(change.sequence_length[1], 'token')}")
    if change.batch_sequences[0] != change.batch_sequences[1]:
        sizes.append(f"a step {'' if sizes else 'has '}{counted(change.batch_sequences[1], 'sequence')}")
    said += [", ".join(sizes)] if sizes else []
    if change.tokens_skipped:
        said.append(f"{counted(change.tokens_skipped, 'token')} left out")
    if change.masked_tokens:
        said.append(f"{counted(change.masked_tokens, 'token')} taken down")
    phase = "" if one.phase is None else f", phase {quote(one.phase)}"
    began = "" if one.began is None else f" and no longer from {one.began:,}"
    return f"From step {one.step:,}{began}{phase}: {'; '.join(said) or 'nothing else changes'}."


def _moves_words(moves: Change | Moves, beside: str, quote: Quote) -> str:
    moved = [
        f"{quote(x.domain)} {percent(x.before, digits=4)} → {percent(x.after, digits=4)}"
        for x in moves.movers[:MOST_LATER_MOVERS]
    ]
    distance = f"weights half-L1 {decimal(moves.half_l1, digits=4)}{beside}"
    return f"{distance}, {listed(moved, more=moves.moved - len(moved))}"


def _unchanged(one: AmendmentExplained) -> str:
    if one.change is not None:
        return "At the step itself nothing changes."
    return "The whole run is another one from there on." if one.step == 0 else "The run goes no further than this step."


def _superseded(one: AmendmentExplained) -> str:
    rest = "what it did is void" if one.is_void else "what stands here is what it left"
    return f"Amendment {one.superseded_by} took over at this step or before it: {rest}."
