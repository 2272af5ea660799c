"""`mixture sample`: a smaller corpus in a mixture's shares."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.data.store import StoreFolder
from mixture.cli.output import AsJson, LockFile, plain, print_json, print_table, table
from mixture.cli.planning.plan import SHOWN_DOMAINS
from mixture.errors import UnitError
from mixture.units import percent

if TYPE_CHECKING:
    from mixture.stream import Sample


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture sample run.lock.json --store store --tokens 100M -o sample.parquet")(sample)


def sample(
    lock: LockFile,
    store: StoreFolder,
    tokens: Annotated[str, typer.Option(metavar="TOKENS", help="How many, such as 100M.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="A Parquet file.")],
    phase: Annotated[str | None, typer.Option(metavar="NAME", help="Of this phase only. Default: of all.")] = None,
    *,
    text: Annotated[bool, typer.Option("--text", help="A column more: the text of each row.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every domain, not only the largest.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a smaller corpus in the shares of a run: sequences that it reads, spread over all of it.

    Each domain's share is exact to one sequence, in every phase and over the run. Datasets, DuckDB and pandas read it.
    """
    from rich.console import Console
    from rich.progress import Progress

    from mixture.data.store import open_store
    from mixture.lock import read_lock
    from mixture.stream import choose_sample, write_sample

    chosen = choose_sample(read_lock(lock), _tokens(tokens), phase=phase)
    err = Console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bars:
        task = bars.add_task("sample", total=None)
        write_sample(
            chosen,
            open_store(store),
            out.resolve(),
            with_text=text,
            progress=lambda done, total: bars.update(task, completed=done, total=total),
        )
    if as_json:
        print_json({"file": str(out), **_json(chosen)})
        return
    show(chosen, most=None if every else SHOWN_DOMAINS)
    down = chosen.masked_rows
    if down:
        print(
            f"{down:,} {'sequence is' if down == 1 else 'sequences are'} (partly) taken down: column masked says where"
        )
    print(f"{out}: written, {len(chosen.rows):,} rows, {chosen.tokens:,} tokens")


def _tokens(text: str) -> int:
    from mixture.units import Unit, parse_count

    try:
        return parse_count(text, units=(Unit.TOKENS,), bare=Unit.TOKENS).amount
    except UnitError as error:
        raise typer.BadParameter(str(error), param_hint="--tokens") from error


def show(chosen: Sample, *, most: int | None) -> None:
    """Print the sequences of each phase and of the `most` largest domains, with their shares of sample and run."""
    names = chosen.lock.schedule().names
    in_all, in_run = int(chosen.sequences.sum()), int(chosen.drawn.sum())
    phases = table("Phases", "<phase", "sequences", "of the sample", "of the run")
    for phase, own, drawn in zip(chosen.phases, chosen.sequences, chosen.drawn, strict=True):
        count = int(own.sum())
        phases.add_row(plain(phase.name), f"{count:,}", _share(count, in_all), _share(int(drawn.sum()), in_run))
    print_table(phases)
    domains = table("Domains", "<domain", "sequences", "of the sample", "of the run")
    counts, drawn = chosen.sequences.sum(axis=0).tolist(), chosen.drawn.sum(axis=0).tolist()
    order = sorted((d for d in range(len(names)) if drawn[d]), key=lambda d: (-counts[d], d))
    for d in order[:most]:
        domains.add_row(plain(names[d]), f"{counts[d]:,}", _share(counts[d], in_all), _share(drawn[d], in_run))
    print_table(domains)
    if most is not None and len(order) > most:
        print(f"… and {len(order) - most} more domains; --all shows them\n")


def _share(part: int, whole: int) -> str:
    return percent(Fraction(part, whole), digits=4)


def _json(chosen: Sample) -> dict[str, object]:
    names = chosen.lock.schedule().names
    return {
        "lock": chosen.lock.digest,
        "sequences": len(chosen.rows),
        "tokens": chosen.tokens,
        "masked_sequences": chosen.masked_rows,
        "phases": [
            {
                "phase": phase.name,
                "sequences": int(own.sum()),
                "run_sequences": int(drawn.sum()),
                "domains": [
                    {"domain": names[d], "sequences": n, "run_sequences": r}
                    for d, (n, r) in enumerate(zip(own.tolist(), drawn.tolist(), strict=True))
                    if r
                ],
            }
            for phase, own, drawn in zip(chosen.phases, chosen.sequences, chosen.drawn, strict=True)
        ],
    }
