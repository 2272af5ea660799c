"""What a comparison says in words, for terminals and pull requests alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from mixture.planning.compare.comparison import Diff, Distance, Figures, Move, PhasePair
from mixture.planning.compare.first_difference import Agreement, TakenDown
from mixture.planning.compare.sides import Side, Stretch
from mixture.units import decimal, format_count, percent
from mixture.wording import NAMED, Quote, counted, listed, names_of

MOST_PHASES = 4
"""Phases whose weights stand beside those of the run: more would make lines that nobody reads."""


def headline(agreement: Agreement, *, a: str = "A", b: str = "B") -> str:
    """From which step they part, in what, and whose checkpoints go on, in sentences. a, b: what the two are called."""
    said = agreement_words(agreement, a=a, b=b)
    steps = agreement.resume_step
    is_same = agreement.is_whole and steps == agreement.steps
    return said if is_same or not steps else f"{said} Checkpoints up to step {steps:,} go on under both."


def agreement_words(agreement: Agreement, *, a: str = "A", b: str = "B") -> str:
    """From which step they part, and in what."""
    steps = format_count(agreement.steps)
    hidden = agreement.taken_down
    down = "" if hidden is None else _taken_down(hidden, a, b)
    same = "the same sequences" if down else "the same"
    if agreement.is_whole:
        return f"They read {same}; {down}." if down else f"They read the same in all of their {steps} steps."
    if agreement.to_end:
        shorter, longer = (a, b) if agreement.a_steps == agreement.steps else (b, a)
        more = max(agreement.a_steps, agreement.b_steps) - agreement.steps
        said = (
            f"They read {same} before step {steps}, where {shorter} ends; {longer} goes on for {counted(more, 'step')}."
        )
    else:
        what = listed([part.value for part in agreement.parts_by])
        said = f"They differ from the first step on, in {what}."
        if agreement.steps:
            said = f"They read {same} before step {steps}; from there they differ in {what}."
    return f"{said} {down[0].upper()}{down[1:]}." if down else said


def _taken_down(hidden: TakenDown, a: str, b: str) -> str:
    start = f"from step {hidden.first_step:,} on" if hidden.first_step else "from the first step on"
    if hidden.a_tokens and hidden.b_tokens:
        return (
            f"{start} {a} has {hidden.a_tokens:,} and {b} {hidden.b_tokens:,} tokens taken down that the other has not"
        )
    name, tokens = (a, hidden.a_tokens) if hidden.a_tokens else (b, hidden.b_tokens)
    return f"{start} {name} has {counted(tokens, 'token')} taken down"


def unmoved_words(diff: Diff, what: str) -> str:
    """That nothing moved, as a sentence. what: `domains`, or what groups are by."""
    return f"All {len(diff.moves):,} {what} have the same shares, tokens and epochs."


def remarks(diff: Diff, quote: Quote) -> Iterator[str]:
    """What else differs, a line each; `quote` makes a name one that can be printed."""
    for letter, only in (("A", diff.only_a), ("B", diff.only_b)):
        if only:
            yield f"Only in {letter}: {names_of(only, quote)}."
    for what, held in (("tokens", diff.resized), ("pools", diff.repooled)):
        if held:
            shown = [f"{quote(one.name)} {_size(one.a)} → {_size(one.b)}" for one in held[:NAMED]]
            yield f"Other {what} of {counted(len(held), 'domain')}: {listed(shown, more=len(held) - NAMED)}."
    if diff.retexted:
        yield f"Other text in {counted(len(diff.retexted), 'domain')}: {names_of(diff.retexted, quote)}."
    yield from _amended(diff, quote)
    if diff.regrouped:
        count = counted(len(diff.regrouped), "domain")
        yield f"Grouped as B has them, and otherwise in A: {count}, {names_of(diff.regrouped, quote)}."
    for letter, side in (("A", diff.a), ("B", diff.b)):
        if side.refusals:
            codes = sorted({finding.code.value for finding in side.refusals})
            yield f"No lock can be made of {letter}: {', '.join(codes)}."


def _amended(diff: Diff, quote: Quote) -> Iterator[str]:
    """The amendments that one side alone has, and why; the last of many."""
    for letter, side, other in (("A", diff.a, diff.b), ("B", diff.b, diff.a)):
        known = set(other.amends)
        own = [amendment for amendment in side.amends if amendment not in known]
        said = [f"at step {one.step:,}{'' if one.reason is None else f', {quote(one.reason)}'}" for one in own[-NAMED:]]
        more = [f"{len(own) - NAMED:,} before"] if len(own) > NAMED else []
        if own:
            yield f"Amendments of {letter} alone: {'; '.join([*more, *said])}."


def digest_words(diff: Diff, quote: Quote) -> Iterator[str]:
    """What A and B are, a line each."""
    for letter, side in (("A", diff.a), ("B", diff.b)):
        yield f"{letter}: {quote(side.name)}{f', lock {side.digest}' if side.digest else ''}"


def rounding_words(count: int) -> str:
    """How many moves are of rounding."""
    return f"{count:,} by rounding only, below 0.0001 points"


PHASE_HEADS = ("first step", "steps", "tokens", "batch", "length", "half-L1", "Hellinger")
MOVE_HEADS = ("share", "change", "tokens read", "epochs")
Number = Callable[[int], str]
"""How tokens are written: whole, or short."""


def shown_phases(diff: Diff) -> list[PhasePair]:
    """Those whose weights stand beside those of the run, in order: of many those that are furthest apart."""
    apart = [pair for pair in diff.phases if pair.distance is None or pair.distance.half_l1]
    furthest = sorted(apart, key=lambda pair: pair.distance.half_l1 if pair.distance else 0, reverse=True)
    kept = [id(pair) for pair in furthest[:MOST_PHASES]]
    return [pair for pair in apart if id(pair) in kept]


def weight_cells(pairs: Sequence[PhasePair], move: Move) -> list[str]:
    """The weights of a move in phases, `a → b` where they differ."""
    return [
        between(*(percent(None if side is None else side.weight(move.domains), digits=4) for side in (pair.a, pair.b)))
        for pair in pairs
    ]


def phase_cells(diff: Diff, number: Number) -> Iterator[tuple[str, list[str]]]:
    """The figures of PHASE_HEADS by phase: `a → b` where they differ, `–` for what is not there."""
    for pair in diff.phases:
        figures = [_phase(*held) for held in ((diff.a, pair.a), (diff.b, pair.b))]
        yield pair.name, [*_both(figures[0], figures[1], number), *_distance(pair.distance)]


def run_cells(diff: Diff, number: Number) -> list[str]:
    """The same of the runs, which begin at step 0 and may have several batches and lengths."""
    figures = [[None, side.data.steps, side.run.whole, None, None] for side in (diff.a, diff.b)]
    return [*_both(figures[0], figures[1], number), *_distance(diff.distance)]


def move_cells(move: Move, number: Number) -> list[str]:
    """The figures of MOVE_HEADS; shares in percent, their change in percentage points."""
    sides = move.a, move.b
    return [
        between(*(percent(None if side is None else side.weight, digits=4) for side in sides)),
        signed(move.weight_change * 100) if move.weight_change else "0",
        between(*("" if side is None else number(side.tokens) for side in sides)),
        between(*(_epochs(side) for side in sides)),
    ]


def between(a: str, b: str) -> str:
    """`a → b`, or once what is the same."""
    return a if a == b else f"{a or '–'} → {b or '–'}"


def signed(change: Fraction) -> str:
    """A change with its sign, to three digits."""
    return f"{'+' if change > 0 else ''}{decimal(change, digits=3)}"


def _epochs(figures: Figures | None) -> str:
    return "" if figures is None or figures.epochs is None else decimal(figures.epochs, digits=4)


def _phase(side: Side, stretch: Stretch | None) -> list[int | None]:
    if stretch is None:
        return [None] * 5
    first, tokens = stretch.first_step, sum(stretch.tokens.values())
    return [first, stretch.steps, tokens, side.schedule.batch_of(first), side.schedule.length_of(first)]


def _both(a: Sequence[int | None], b: Sequence[int | None], number: Number) -> list[str]:
    """Tokens may be shortened; steps and sizes are what somebody looks for."""
    numbers = (format_count, format_count, number, format_count, format_count)
    shown = [["" if x is None else of(x) for of, x in zip(numbers, figures, strict=True)] for figures in (a, b)]
    return [between(*pair) for pair in zip(*shown, strict=True)]


def _distance(found: Distance | None) -> list[str]:
    return ["", ""] if found is None else [decimal(Fraction(x), digits=4) for x in (found.half_l1, found.hellinger)]


def _size(tokens: int | None) -> str:
    return "whole" if tokens is None else f"{tokens:,}"
