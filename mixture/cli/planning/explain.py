"""`mixture explain`: what a lock is and came from, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, LockFile, print_json, printable

if TYPE_CHECKING:
    from mixture.lock import Lock
    from mixture.planning.explain import Explanation


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture explain run.lock.json · mixture explain new.lock.json --with old.lock.json")(
        explain
    )


def explain(
    lock: LockFile,
    ancestor: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="OLD", help="A lock that it was amended from; those beside it are found."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Say in words what a lock is: its run, its amendments, and which checkpoints may go on under it."""
    from mixture.lock import lineage_of, read_lock
    from mixture.planning.explain import explain as explained
    from mixture.planning.explain import explanation_json

    one = read_lock(lock)
    given = [read_lock(path) for path in ancestor or ()]
    wanted = {amends.lock for amends in lineage_of(one)} - {held.digest for held in given}
    found = explained(one, ancestors=[*given, *_beside(lock, wanted)])
    print_json(explanation_json(found)) if as_json else _show(found)


def _beside(lock: Path, wanted: Collection[str]) -> Iterator[Lock]:
    """The lock files of its folder with one of these digests. A file that is damaged is none that was asked for."""
    from mixture.errors import LockError
    from mixture.json_text import parse_json
    from mixture.lock import read_lock

    left = set(wanted)
    for path in sorted(lock.absolute().parent.glob("*.lock.json")) if left else ():
        try:
            digest = parse_json(path.read_bytes())["digest"]
            if digest in left:
                yield read_lock(path)
                left.discard(digest)
        except (OSError, ValueError, KeyError, TypeError, LockError):
            continue


def _show(found: Explanation) -> None:
    from mixture.planning.explain import (
        amendment_head,
        amendment_words,
        lineage_words,
        phase_words,
        resumable_words,
        run_words,
    )

    def quote(name: str) -> str:
        return repr(printable(name))

    print(f"{printable(found.mixture)}, lock {found.digest}")
    print(run_words(found))
    for phase in found.phases:
        print(f"  {phase_words(phase, quote)}")
    print(f"\n{lineage_words(found)}")
    for one in found.amendments:
        print(f"\n{amendment_head(one)}")
        for words in amendment_words(one, quote):
            print(f"  {words}")
    print("\nCheckpoints that may go on under it:")
    for resumable in found.resumable:
        print(f"  {resumable_words(resumable)}")
