"""What a comparison says in words, for terminals and pull requests alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from mixture.plan.diff import Diff, Distance, Figures, Move
from mixture.plan.diff_parting import Agreement
from mixture.plan.diff_sides import Side, Stretch
from mixture.plan.figures import decimal
from mixture.units import format_count

NAMED = 5
"""Names that a line lists; the others are counted."""
Quote = Callable[[str], str]


def agreement_words(agreement: Agreement, *, a: str = "A", b: str = "B") -> str:
    """From which step they part, and in what, as a sentence. a, b: what the two are called in it."""
    steps = format_count(agreement.steps)
    if agreement.is_whole:
        return f"They read the same in all of their {steps} steps."
    if agreement.to_end:
        shorter, longer = (a, b) if agreement.a_steps == agreement.steps else (b, a)
        more = max(agreement.a_steps, agreement.b_steps) - agreement.steps
        return f"They read the same before step {steps}, where {shorter} ends; {longer} goes on for {more:,} steps."
    what = _listed([part.value for part in agreement.parts_by])
    if agreement.steps == 0:
        return f"They differ from the first step on, in {what}."
    return f"They read the same before step {steps}; from there they differ in {what}."


def unmoved_words(diff: Diff, what: str) -> str:
    """That nothing moved, as a sentence. what: `domains`, or what groups are by."""
    return f"All {len(diff.moves):,} {what} have the same shares, tokens and epochs."


def remarks(diff: Diff, quote: Quote) -> Iterator[str]:
    """What else differs, a line each; `quote` makes a name one that can be printed."""
    for side, only in (("A", diff.only_a), ("B", diff.only_b)):
        if only:
            yield f"Only in {side}: {_names(only, quote)}."
    if diff.resized:
        shown = [f"{quote(one.name)} {one.a:,} → {one.b:,}" for one in diff.resized[:NAMED]]
        yield f"Other tokens of {_domains(len(diff.resized))}: {_listed(shown, more=len(diff.resized) - NAMED)}."
    if diff.retexted:
        yield f"Other text in {_domains(len(diff.retexted))}: {_names(diff.retexted, quote)}."
    if diff.masks_differ:
        yield f"Other text is taken down: {_masked(diff.a)} in A, {_masked(diff.b)} in B."
    if diff.regrouped:
        count = _domains(len(diff.regrouped))
        yield f"Grouped as B has them, and otherwise in A: {count}, {_names(diff.regrouped, quote)}."
    for side, held in (("A", diff.a), ("B", diff.b)):
        if held.refusals:
            codes = sorted({finding.code.value for finding in held.refusals})
            yield f"No lock can be made of {side}: {', '.join(codes)}."


PHASE_HEADS = ("first step", "steps", "tokens", "batch", "length", "half-L1", "Hellinger")
MOVE_HEADS = ("share", "change", "tokens read", "epochs")
Number = Callable[[int], str]
"""How tokens are written: whole, or short."""


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
        between(*(percent(None if side is None else side.weight) for side in sides)),
        signed(move.weight_change * 100) if move.weight_change else "0",
        between(*("" if side is None else number(side.tokens) for side in sides)),
        between(*(_epochs(side) for side in sides)),
    ]


def between(a: str, b: str) -> str:
    """`a → b`, or once what is the same."""
    return a if a == b else f"{a or '–'} → {b or '–'}"


def percent(share: Fraction | None) -> str:
    """A share to four digits; nothing for None."""
    return "" if share is None else f"{decimal(share * 100, digits=4)}%"


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


def _masked(side: Side) -> str:
    tokens = sum(mask.tokens for mask in side.masks)
    return f"{tokens:,} tokens" if tokens else "none"


def _domains(count: int) -> str:
    return f"{count:,} domain" if count == 1 else f"{count:,} domains"


def _names(names: Sequence[str], quote: Quote) -> str:
    return _listed([quote(name) for name in names[:NAMED]], more=len(names) - NAMED)


def _listed(words: Sequence[str], *, more: int = 0) -> str:
    parts = [*words, *([f"{more:,} more"] if more > 0 else [])]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
