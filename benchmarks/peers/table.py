"""What was found, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.peers.long_runs import LongRun
from benchmarks.peers.measure import Found
from benchmarks.peers.schedules import Drawn

OURS, IN_PROCESS = "this stream", "in process"
LOADER = "DataLoader"


def table(found: list[Found], batches: tuple[int, ...]) -> Iterator[str]:
    """A line a way, the fastest of each loader's first."""
    heads = [f"{rows} rows: ÷ m[index]" for rows in batches] + [f"{rows} rows: Mtok/s" for rows in batches]
    heads += ["first batch, ms", "at the last, ms", "memory, MB", "worst prefix, rows"]
    yield f"| loader | way | {' | '.join(heads)} |"
    yield "| --- | --- " + "| ---: " * len(heads) + "|"
    for one in found:
        if one.problem:
            yield f"| {one.loader} | {one.way} | {one.problem} " + "| " * len(heads) + "|"
            continue
        said = one.as_json()
        rates = said["million_tokens_per_second"]
        cells = [_number(one.ratio(rows), 4) for rows in batches] + [_number(rates[str(rows)], 1) for rows in batches]
        cells += [_number(said["first_batch_ms"], 1), _number(one.late_ms, 1), _number(one.held_mb, 0)]
        yield f"| {one.loader} | {one.way} | {' | '.join(cells)} | {_number(one.deviation, 2)} |"


def schedule_table(drawn: list[Drawn]) -> Iterator[str]:
    """A line a schedule."""
    yield "| schedule alone, 200 domains | M positions/s | ÷ choice | worst prefix, sequences |"
    yield "| --- | ---: | ---: | ---: |"
    for one in drawn:
        rate = None if one.positions_per_second is None else one.positions_per_second / 1e6
        cells = [_number(rate, 2), _number(one.ratio_to_choice, 2), _number(one.worst_prefix_deviation, 2)]
        yield f"| {one.name}{f' ({one.problem})' if one.problem else ''} | {' | '.join(cells)} |"


def goals(found: list[Found], batches: tuple[int, ...], long_run: LongRun, memory: list[float]) -> Iterator[str]:
    """Each goal, what was measured, and whether it is met."""
    for rows in batches:
        ours = _best(one for one in found if (one.loader, one.way) == (OURS, IN_PROCESS))
        yield _goal(f"in process, {rows} rows, ÷ m[index]", ours.ratio(rows) if ours else None, 0.9)
        for what, least, kept in (
            ("in process", 10.0, [one for one in found if one.is_peer or one is ours]),
            ("through a DataLoader", 2.0, [one for one in found if LOADER in one.way and "map" not in one.loader]),
        ):
            best = _best((one for one in kept if not one.is_peer), rows)
            peer = _best((one for one in kept if one.is_peer), rows)
            mine, other = best and best.ratio(rows), peer and peer.ratio(rows)
            named = f"{peer.loader}, {peer.way}" if peer else "no peer is here"
            yield _goal(
                f"{what}, {rows} rows, ÷ the fastest peer ({named})", mine / other if mine and other else None, least
            )
    late, ranks = long_run.last_step_ms, long_run.ranks
    yield (
        f"- first batch of one rank of {ranks} of a run of {long_run.sequences:,} sequences: "
        f"{long_run.first_step_ms:.1f} ms at the first step, {late:.1f} ms at the last (goal: below 50): "
        f"{'met' if late < 50 else 'missed'}"
    )
    yield f"- memory after each of {len(memory)} epochs, MB: {', '.join(f'{one:.1f}' for one in memory)}"


def _best(found: Iterator[Found], rows: int | None = None) -> Found | None:
    kept = [one for one in found if not one.problem and (rows is None or one.ratio(rows) is not None)]
    return max(kept, key=lambda one: one.ratio(rows) or 0.0 if rows is not None else 0.0, default=None)


def _goal(what: str, value: float | None, least: float) -> str:
    if value is None:
        return f"- {what}: not measured"
    return f"- {what}: {value:.2f} (goal: {least:g}): {'met' if value >= least else 'missed'}"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
