"""The tables of a spec as they were at a git revision, read into memory."""

from __future__ import annotations

from os.path import normpath
from pathlib import Path

from mixture.data.storage import Address, located
from mixture.errors import MixtureError, Place, nearest
from mixture.file_names import STORE_FILE, STORE_TABLE
from mixture.planning.catalog import TableFile, TableFiles, check_format, no_file
from mixture.planning.compare.git import Revision
from mixture.planning.spec import Spec, named_tables

LFS_POINTER = b"version https://git-lfs"


class RevisionTables(TableFiles):
    """Tables of a revision by the paths that a spec has for them; messages name them as git does, `REV:PATH`.

    path: of the spec, from the repository's top; the spec's own is that with the revision before it
    """

    def __init__(self, revision: Revision, path: Path, spec: Spec) -> None:
        super().__init__()
        self._revision = revision
        self._spec = path
        self._parent = spec.path.parent
        self._named = {table for _, table in named_tables(spec)}

    def _read(self, path: Path, place: Place) -> TableFile:
        written = self._inside(path, place)
        shown = Path(f"{self._revision.name}:{written}")
        table = normpath(written)
        in_store, manifest = f"{table}/{STORE_TABLE}", f"{table}/{STORE_FILE}"
        files = self._revision.read([table, in_store, manifest])
        for name, data in files.items():
            if data is not None and data.startswith(LFS_POINTER):
                message = f"{self._revision.name}:{name} is in Git LFS: git has a pointer to it, and not what it says"
                hint = "compare locks, which hold all that was read of tables"
                raise self._revision.error(message, code="git-lfs", hint=hint)
        if table not in files:
            raise no_file(shown, place, nearest(path.name, self._beside(path)))
        data = files[table]
        if data is None:
            return TableFile.of_store(shown, files.get(in_store), files.get(manifest), place)
        check_format(shown, place)
        return TableFile(shown, data)

    def _beside(self, path: Path) -> list[str]:
        """The other tables of the spec in a table's folder."""
        return [other.name for other in self._named if other.parent == path.parent and other != path]

    def _inside(self, path: Path, place: Place) -> Path:
        """A table's path from the repository's top, as the spec has it."""
        if not isinstance(located(path), Address) and path.is_relative_to(self._parent):
            inside = self._spec.parent / path.relative_to(self._parent)
            if Path(normpath(inside)).parts[:1] != ("..",):
                return inside
        raise MixtureError(
            f"{place.path} is outside of the repository: what it said then is not known",
            code="not-in-revision",
            place=place,
            hint="compare locks, which hold all that was read of their tables",
        )
