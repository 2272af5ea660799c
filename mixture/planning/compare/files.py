"""Sides of a comparison from what a person names: a spec, a lock, or either at a git revision."""

from __future__ import annotations

from dataclasses import replace
from os.path import normpath
from pathlib import Path

from mixture.errors import MixtureError, Place
from mixture.file_names import SPEC_FILE
from mixture.lock import parse_lock, read_lock
from mixture.planning.catalog import Catalog, read_catalog
from mixture.planning.compare.git import Revision
from mixture.planning.compare.revision_tables import RevisionTables
from mixture.planning.compare.sides import Side, no_catalog, side_of
from mixture.planning.plan import make_plan, read_inputs
from mixture.planning.spec import parse_spec, read_spec
from mixture.units import quote

SPEC_SUFFIXES = (".yaml", ".yml")


def read_sides(a: str, b: str, *, catalog: Catalog | None = None, by: str | None = None) -> tuple[Side, Side]:
    """The two sides that texts name, each one of

    - the path of a spec or a lock
    - ``REV:path``, as git writes it: the path from the repository's top, or, with `./`, from this folder
    - a revision: the path that the other one names, at this revision

    A lock is a file that begins with `{`. The tables of a spec at a revision are those of the revision.
    catalog: the table of a lock's domains
    by:      the column that is asked of it; without a table that of the spec beside the lock is taken, or the other
             side's, where it has the lock's domains

    Raises MixtureError: `file-missing` where it is neither a file nor a revision of one, `not-in-revision`,
    `unknown-revision`, `not-a-repository`, `git-missing`, `git-failed`, `git-lfs`; and what specs, locks and plans
    raise.
    """
    sides = _side(a, b, catalog), _side(b, a, catalog)
    if by is None:
        return sides
    one, two = (_with_catalog(side, beside_lock(Path(text))) for side, text in zip(sides, (a, b), strict=True))
    return _with_catalog(one, two.catalog), _with_catalog(two, one.catalog)


def _with_catalog(side: Side, catalog: Catalog | None) -> Side:
    """The side with this catalog, if it has none and this one has its domains."""
    if side.catalog is not None or catalog is None or not set(side.sizes) <= set(catalog.names):
        return side
    return replace(side, catalog=catalog)


def beside_lock(path: Path) -> Catalog | None:
    """The catalog of the spec that lies beside a lock file, under its name or as mixture.yaml; None without one."""
    if not is_lock(path):
        return None
    names = f"{path.name.removesuffix('.json').removesuffix('.lock')}.yaml", SPEC_FILE
    for spec in (path.with_name(name) for name in names):
        try:
            return given_catalog(spec)
        except MixtureError:
            continue  # what is looked for, and not asked for, need not be there
    return None


def given_catalog(path: Path) -> Catalog:
    """The table of domains at a path, or, where a spec (`.yaml`, `.yml`) is there, the one that it names."""
    if path.suffix.lower() not in SPEC_SUFFIXES:
        return read_catalog(path)
    source = read_spec(path).catalog
    return read_catalog(source.path, domain=source.domain)


def catalog_of(lock: Path, table: Path | None, *, needed_for: str) -> Catalog:
    """The table of a lock's domains: the one given, or that of the spec beside it.

    needed_for: the column that is wanted of it. Raises CatalogError, `no-catalog`, where there is neither.
    """
    found = beside_lock(lock) if table is None else given_catalog(table)
    if found is None:
        raise no_catalog(str(lock), needed_for)
    return found


def read_side(path: Path, *, catalog: Catalog | None) -> Side:
    """A spec's or a lock's side, named by its path."""
    if is_lock(path):
        return side_of(read_lock(path), name=str(path), catalog=catalog)
    return side_of(make_plan(read_spec(path)), name=str(path))


def read_revision(revision: Revision, path: str, *, catalog: Catalog | None) -> Side:
    """The side of a spec or a lock at a revision, by its path from the repository's top."""
    name = f"{revision.name}:{path}"
    data = revision.read([path]).get(path)
    if data is None:
        hint = "paths are from the repository's top; ./PATH is from this folder"
        raise revision.error(f"revision {quote(revision.name)} has no file {path}", code="not-in-revision", hint=hint)
    if _says_lock(data):
        return side_of(parse_lock(data, place=Place(file=name)), name=name, catalog=catalog)
    spec = parse_spec(data, path=Path(name))
    return side_of(make_plan(spec, read_inputs(spec, tables=RevisionTables(revision, Path(path), spec))), name=name)


def _side(text: str, other: str, catalog: Catalog | None) -> Side:
    if Path(text).exists() and not Path(text).is_dir():  # a folder may have the name of a branch
        return read_side(Path(text), catalog=catalog)
    name, colon, path = text.partition(":")
    if colon:
        revision = Revision(name, Path())
        return read_revision(revision, revision.path(path), catalog=catalog)
    if Path(other).exists():
        revision = Revision(text, Path(other).parent)
        try:
            held = normpath(revision.prefix() + Path(other).name)
            return read_revision(revision, held, catalog=catalog)
        except MixtureError as error:
            if error.code in ("not-a-repository", "git-missing"):
                error.message = f"there is no file {quote(text)}, and {error.message}"
            if error.code == "not-in-revision" and error.place is None:
                error.hint = f"another file of it is compared by {text}:PATH, with the path from the repository's top"
            raise
    if ":" in other:
        revision, path = Revision(text, Path()), other.partition(":")[2]
        return read_revision(revision, revision.path(path), catalog=catalog)
    raise MixtureError(
        f"there is no file {quote(text)}",
        code="file-missing",
        hint="a spec, a lock, REV:PATH, or a revision of the file that the other one names is right here",
    )


def is_lock(path: Path) -> bool:
    """Whether a file is a lock, and no spec; False too where it can not be read."""
    try:
        with path.open("rb") as file:
            return _says_lock(file.read(4096))
    except OSError:
        return False  # whoever reads it as a spec says what is wrong with it


def _says_lock(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
