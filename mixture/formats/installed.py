"""Formats by name: those that come with the library, and those of installed packages, by their entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from mixture.errors import FormatError
from mixture.formats.format import MixtureFormat
from mixture.units import quote

GROUP = "mixture.formats"
"""The group of entry points, each a MixtureFormat under its name."""


class Formats(Mapping[str, MixtureFormat]):
    """The library's own formats, in order, and those of other packages, by name. A package's is loaded when it is used.

    Raises FormatError: `format-not-loaded` where a package fails or gives something else; `format-name-taken` where two
    have the same name, or one has a name of the library's own.
    """

    def __init__(self, own: Sequence[MixtureFormat]) -> None:
        self._own = {form.name: form for form in own}
        self._loaded: dict[str, MixtureFormat] = {}

    @cached_property
    def _installed(self) -> Mapping[str, list[EntryPoint]]:
        points: dict[str, list[EntryPoint]] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
            points.setdefault(point.name, []).append(point)
        return points

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._own, *self._installed))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> MixtureFormat:
        points = self._installed.get(name, [])
        if len(points) + (name in self._own) > 1:
            owners = [*(["the library itself"] if name in self._own else []), *map(_package, points)]
            raise FormatError(
                f"the format name {quote(name)} is taken by {' and by '.join(owners)}",
                code="format-name-taken",
                hint="remove a package, or rename its format",
                name=name,
            )
        if points and name not in self._loaded:
            self._loaded[name] = _load(points[0])
        return self._loaded[name] if points else self._own[name]


def _load(point: EntryPoint) -> MixtureFormat:
    try:
        form = point.load()
    except Exception as error:
        message = f"the format {quote(point.name)} of {_package(point)} cannot be loaded: {error!r}"
        raise FormatError(message, code="format-not-loaded", name=point.name) from error
    if not isinstance(form, MixtureFormat) or form.name != point.name:
        message = f"{point.value} of {_package(point)} is not a MixtureFormat with the name {quote(point.name)}"
        raise FormatError(message, code="format-not-loaded", name=point.name)
    return form


def _package(point: EntryPoint) -> str:
    return "a package" if point.dist is None else f"the package {point.dist.name}"
