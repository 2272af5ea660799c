"""The overview of a catalog: what its clusters are about, which documents are typical of a domain, how it was made."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from mixture.errors import CatalogError, Place, nearest
from mixture.json_text import by_line
from mixture.planning.catalog.json_value import parse_value
from mixture.planning.catalog.reading import file_text
from mixture.units import quote
from mixture.whole_file import whole_file

OVERVIEW = "overview.json"
"""The file's name in a store, and in a mixture's folder."""

MOST_TYPICAL = 20
_MOST_BYTES = 1 << 26
_LONGEST_TITLE = 300  # pages show it whole


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, YYYY-MM-DD."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _day(text: str) -> str:
    if not is_day(text):
        raise ValueError(f"{quote(text)} is no day of the calendar, YYYY-MM-DD")
    return text


def _ascending(numbers: tuple[float, ...]) -> tuple[float, ...]:
    for one, following in pairwise(numbers):
        if following < one:
            raise ValueError(f"{following} comes after {one}, and they ascend")
    return numbers


_Count = Annotated[int, Field(ge=0, lt=1 << 63)]
_Name = Annotated[str, Field(min_length=1)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_Title = Annotated[str, Field(max_length=_LONGEST_TITLE)]


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class OverviewCluster(_Model):
    """A cluster: its value in the column of the rows, a title, its top terms; documents and tokens where known."""

    id: _Name
    title: _Title
    terms: tuple[_Title, ...] = ()
    documents: _Count | None = None
    tokens: _Count | None = None


class OverviewDomain(_Model):
    """A domain: the ids of documents typical of it, nearest to the centroid first, at most 20."""

    domain: _Name
    typical: Annotated[tuple[str, ...], Field(max_length=MOST_TYPICAL)] = ()


class QualityFeature(_Model):
    """A feature that quality was measured by, and what it weighs in the score, as a share of 1."""

    name: _Name
    about: str = ""
    weight: Annotated[float, Field(ge=0, le=1)]


class OverviewQuality(_Model):
    """How documents were scored, and the scores at which one level ends and the next begins, ascending."""

    features: tuple[QualityFeature, ...] = ()
    cut_offs: Annotated[tuple[_Number, ...], AfterValidator(_ascending)] = ()
    about: str = ""


class OverviewSource(_Model):
    """Where documents came from."""

    name: _Name
    documents: _Count | None = None
    bytes: _Count | None = None


class OverviewMade(_Model):
    """How the clusters were made. Of clusters that others published, `method` says whose they are.

    k, k_train:  how many clusters there are, and how many there were before they were merged
    digest:      the SHA-256 of which document is in which domain
    """

    method: _Name
    embedding: str | None = None
    k: _Count | None = None
    k_train: _Count | None = None
    seed: _Count | None = None
    documents: _Count | None = None
    bytes: _Count | None = None
    sources: tuple[OverviewSource, ...] = ()
    date: Annotated[str, AfterValidator(_day)] | None = None
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    notes: str = ""


class Overview(_Model):
    """What an overview.json says. All ids are strings.

    rows, columns:  the catalog's columns whose values are the rows and the columns of the map
    clusters:       the rows, by their id
    domains:        those of which something is known; a catalog may have more
    quality:        None: the levels were there, or it is not known how they were made
    """

    format: Literal[1] = 1
    rows: _Name = "cluster"
    columns: _Name = "quality"
    clusters: tuple[OverviewCluster, ...]
    domains: tuple[OverviewDomain, ...] = ()
    quality: OverviewQuality | None = None
    made: OverviewMade


def read_overview(path: str | os.PathLike[str], *, place: Place | None = None) -> Overview:
    """Read an overview.json; place is where another file names it. Errors: CatalogError.

    Codes: `overview-format`, `overview-field`, `overview-twice`, with the path of keys; `bad-json`, `not-text`,
    `overview-too-large`, `file-missing`, `file-unreadable`.
    """
    path = Path(path)
    value = parse_value(path, file_text(path, _bytes(path, place or Place(file=str(path)))))
    _check_characters(path, value)
    if not isinstance(value, dict) or value.get("format") != 1 or isinstance(value["format"], bool):
        found = f"`format` is {value.get('format')!r}" if isinstance(value, dict) else "it is no JSON object"
        place = Place(file=str(path), path="format")
        raise CatalogError(f"this is no overview of format 1: {found}", code="overview-format", place=place)
    try:
        # As JSON, for which strict models take an array as a tuple.
        overview = Overview.model_validate_json(json.dumps(value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
        said = (
            "nothing reads this key"
            if first["type"] == "extra_forbidden"
            else first["msg"].removeprefix("Value error, ")
        )
        place = Place(file=str(path), path=key)
        raise CatalogError(f"{key}: {said}", code="overview-field", place=place) from error
    for key, name in _twice(overview):
        place = Place(file=str(path), path=key)
        raise CatalogError(f"{key}: {quote(name)} stands there twice", code="overview-twice", place=place)
    return overview


def write_overview(overview: Overview, path: str | os.PathLike[str]) -> None:
    """Write an overview.json, a cluster and a domain a line, by rename. Errors: OSError."""
    with whole_file(Path(path)) as beside:
        beside.write_text(by_line(overview.model_dump(mode="json")), encoding="utf-8", newline="\n")


def check_overview(overview: Overview, path: Path, *, domains: Collection[str], columns: Collection[str]) -> None:
    """Refuse an overview, read from this path, of domains or columns that a catalog does not have.

    Errors: CatalogError `unknown-domain`, `missing-column`, with the path of keys.
    """
    for number, domain in enumerate(overview.domains):
        if domain.domain not in domains:
            key = f"domains[{number}].domain"
            raise CatalogError(
                f"{key}: unknown domain {quote(domain.domain)}",
                code="unknown-domain",
                place=Place(file=str(path), path=key),
                hint=nearest(domain.domain, domains),
                name=domain.domain,
            )
    for key, column in (("rows", overview.rows), ("columns", overview.columns)):
        if column not in columns:
            raise CatalogError(
                f"{key}: the catalog has no column {quote(column)}",
                code="missing-column",
                place=Place(file=str(path), path=key),
                hint=nearest(column, columns) or f"its columns: {', '.join(quote(name) for name in columns)}",
                column=column,
            )


def _bytes(path: Path, place: Place) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise CatalogError(f"there is no file {path}", code="file-missing", place=place) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise CatalogError(f"can not read {path}: {reason}", code="file-unreadable", place=place) from error
    if len(data) > _MOST_BYTES:
        message = f"an overview has at most {_MOST_BYTES:,} bytes"
        raise CatalogError(message, code="overview-too-large", place=Place(file=str(path)))
    return data


def _check_characters(path: Path, value: object) -> None:
    """JSON can write half of a character of UTF-16, and UTF-8 can not."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        message = f"a text holds {half}, half of a character"
        hint = "a character beyond U+FFFF is written as two \\u…, or as itself"
        raise CatalogError(message, code="not-text", place=Place(file=str(path)), hint=hint) from error


def _twice(overview: Overview) -> Iterator[tuple[str, str]]:
    """Ids and names that stand there again, with the path of keys."""
    for key, names in (
        ("clusters[{}].id", [cluster.id for cluster in overview.clusters]),
        ("domains[{}].domain", [domain.domain for domain in overview.domains]),
    ):
        seen: set[str] = set()
        for number, name in enumerate(names):
            if name in seen:
                yield key.format(number), name
            seen.add(name)
