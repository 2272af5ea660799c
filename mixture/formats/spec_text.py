"""A spec's text from phases with weights: weights of a few domains in it, those of many in a table beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mixture.formats.yaml_text import Row, Written, yaml_text
from mixture.units import format_exact

MOST_LISTED = 24
"""Domains whose weights are listed in the spec."""
WEIGHTS_FILE = "weights.csv"
CATALOG_FILE = "catalog.csv"


@dataclass(frozen=True, slots=True)
class SpecPhase:
    """A phase as it is written: its length as a key and its value, none for the last; decimals by domain."""

    name: str
    extent: tuple[str, str] | None
    weights: Mapping[str, Fraction]
    sequence_length: int | None = None
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class SpecFields:
    """A spec as it is written."""

    mixture: str
    catalog: str
    tokenizer: str | None
    seed: int
    sequence_length: int
    batch: int
    budget: str
    phases: tuple[SpecPhase, ...]


def spec_files(spec: SpecFields, comments: Iterable[str]) -> dict[str, str]:
    """`mixture.yaml`, and `weights.csv` where there are many domains."""
    domains = list(dict.fromkeys(name for phase in spec.phases for name in phase.weights))
    has_table = len(domains) > MOST_LISTED
    columns = [_column(phase) if has_table else None for phase in spec.phases]
    head: dict[str, object] = {"mixture": spec.mixture, "catalog": spec.catalog}
    if spec.tokenizer is not None:
        head["tokenizer"] = spec.tokenizer
    head |= {
        "seed": spec.seed,
        "sequence_length": spec.sequence_length,
        "batch": Written(f"{spec.batch} sequences"),
        "budget": Written(spec.budget),
        "phases": [dict(_phase(phase, column)) for phase, column in zip(spec.phases, columns, strict=True)],
    }
    files = {"mixture.yaml": "".join(f"# {line}\n" for line in comments) + yaml_text(head)}
    if has_table:
        files[WEIGHTS_FILE] = _table(domains, spec.phases)
    return files


def catalog_text(tokens: Mapping[str, int], tokenizer: str | None) -> str:
    """A catalog's table."""
    own = [] if tokenizer is None else [tokenizer]
    columns = ["domain", "tokens", *(["tokenizer"] if own else [])]
    return _csv(columns, ([name, size, *own] for name, size in tokens.items()))


def _column(phase: SpecPhase) -> str:
    """The column of a phase's weights."""
    return f"weight_{phase.name}" if phase.name == "domain" else phase.name


def _phase(phase: SpecPhase, column: str | None) -> Iterator[tuple[str, object]]:
    yield "phase", phase.name
    if phase.extent is not None:
        key, value = phase.extent
        yield key, Written(value)
    if phase.sequence_length is not None:
        yield "sequence_length", phase.sequence_length
    if phase.batch is not None:
        yield "batch", Written(f"{phase.batch} sequences")
    if column is not None:
        yield "weights", Row(table=WEIGHTS_FILE, column=column)
    else:
        # In percent, as a number in quotes would be none.
        yield "weights", {name: Written(f"{format_exact(100 * share)}%") for name, share in phase.weights.items()}


def _table(domains: Sequence[str], phases: Sequence[SpecPhase]) -> str:
    rows = ([name, *(format_exact(phase.weights.get(name, Fraction(0))) for phase in phases)] for name in domains)
    return _csv(["domain", *map(_column, phases)], rows)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows(rows)
    return text.getvalue()
