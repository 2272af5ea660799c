"""The files of a catalog's domains."""

from __future__ import annotations

import glob
import posixpath
from collections.abc import Iterator
from pathlib import Path

from mixture.data.layout import How, LinkedFormat, linked_path
from mixture.data.linking.formats import files_beside
from mixture.data.linking.linked_stores import domain_of
from mixture.data.linking.patterns import matching_objects
from mixture.data.linking.sources import LinkSource
from mixture.data.storage import Address, ObjectOptions, blocks_of, located
from mixture.data.texts import Matcher
from mixture.data.token_files import arrow, is_there, naming
from mixture.errors import IngestError, Place, StoreError
from mixture.units import quote


class Finder:
    """Finds the files of all domains of a catalog, and refuses one that two of them have.

    base: the folder that patterns are relative to
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._matcher = Matcher(base)
        self._owners: dict[str, str] = {}
        self._found: set[tuple[str, str]] = set()

    def files(self, source: LinkSource) -> list[str]:
        """The token files of a domain, in order; those beside them are left out.

        Errors: IngestError `no-files`, `files-shared`, `source-unreadable`; StoreError.
        """
        found = [file for pattern in self._patterns(source) for file in self._find_named(source, pattern)]
        self._check_indices(source, found)
        kept = self._without_beside(source, found)
        if not kept and source.how.format is not LinkedFormat.STORE:  # a store may have a domain without tokens
            message = f"domain {quote(source.name)}: all files that its patterns match are passed over"
            hint = "hidden files, _SUCCESS, *.crc, *.metadata and files beside token files have no tokens"
            raise IngestError(message, code="no-files", place=_place(source), hint=hint)
        return kept

    def files_left(self, source: LinkSource) -> list[str]:
        """The token files of a domain that are still there: none is no error, nor is a store that is gone."""
        found: list[str] = []
        try:
            patterns = list(self._patterns(source))
        except StoreError as error:
            if error.code not in ("store-missing", "domain-not-in-store"):
                raise
            return []
        for pattern in patterns:
            try:
                found += self._find(source, pattern)
            except IngestError as error:
                if error.code != "no-files":
                    raise
        return self._without_beside(source, found)

    def _find_named(self, source: LinkSource, pattern: str) -> list[str]:
        """The same as `_find`; of Megatron's prefix of a pair it says which file of the two is meant."""
        try:
            return self._find(source, pattern)
        except IngestError as error:
            tokens = f"{pattern}.bin"
            if error.code != "no-files" or source.how.format is not LinkedFormat.MEGATRON:
                raise
            if not is_there(linked_path(self._base, tokens)):
                raise
            raise IngestError(error.message, code="no-files", place=error.place, hint=_meant(tokens)) from error

    def _check_indices(self, source: LinkSource, found: list[str]) -> None:
        """Refuse an index of Megatron's whose tokens are not among the files: it would add nothing, silently."""
        if source.how.format is not LinkedFormat.MEGATRON:
            return
        paths = {linked_path(self._base, file) for file in found}
        for file in found:
            tokens = f"{file.removesuffix('.idx')}.bin"
            path = linked_path(self._base, tokens)
            if not file.endswith(".idx") or path in paths:
                continue
            message = (
                f"domain {quote(source.name)}: {quote(file)} is among its files, and {posixpath.basename(path)} is not"
            )
            named = next((pattern for pattern in source.how.patterns if pattern.endswith(".idx")), file)
            hint = _meant(f"{named.removesuffix('.idx')}.bin") if is_there(path) else "it is not there"
            raise IngestError(message, code="no-files", place=_place(source), hint=hint)

    def _find(self, source: LinkSource, pattern: str) -> list[str]:
        place = _place(source)
        address = located(pattern)
        if not isinstance(address, Address):
            return [file.shown for file in self._matcher.find(pattern, source.name, None, place)]
        found = matching_objects(address, blocks_of(ObjectOptions.from_environment()), place)
        return [one for one in found if self._is_new(one, source.name, place)]

    def _is_new(self, address: str, domain: str, place: Place) -> bool:
        """Whether no domain has this object yet."""
        owner = self._owners.setdefault(address, domain)
        if owner != domain:
            message = f"{place.path}: {quote(address)} is an object of the domain {quote(owner)} too"
            hint = "a text in two domains is read twice in an epoch"
            raise IngestError(message, code="files-shared", place=place, hint=hint, domains=(owner, domain))
        is_new = (address, domain) not in self._found
        self._found.add((address, domain))
        return is_new

    def _patterns(self, source: LinkSource) -> Iterator[str]:
        how = source.how
        if how.format is LinkedFormat.STORE:
            assert how.path is not None
            assert how.domain is not None
            with naming(source.name):
                domain = domain_of(linked_path(self._base, how.path), how.domain)
            is_distant = isinstance(located(how.path), Address)
            names = [f"{how.path}/{file.file}" for file in domain.domain.files]
            yield from names if is_distant else map(glob.escape, names)
            return
        for pattern in how.patterns:
            folder = Path(linked_path(self._base, pattern))
            saved = arrow.saved_files(folder) if how.format is LinkedFormat.ARROW and folder.is_dir() else None
            if saved is None:
                yield pattern
            else:
                yield from (glob.escape(f"{pattern}/{file}") for file in saved)

    def _without_beside(self, source: LinkSource, files: list[str]) -> list[str]:
        if source.how.format is LinkedFormat.MEGATRON:
            return [file for file in files if not file.endswith(".idx")]
        if source.how.format is not LinkedFormat.NPY:
            return files
        paths = {file: linked_path(self._base, file) for file in files}
        beside = {one for path in paths.values() for one in _beside(path, source.how)}
        return [file for file in files if paths[file] not in beside and not file.endswith(".metadata")]


def _place(source: LinkSource) -> Place:
    return Place(file=source.place.file, line=source.place.line, column=source.place.column, path=source.name)


def _meant(tokens: str) -> str:
    return f"Megatron's tokens lie in NAME.bin: name the .bin, as in {quote(tokens)}"


def _beside(path: str, how: How) -> list[str]:
    try:
        return files_beside(path, how)
    except StoreError:
        return []  # counting the file says what is missing
