"""`mixture site`: the pages of mixtures as files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, print_json
from mixture.errors import MixtureError, Place
from mixture.extras import extra

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mixture.api.registry import LoadedMixture
    from mixture.api.site.files import SiteFile


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(
        epilog="Examples: mixture site -o site; then open site/index.html. Of some folders, with the first lines of "
        "typical texts: mixture site -o site mixtures/olmo-3-7b demo --examples snippet. Made again, byte by byte: "
        "mixture site -o site --date 2026.11.29"
    )(site)


def site(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="A spec, a lock, a mixture's folder, or a folder of those. Default: as for `mixture serve`.",
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The folder of sites, one a date.")],
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY.MM.DD", help="What the site is called. Default: today, UTC.")
    ] = None,
    examples: Annotated[
        str, typer.Option("--examples", metavar="none|snippet|full", help="Text of a typical document a cell.")
    ] = "none",
    as_json: AsJson = False,
) -> None:
    """Write all pages of mixtures as files, which need no service: for file://, a bucket, any web server."""
    with extra("api"):
        from mixture.api.settings import ExampleTexts
        from mixture.api.site.files import site_files
        from mixture.api.site.folder import SnapshotMixture, check_date, check_names, site_index, write_site
    if examples not in list(ExampleTexts):
        raise typer.BadParameter(f"{examples!r} is not one of {', '.join(ExampleTexts)}", param_hint="--examples")
    named = date or datetime.now(UTC).strftime("%Y.%m.%d")
    check_date(named)
    site_index(out)  # what would be refused at the end is refused before the work
    mixtures = _mixtures(folders)
    check_names([mixture.name for mixture in mixtures])
    with _progress(mixtures) as progress:
        made = write_site(
            out,
            named,
            [SnapshotMixture(name=mixture.name, digest=mixture.digest) for mixture in mixtures],
            site_files(mixtures, texts=ExampleTexts(examples)),
            progress=progress,
        )
    if as_json:
        print_json({"out": str(out)} | made.model_dump(mode="json"))
        return
    what = "1 mixture" if len(mixtures) == 1 else f"{len(mixtures)} mixtures"
    print(f"{what} in {out / named}: {made.files:,} files, {made.bytes / 1e6:.2f} MB")
    print(f"Open {(out / 'index.html').absolute().as_uri()}, or put {out} on any web server or bucket.")


def _mixtures(folders: Sequence[Path] | None) -> list[LoadedMixture]:
    """The mixtures in folders. Raises MixtureError where one can not be read, or there is none."""
    from mixture.api.registry import BuiltinMixtures, Stores
    from mixture.api.settings import load_settings

    settings = load_settings()
    asked = settings.mixtures_dirs if folders is None else tuple(folders)
    for folder in folders or ():
        if not folder.exists():
            raise MixtureError("there is no such file or folder", code="no-mixtures", place=Place(file=str(folder)))
    builtin = BuiltinMixtures(asked, settings.store_dirs, Stores(settings.store_dirs))
    found = list(builtin.all().values())
    for left in builtin.left_out():
        raise left.cause
    if not found:
        looked = ", ".join(map(str, asked))
        hint = "a folder with mixture.yaml and mixture.lock.json is one; `mixture demo` makes one in demo/"
        raise MixtureError(f"no mixtures in {looked}", code="no-mixtures", hint=hint)
    return found


@contextmanager
def _progress(mixtures: Sequence[LoadedMixture]) -> Iterator[Callable[[SiteFile], None]]:
    """A line a mixture on standard error, when its pages are begun."""
    names = {mixture.name for mixture in mixtures}

    def update(file: SiteFile) -> None:
        folder, _, rest = file.path.partition("/")
        name = rest.partition("/")[0]
        if folder == "mixtures" and name in names:
            names.remove(name)
            print(f"writing {name}", file=sys.stderr, flush=True)

    yield update
