"""What a service shows when it starts, what it leaves out and why, in lines for its operator."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote as quote_path

from mixture.api.database import sweep
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.setting_texts import missing_folders
from mixture.api.settings import Settings, unknown_variables
from mixture.errors import MixtureError
from mixture.units import quote

MOST_NAMES, MOST_PAGES = 20, 5


def overview(settings: Settings, builtin: BuiltinMixtures, address: str) -> Iterator[str]:
    """What is shown: mixtures, where they are from, their pages, and the stores that batches are read from."""
    mixtures = builtin.all()
    folders = [path for path in settings.mixtures_dirs if path.exists()]
    if mixtures:
        what = "1 mixture" if len(mixtures) == 1 else f"{len(mixtures)} mixtures"
        yield f"{what} from {_listed(folders)}: {_some(list(mixtures))}"
        if len(mixtures) <= MOST_PAGES:
            yield from (f"  {address}/mixtures/{quote_path(name)}" for name in mixtures)
    else:
        looked = _listed(path.absolute() for path in settings.mixtures_dirs) or "no folder"
        yield f"No mixtures in {looked}: `mixture demo` makes one in demo/, `mixture serve PATH` shows others"
    stores: dict[Path, list[str]] = {}
    without = []
    for name, mixture in mixtures.items():
        try:
            store = mixture.store
        except MixtureError as error:
            yield f"No batches of {name}: {error}"
            continue
        if store is None:
            without.append(name)
        else:
            stores.setdefault(store.path, []).append(name)
    for path, names in stores.items():
        yield f"Batches of {_some(names)} from {_short(path)}"
    if without:
        yield f"No store holds the text of {_some(without)}: no batches; MIXTURE_STORE_DIRS names folders of stores"


def renamed(builtin: BuiltinMixtures) -> Iterator[str]:
    """The mixtures that are shown under another name than their own, which another folder has, too."""
    for name, mixture in builtin.all().items():
        if mixture.folder is not None and mixture.renamed_from is not None:
            own = quote(mixture.renamed_from)
            yield f"another folder has a mixture {own}, too: that of {_short(mixture.folder)} is shown as {name}"


def swept(settings: Settings) -> Iterator[str]:
    """Remove what processes that were killed left half-written in the data folder, and say how many files."""
    count = sweep(settings.data_dir / "objects", now=time.time())
    if count:
        files = "1 file that was" if count == 1 else f"{count:,} files that were"
        yield f"Removed {files} left unfinished in {_short(settings.data_dir)}"


def left_out(settings: Settings) -> Iterator[str]:
    """What somebody may have meant to be there, and is not: folders, variables. The log says what can not be read."""
    for variable, path in missing_folders(settings):
        yield f"{variable}: there is no folder {path.absolute()}"
    for variable in unknown_variables():
        yield f"{variable} is no setting: it does nothing"


def _some(names: Sequence[str]) -> str:
    """Names between commas, the first of many."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(_short(path) for path in paths)


def _short(path: Path) -> str:
    """A path below this folder from here, another one whole."""
    here = Path.cwd()
    return str(path.absolute().relative_to(here)) if path.absolute().is_relative_to(here) else str(path)
