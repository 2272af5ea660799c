"""A spec file from its bytes to a Spec, with everything that is wrong in it said at once."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mixture.errors import MixtureError, Place, SpecError
from mixture.file_kinds import says_lock
from mixture.planning.spec.finding_codes import FindingCode
from mixture.planning.spec.models import Budget, CatalogSource, Shuffle, Spec
from mixture.planning.spec.phases import (
    BATCH,
    LARGEST_SIZE,
    LENGTH,
    phases_schema,
    read_batch,
    read_phases,
    read_sequence_length,
)
from mixture.planning.spec.source import decode_source, read_source
from mixture.planning.yamlfile import (
    DOMAINS,
    EPOCHS,
    NAME,
    TEXT,
    Gatherer,
    Key,
    Keys,
    Mapping,
    Node,
    SpecFileError,
    any_of,
    count,
    key_places,
    parse_document,
    read_count,
    read_domain,
    read_epochs,
    read_list,
    read_name,
    read_number,
    read_path,
    read_text,
    read_whole,
    read_word,
    refuse,
    unique_entries,
    words,
)
from mixture.units import Unit, parse_count


def read_spec(path: str | Path) -> Spec:
    """Reads a spec file. Raises SpecFileError, a SpecError whose `errors` are all that is wrong in the file."""
    path = Path(path)
    try:
        data = read_source(path)
    except MixtureError as error:
        raise SpecFileError([error]) from error
    return parse_spec(data, path=path)


def parse_spec(data: bytes, *, path: Path) -> Spec:
    """A spec from the bytes of its file, as `read_spec` does; paths in it are relative to the folder of `path`.

    Bytes of a lock are one error, `not-a-spec`.
    """
    if says_lock(data):
        wrong = SpecError(
            "this is a lock", code="not-a-spec", place=Place(file=str(path)), hint="`mixture explain` shows it"
        )
        raise SpecFileError([wrong])
    try:
        root = parse_document(decode_source(data, file=str(path)), file=str(path))
        fields = SPEC.read(root)
    except MixtureError as error:
        raise SpecFileError([error]) from error
    places: dict[str, Place] = {}
    for place in key_places(root):
        places.setdefault(place.path, place)
    limits: _MaxEpochs = fields.pop("max_epochs", _MaxEpochs(None, {}))
    return Spec(path=path, places=places, max_epochs=limits.default, domain_max_epochs=limits.domains, **fields)


class _MaxEpochs(NamedTuple):
    """What the key says: limits of single domains, and of the others."""

    default: Fraction | None
    domains: dict[str, Fraction]


def _read_catalog(node: Node) -> CatalogSource:
    if not isinstance(node, Mapping):
        return CatalogSource(path=read_path(node))
    fields = _CATALOG.read(node)
    return CatalogSource(path=fields.pop("table"), **fields)


def _read_max_epochs(node: Node) -> _MaxEpochs:
    if not isinstance(node, Mapping):
        return _MaxEpochs(read_epochs(node), {})
    fields = _MAX_EPOCHS.read(node)
    if not fields:
        refuse(node.place, "no limit stands here", code="missing-key", hint="default, domains or both are right here")
    return _MaxEpochs(fields.get("default"), fields.get("domains", {}))


def _read_domain_epochs(node: Node) -> dict[str, Fraction]:
    if not isinstance(node, Mapping):
        refuse(node.place, "this is not a mapping", code="not-a-mapping", hint="domains and their epochs: {wiki: 16}")
    limits: dict[str, Fraction] = {}
    gatherer = Gatherer()
    for key, value in unique_entries(node, gatherer):
        with gatherer:
            limits[read_domain(key)] = read_epochs(value)
    gatherer.finish()
    return limits


def _read_budget(node: Node) -> Budget:
    if isinstance(node, Mapping):
        fields = _BUDGET.read(node)
        if not fields:
            refuse(node.place, "the budget is empty", code="missing-key", hint="steps, tokens or both are right here")
        return Budget(**fields)
    length = read_number(node, partial(parse_count, units=(Unit.STEPS, Unit.TOKENS), bare=Unit.TOKENS))
    return Budget(steps=length.amount) if length.unit is Unit.STEPS else Budget(tokens=length.amount)


def _read_shuffle(node: Node) -> Shuffle:
    fields = _SHUFFLE.read(node)
    return Shuffle(block_tokens=fields.get("block"), window_blocks=fields.get("window"))


def _read_accept(node: Node) -> tuple[FindingCode, ...]:
    codes: list[FindingCode] = []
    gatherer = Gatherer()
    for item in read_list(node):
        with gatherer:
            codes.append(read_word(item, FindingCode, code="unknown-finding"))
    gatherer.finish()
    return tuple(codes)


_CATALOG = Keys(
    {
        "table": Key(read_path, TEXT, "A table of domains (CSV, Parquet, JSON), or a store's folder.", ("cells.csv",)),
        "domain": Key(read_text, TEXT, "The table's column of domains. Default: domain.", ("cell",)),
    },
    required=("table",),
)
_MAX_EPOCHS_KEYS = {
    "default": Key(read_epochs, EPOCHS, "For domains that neither this nor the catalog has a limit for.", (8,)),
    "domains": Key(
        _read_domain_epochs,
        {"type": "object", "propertyNames": DOMAINS, "additionalProperties": EPOCHS},
        "Limits by domain; they go over the catalog's.",
        ({"wiki": 16, "web": 4},),
    ),
}
_MAX_EPOCHS = Keys(_MAX_EPOCHS_KEYS, at_least_one=tuple(_MAX_EPOCHS_KEYS))
_BUDGET_KEYS = {
    "steps": Key(partial(read_count, unit=Unit.STEPS), count([Unit.STEPS]), "The run's steps.", (390251,)),
    "tokens": Key(partial(read_count, unit=Unit.TOKENS), count([Unit.TOKENS]), "The run's tokens.", ("18.75T",)),
}
_BUDGET = Keys(_BUDGET_KEYS, at_least_one=tuple(_BUDGET_KEYS))
_BLOCK = partial(read_count, unit=Unit.TOKENS, most=LARGEST_SIZE)
_WINDOW = partial(read_count, unit=Unit.BLOCKS, most=LARGEST_SIZE)
_SHUFFLE = Keys(
    {
        "block": Key(
            _BLOCK,
            count([Unit.TOKENS], most=LARGEST_SIZE),
            "Tokens that are read at once: a multiple of every sequence length.",
            ("262144 tokens",),
        ),
        "window": Key(
            _WINDOW,
            count([Unit.BLOCKS], most=LARGEST_SIZE),
            "Blocks whose sequences are shuffled together. Default: 64.",
            ("64 blocks",),
        ),
    }
)

SPEC = Keys(
    {
        "mixture": Key(read_name, NAME, "What the mixture is called.", ("marin-535b-a23b",)),
        "catalog": Key(
            _read_catalog,
            any_of(TEXT, _CATALOG.schema()),
            "The table of all domains and their tokens: a file or a store's folder, from the spec's own folder.",
            ("cells.csv", {"table": "cells.csv", "domain": "cell"}),
        ),
        "tokenizer": Key(
            read_text, TEXT, "What the catalog's tokens are of.", ("marin-community/marin-tokenizer", "bytes")
        ),
        "seed": Key(
            partial(read_whole, least=0),
            count([], least=0),
            "Another seed is another order of the same run. Default: 0.",
            (0,),
        ),
        "sequence_length": Key(read_sequence_length, LENGTH, "Tokens of a training sequence.", (4096,)),
        "batch": Key(read_batch, BATCH, "The size of a step, over all machines.", ("1024 sequences", "4M tokens")),
        "budget": Key(
            _read_budget,
            any_of(count([Unit.STEPS, Unit.TOKENS]), _BUDGET.schema()),
            "The length of the run: steps, tokens, or both, of which steps decide.",
            ("18.75T tokens", "390251 steps", {"steps": 390251, "tokens": "18.75T"}),
        ),
        "max_epochs": Key(
            _read_max_epochs,
            any_of(EPOCHS, _MAX_EPOCHS.schema()),
            "How often a domain may be read over the whole run.",
            (4, "1.5 epochs", {"default": 8, "domains": {"wiki": 16}}),
        ),
        "shuffle": Key(
            _read_shuffle,
            _SHUFFLE.schema(),
            "How text is shuffled within a domain.",
            ({"block": "262144 tokens", "window": "64 blocks"},),
        ),
        "accept": Key(
            _read_accept,
            {"type": "array", "items": words(FindingCode)},
            "Findings that the plan lets through; they stay in the lock.",
            (["budget-mismatch"],),
        ),
        "phases": Key(read_phases, phases_schema(), "The stretches of the run, in order."),
    },
    required=("mixture", "catalog", "sequence_length", "batch", "budget", "phases"),
)
"""The keys of a spec."""
