"""Marin's mixture artefact: JSON with the tokens of each cell and a set of weights for each phase.

Keys: experiments/grug/moe_hero_ep/harrier_mix_2026_08_18.json (marin-community/marin). Cells are called `cNNqM`.
"""

from __future__ import annotations

import json
import re
from functools import partial

from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Bodies, Body, Holds, MixtureFormat, Remark, WeightUnit
from mixture.formats.merging import file_reader
from mixture.formats.reading import (
    LeftOut,
    MappingNode,
    Reader,
    entries,
    items,
    number,
    read_fields,
    read_text,
    refuse,
    root_of,
    whole,
)
from mixture.formats.stages import Run

_PHASE = re.compile(r"phase(0|[1-9][0-9]*)_weights")
_CELL = re.compile(r"c[0-9]{2,}q[0-9]")

HOLDS = frozenset({Holds.PHASES, Holds.LENGTHS, Holds.BATCHES})


def write(run: Run) -> Bodies:
    """One object; every phase has every domain, with 0 where it is not drawn."""
    names = [domain.name for domain in run.domains]
    value: dict[str, object] = {"candidate": run.lock.mixture}
    value |= {"available_tokens": {domain.name: domain.tokens for domain in run.domains}}
    for i, stage in enumerate(run.stages):
        # The texts have at most 15 digits, so that as floats they are written as they are.
        value[f"phase{i}_weights"] = {name: float(text) for name, text in zip(names, stage.texts, strict=True)}
    value["phase_budgets"] = [stage.tokens for stage in run.stages]
    if run.lock.tokenizer is not None:
        value["tokenizer"] = run.lock.tokenizer
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return Bodies((Body(None, "json", text, comments=False),), tuple(_lost(run)))


def _lost(run: Run) -> list[Remark]:
    remarks = []
    if len(run.stages) != 2:
        remarks.append(
            Remark("phases-not-two", f"Marin's reader takes two phases, but this run has {len(run.stages):,}")
        )
    other = [domain.name for domain in run.domains if not _CELL.fullmatch(domain.name)]
    if other:
        remarks.append(
            Remark("names-not-cells", f"Marin finds a cell's text by a name such as c07q3, which {other[0]!r} is not")
        )
    lengths = sorted({(stage.sequence_length, stage.batch_sequences) for stage in run.stages})
    said = ", ".join(f"{batch:,} sequences of {length:,} tokens" for length, batch in lengths)
    remarks.append(
        Remark("batch-not-kept", f"the format has budgets in tokens, without batch and sequence length ({said})")
    )
    return remarks


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    """An artefact with its weights by phase; budgets and available tokens where it has them."""
    root, left_out = root_of(source), LeftOut()
    keys = [key.text for key, _ in root.entries] if isinstance(root, MappingNode) else []
    phases = sorted((key for key in keys if _PHASE.fullmatch(key)), key=lambda key: int(key[5:-8]))
    readers: dict[str, Reader] = {
        "candidate": read_text,
        "available_tokens": partial(entries, read=whole),
        "phase_budgets": partial(items, read=partial(whole, least=1)),
        "tokenizer": read_text,
        **{key: partial(entries, read=number) for key in phases or ("phase0_weights",)},
        **left_out.keys("candidate_store_uri", "source_page", "source_run", "source_results", "source_file"),
        **left_out.keys("weights_from", "swarm_id", "hf_revision", "hf_dataset"),
    }
    fields = read_fields(root, readers, required=("phase0_weights",))
    places = {key.text: key.place for key, _ in root.entries} if isinstance(root, MappingNode) else {}
    for i, key in enumerate(phases):
        if key != f"phase{i}_weights":
            refuse(places[key], f"phase{i}_weights is missing before it", code="phase-missing")
    budgets = fields.get("phase_budgets", [None] * len(phases))
    if len(budgets) != len(phases):
        message = f"{len(budgets):,} budgets for {len(phases):,} phases"
        refuse(places["phase_budgets"], message, code="phases-miss-budget", hint="give each phase one")
    return Declared(
        phases=tuple(
            DeclaredPhase(fields[key], places[key], name=f"phase{i}", tokens=budgets[i]) for i, key in enumerate(phases)
        ),
        keyed_by=KeyedBy.DOMAIN,
        unit=unit,
        name=fields.get("candidate"),
        tokenizer=fields.get("tokenizer"),
        tokens=fields.get("available_tokens", {}),
        remarks=left_out.remarks(),
    )


FORMAT = MixtureFormat(
    name="marin-json",
    title="Marin: available_tokens and phase0_weights, phase1_weights of cells cNNqM",
    units=(WeightUnit.SEQUENCES,),
    holds=HOLDS,
    draws="Marin hands the weights to Levanter, which rounds them to whole sequences of a block.",
    version="marin 4da809f, experiments/grug/moe_hero_ep",
    write=write,
    read=file_reader(_read),
    continues=True,
)
