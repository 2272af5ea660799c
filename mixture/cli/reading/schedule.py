"""`mixture positions|counts|find|handoffs|history`: what a lock says about any place in the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, LockFile, output_file, print_columns, print_json
from mixture.cli.planning.steps import STEP_HELP, StepText, parse_step

if TYPE_CHECKING:
    from mixture.schedule import Rows, Schedule

PLACE = ("position", "step", "slot", "epoch")

Steps = Annotated[
    list[StepText],
    typer.Option(
        "--step", parser=parse_step, metavar="S…", help=f"One past the last is the end of the run. {STEP_HELP}"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command(epilog="Example: mixture positions run.lock.json --position 0 17 4000000000")(positions)
    app.command(epilog="Example: mixture counts run.lock.json --step 0 108000")(counts)
    app.command(epilog="Example: mixture find run.lock.json c12q3 5000000")(find)
    app.command(epilog="Example: mixture handoffs run.lock.json --json")(handoffs)
    app.command(epilog="Example: mixture history run.lock.json --step 108000")(history)


def _schedule(lock: Path) -> Schedule:
    from mixture.lock import read_lock

    return read_lock(lock).schedule()


def positions(
    lock: LockFile,
    position: Annotated[list[int] | None, typer.Option(metavar="N…", help="These positions, in this order.")] = None,
    first_position: Annotated[int | None, typer.Option(metavar="A", help="The first position of a range.")] = None,
    last_position: Annotated[int | None, typer.Option(metavar="B", help="The last position of the range.")] = None,
    arrow: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an Arrow IPC file instead.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show which sequence of which domain stands at positions of the run."""
    from mixture.schedule import COLUMNS

    schedule = _schedule(lock)
    if position is not None and first_position is None and last_position is None:
        chunks = iter([schedule.at(position)])
    elif position is None and first_position is not None and last_position is not None:
        if last_position < first_position:
            raise typer.BadParameter(f"--first-position {first_position} comes after --last-position {last_position}")
        schedule.step_of(first_position)
        chunks = schedule.iter_rows(first_position, last_position - first_position + 1)
    else:
        raise typer.BadParameter("use --position N…, or --first-position A and --last-position B")
    if arrow is not None:
        _write_arrow(schedule, chunks, arrow)
        return
    rows: Iterator[tuple[object, ...]] = (row for chunk in chunks for row in _rows(schedule, chunk))
    if as_json:
        for row in rows:
            print_json(dict(zip(COLUMNS, row, strict=True)))
    else:
        rows = chain(list(islice(rows, 1)), rows)  # what is refused is refused before the columns are named
        print_columns(COLUMNS, rows, text={"domain": _widest(schedule)})


def _widest(schedule: Schedule) -> int:
    return max(len(name) for name in schedule.names)


def _rows(schedule: Schedule, rows: Rows) -> Iterator[tuple[object, ...]]:
    columns = {name: column.tolist() for name, column in schedule.columns(rows).items()}
    columns["domain"] = [schedule.names[d] for d in columns["domain"]]
    return zip(*columns.values(), strict=True)


def _write_arrow(schedule: Schedule, chunks: Iterator[Rows], path: Path) -> None:
    import pyarrow as pa

    from mixture.stream import POSITIONS, positions_batch

    with output_file(path) as beside, pa.OSFile(str(beside), "wb") as sink, pa.ipc.new_file(sink, POSITIONS) as writer:
        for rows in chunks:
            writer.write_batch(positions_batch(schedule, rows))


def counts(lock: LockFile, step: Steps, *, as_json: AsJson = False) -> None:
    """Show how many sequences each domain has given before steps, of any length."""
    schedule = _schedule(lock)
    steps = [one.of(schedule.steps) for one in step]
    found = [schedule.counts(s).tolist() for s in steps]
    if as_json:
        for one in found:
            print_json(dict(zip(schedule.names, one, strict=True)))
    else:
        rows = zip(schedule.names, *found, strict=True)
        print_columns(("domain", *(f"step {s}" for s in steps)), rows, text={"domain": _widest(schedule)})


def find(
    lock: LockFile,
    domain: Annotated[str, typer.Argument(metavar="DOMAIN")],
    token: Annotated[int, typer.Argument(metavar="TOKEN", help="An offset in the domain's tokens, from 0.")],
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show every position whose sequence holds a token."""
    schedule = _schedule(lock)
    found = islice(schedule.iter_places(domain, token), limit)
    if as_json:
        for one in found:
            print_json(asdict(one))
        return
    count = 0

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal count
        for one in found:
            count += 1
            yield astuple(one)

    print_columns(PLACE, rows(), text={})
    if count == limit:
        print(f"the first {count} times that token {token} of '{domain}' is read in this run")
    else:
        print(f"token {token} of '{domain}' is read {count} time{'' if count == 1 else 's'} in this run")
    if not count and schedule.counts(schedule.steps)[schedule.domain_index(domain)]:
        print("  it lies where no whole sequence does, behind the last one, or its turn does not come")


def handoffs(lock: LockFile, *, as_json: AsJson = False) -> None:
    """Show the tokens that domains leave unread where the length changes or text is skipped."""
    schedule = _schedule(lock)
    for handoff in schedule.handoffs():
        skipped = dict(zip(schedule.names, handoff.tokens_skipped, strict=True))
        if as_json:
            print_json({"first_step": handoff.first_step, "tokens_skipped": skipped})
            continue
        print(f"step {handoff.first_step}: {sum(skipped.values()):,} tokens skipped")
        for name, tokens in skipped.items():
            if tokens:
                print(f"  {name:<{_widest(schedule)}}  {tokens:>20,}")


def history(lock: LockFile, step: Steps, *, as_json: AsJson = False) -> None:
    """Show the digest of all that decides what is read before steps: equal in all locks that agree so far."""
    schedule = _schedule(lock)
    for s in (one.of(schedule.steps) for one in step):
        digest = schedule.history(s)
        if as_json:
            print_json({"step": s, "history": digest})
        else:
            print(f"{s:>12}  {digest}")
