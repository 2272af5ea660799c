"""What a lock says that no file of a trainer does, in words: order, phases, caps, pools, masks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mixture.formats.format import Holds, MixtureFormat, Remark, WeightUnit
from mixture.formats.stages import Run, Stage, stages_of
from mixture.units import quote
from mixture.wording import NAMED, counted, listed, names_of


def lost(run: Run, form: MixtureFormat) -> Iterator[Remark]:
    """What the format cannot express of this run, and how exact it is."""
    yield _unit(run)
    yield Remark("draws", form.draws)
    if form.version is not None:
        yield Remark("version", f"written for {form.version}")
    yield Remark("order-not-kept", "the trainer chooses the order of sequences: the lock's order is not in the file")
    yield Remark("caps-not-kept", "caps on epochs (`max_epochs`) are checked in the plan, not by the trainer")
    yield from _phases(run, form)
    yield from _read_again(run, form)
    yield from _zeros(run)
    yield from _text(run)


def _unit(run: Run) -> Remark:
    match run.unit:
        case WeightUnit.DOCUMENTS:
            said = "weights count documents: token shares divided by each domain's mean length in tokens, to 17 digits"
        case WeightUnit.SEQUENCES:
            said = "weights count sequences of one length, whose shares are those of the tokens, exact to 10^-15"
        case _:
            said = "weights count tokens, exact to 10^-15"
    return Remark("unit", said)


def _phases(run: Run, form: MixtureFormat) -> Iterator[Remark]:
    stages = run.stages
    lengths = list(dict.fromkeys(stage.sequence_length for stage in stages))
    batches = list(dict.fromkeys(stage.batch_sequences for stage in stages))
    if len(stages) > 1 and Holds.PHASES not in form.holds:
        starts = ", ".join(f"{stage.name} at step {stage.run_step:,}" for stage in stages)
        yield Remark(
            "phases-in-files", f"the format has no phases: each phase has a file, to continue with from {starts}"
        )
    elif len(lengths) > 1 and Holds.LENGTHS not in form.holds:
        said = " and ".join(f"{length:,}" for length in lengths)
        message = f"each sequence length ({said} tokens) has a file, whose steps count from its own start"
        yield Remark("lengths-in-files", message)
    if len(batches) > 1 and Holds.PHASES in form.holds and Holds.BATCHES not in form.holds:
        said = " and ".join(f"{batch:,}" for batch in batches)
        yield Remark(
            "batches-not-kept", f"the batch changes during the run ({said} sequences), but the format holds one"
        )


def _read_again(run: Run, form: MixtureFormat) -> Iterator[Remark]:
    """Text of earlier phases that the trainer reads again, where its datasets start again and the lock continues."""
    pieces = [piece for piece, _ in run.groups(form.holds if form.continues else frozenset())]
    if not pieces[-1].stages[0].run_step:
        return
    every, said = stages_of(run.lock), []
    for piece in pieces:
        first, last = piece.stages[0].run_step, piece.stages[-1]
        before = _tokens_of(stage for stage in every if stage.run_step < first)
        now = _tokens_of(stage for stage in every if first <= stage.run_step <= last.run_step)
        if not before:
            continue
        again = in_lock = 0
        for d, domain in enumerate(run.domains):
            seen = min(before[d], domain.tokens)
            again += now[d] - max(0, min(now[d], domain.tokens) - seen)
            in_lock += now[d] - max(0, min(now[d], domain.held - min(before[d], domain.held)))
        if again > in_lock:
            said.append(f"up to {again:,} of {sum(now):,} tokens in {piece.stages[0].name} ({in_lock:,} in the lock)")
    if said:
        message = "a later phase starts each domain from its beginning and reads text of earlier phases again: "
        yield Remark("read-again", message + listed(said[:NAMED], more=len(said) - NAMED))


def _tokens_of(stages: Iterable[Stage]) -> list[int]:
    """What stages draw of each domain; empty where there is no stage."""
    rows = [[count * stage.sequence_length for count in stage.sequences] for stage in stages]
    return [sum(column) for column in zip(*rows, strict=True)]


def _zeros(run: Run) -> Iterator[Remark]:
    zero = [domain.name for d, domain in enumerate(run.domains) if not any(stage.weights[d] for stage in run.stages)]
    if zero:
        yield Remark(
            "never-drawn", f"{counted(len(zero), 'domain')} with weight 0 in every phase: {names_of(zero, quote)}"
        )


def _text(run: Run) -> Iterator[Remark]:
    pools = run.lock.data.pools
    if pools:
        yield Remark(
            "pools-not-kept",
            f"the lock reads only a part of {counted(len(pools), 'domain')}: {names_of(list(pools), quote)}",
        )
    if run.lock.masks:
        yield Remark(
            "masks-not-kept",
            f"the lock masks {counted(len(run.lock.masks), 'range')} of text, which the trainer would read",
        )
    skipped = sum(segment.skip for segment in run.lock.data.segments)
    if skipped:
        yield Remark("skips-not-kept", f"the lock skips {counted(skipped, 'sequence')}, which the trainer would read")
