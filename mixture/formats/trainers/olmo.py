"""OLMo-core's source mixtures: `sources` with a `target_ratio` of the tokens each, a file for each stage.

Keys: olmo_core.data.source_mixture.SourceMixtureList (allenai/OLMo-core). Read too: SourceMixtureDatasetConfig, with
requested_tokens, global_batch_size in tokens and the seed beside the list.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil

from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import MixtureFormat, WeightUnit
from mixture.formats.merging import file_reader, phase_name
from mixture.formats.reading import (
    LeftOut,
    Node,
    Reader,
    items,
    number,
    optional,
    read_fields,
    read_text,
    refuse,
    root_of,
    whole,
)
from mixture.formats.shares import plain
from mixture.formats.stages import Run, Stage, stage_writer
from mixture.formats.yaml_text import Number, yaml_text
from mixture.schedule import WHOLE
from mixture.units import format_exact, quote

_SOURCES = ("sources", "source_list", "source_configs")
"""The list alone, and what SourceMixtureDatasetConfig calls it, now and earlier."""
_TOKENS = ("requested_tokens", "max_tokens")
_CLASS = "_CLASS_"
"""In configs that OLMo-core saves."""
CENTS = 100
"""Repetitions are rounded up to hundredths."""


def repetition(run: Run, stage: Stage, domain: int) -> Fraction:
    """How often a stage reads a domain at its share of the stage's tokens, at least 1, rounded up to hundredths."""
    tokens = Fraction(stage.tokens * stage.weights[domain], WHOLE)
    return max(Fraction(1), Fraction(ceil(tokens * CENTS / run.domains[domain].tokens), CENTS))


def _text(run: Run, stage: Stage) -> str:
    """The ratios sum to exactly 1, for they are the lock's own."""
    sources: list[dict[str, object]] = []
    for d, path, text in run.drawn(stage):
        ratio = plain(format_exact(repetition(run, stage, d)))
        source: dict[str, object] = {"source_name": run.domains[d].name, "target_ratio": Number(text), "paths": [path]}
        sources.append(source | ({} if ratio == "1.0" else {"max_repetition_ratio": Number(ratio)}))
    return yaml_text({"sources": sources})


def _about(run: Run, stage: Stage) -> str:
    batch = stage.batch_sequences * stage.sequence_length
    return (
        f"{stage.about} With it go requested_tokens={stage.tokens}, global_batch_size={batch},"
        f" sequence_length={stage.sequence_length} and seed={run.lock.data.seed}."
    )


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    """A list of sources."""
    left_out = LeftOut()
    root = root_of(source)
    listed = partial(items, read=partial(_read_source, left_out=left_out))
    in_list = partial(read_fields, readers={"sources": listed, **left_out.keys(_CLASS)}, required=("sources",))
    count = partial(whole, least=1)
    readers: dict[str, Reader] = {
        "sources": listed,
        "source_list": lambda node: in_list(node)["sources"],
        "source_configs": listed,
        **dict.fromkeys((*_TOKENS, "global_batch_size", "sequence_length"), count),
        "seed": optional(whole),
        **left_out.keys("processes", "dtype", "render_tables", "quiet", _CLASS),
    }
    fields = read_fields(root, readers, alternatives=_SOURCES)
    sources = next((fields[key] for key in _SOURCES if key in fields), None)
    if sources is None:
        refuse(root.place, "the key 'sources' is missing", code="missing-key")
    weights: dict[str, Fraction] = {}
    for name, ratio, node in sources:
        if name in weights:
            refuse(
                node.place,
                f"source {quote(name)} is listed twice",
                code="duplicate-source",
                hint="remove one of the two",
            )
        weights[name] = ratio
    phase = DeclaredPhase(
        weights,
        root.place,
        name=phase_name(source),
        tokens=next((fields[key] for key in _TOKENS if key in fields), None),
        sequence_length=fields.get("sequence_length"),
        batch_tokens=fields.get("global_batch_size"),
    )
    return Declared(
        phases=(phase,),
        keyed_by=KeyedBy.DOMAIN,
        unit=unit,
        seed=fields.get("seed"),
        remarks=left_out.remarks(),
    )


def _read_source(node: Node, *, left_out: LeftOut) -> tuple[str, Fraction, Node]:
    readers = {
        "source_name": read_text,
        "target_ratio": number,
        **left_out.keys("paths", "max_repetition_ratio", "max_source_fraction"),
    }
    fields = read_fields(node, readers, required=("source_name", "target_ratio"))
    return fields["source_name"], fields["target_ratio"], node


FORMAT = MixtureFormat(
    name="olmo",
    title="OLMo-core: source mixtures, sources with target_ratio",
    units=(WeightUnit.TOKENS,),
    holds=frozenset(),
    draws="OLMo-core takes whole sequences of each file, and spreads those that are missing evenly over files of all"
    " sources, whatever their ratios.",
    version="ai2-olmo-core 3.0.0",
    write=stage_writer(_text, "yaml", about=_about),
    read=file_reader(_read),
)
