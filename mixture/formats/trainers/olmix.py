"""Olmix: the `mix` that it proposes, by domain or nested by source, topic and quality, and its `priors`.

Read: a config with `mix`, flat (`dclm:science: {weight, repetition_factor}`) or nested; a proposal, a JSON list of
{domain, weight}; a generated mix, {domain: [weight, repetition factor]}. Source: README and configs of allenai/olmix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import MixtureFormat, WeightUnit
from mixture.formats.merging import file_reader, phase_name
from mixture.formats.reading import (
    LeftOut,
    MappingNode,
    Node,
    Reader,
    entries,
    has_key,
    items,
    number,
    optional,
    read_fields,
    read_text,
    refuse,
    root_of,
    some_fields,
    whole,
)
from mixture.formats.reading import Sequence as SequenceNode
from mixture.formats.shares import FLOAT_DIGITS, plain
from mixture.formats.stages import Run, Stage, stage_writer
from mixture.formats.trainers.olmo import repetition
from mixture.formats.yaml_text import Number, Row, yaml_text
from mixture.units import decimal, format_exact, quote

LEVELS = ("source", "topic", "quality")
SEQUENCE_LENGTH = 8192
"""Of all runs that Olmix launches."""
TOKENS_PER_PARAMETER = 20
"""Of a run whose `chinchilla_multiple` is 1."""
_MODEL = re.compile("olmo[0-9]+_([0-9]{1,4})([mb])")
_OF_A_DOMAIN = ("weight", "repetition_factor")


def _text(run: Run, stage: Stage) -> str:
    """The sections `data`, `mix` and `priors` of a config; the others are the lab's own."""
    drawn, total = run.drawn(stage), sum(domain.tokens for domain in run.domains)
    mix = {
        run.domains[d].name: Row(
            weight=Number(text), repetition_factor=Number(plain(format_exact(repetition(run, stage, d))))
        )
        for d, _, text in drawn
    }
    config = {
        "name": run.lock.mixture,
        "data": {"sources": [{"name": run.domains[d].name, "paths": [path]} for d, path, _ in drawn]},
        "mix": mix,
        "priors": {
            "relative_sizes": {domain.name: Number(_share(domain.tokens, total)) for domain in run.domains},
            "token_counts": {domain.name: domain.tokens for domain in run.domains},
        },
    }
    return yaml_text(config)


def _share(tokens: int, total: int) -> str:
    return plain(decimal(Fraction(tokens, total), digits=FLOAT_DIGITS))


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    """A mix."""
    root, left_out = root_of(source), LeftOut()
    said: dict[str, Any] = {}
    if isinstance(root, SequenceNode):
        mix = dict(_unique(items(root, _read_proposed)))
    elif not has_key(root, "mix") and isinstance(root, MappingNode) and _is_generated(root):
        mix = entries(root, _read_pair)
    else:
        readers: dict[str, Reader] = {
            "name": read_text,
            "mix": partial(_read_mix, left_out=left_out),
            "priors": partial(_read_priors, left_out=left_out),
            "training": optional(partial(_read_training, left_out=left_out)),
            "max_tokens": optional(partial(whole, least=1)),
            **left_out.keys("description", "infra", "data", "eval", "swarm", "group_id"),
        }
        said = read_fields(root, readers, required=("mix",))
        mix = said["mix"]
    training: dict[str, Any] = said.get("training") or {}
    phase = DeclaredPhase(
        mix,
        root.place,
        name=phase_name(source),
        tokens=said.get("max_tokens") or _chinchilla_tokens(training),
        batch_sequences=training.get("global_batch_size"),
    )
    return Declared(
        phases=(phase,),
        keyed_by=KeyedBy.DOMAIN,
        unit=unit,
        name=said.get("name"),
        usual_length=SEQUENCE_LENGTH,
        tokenizer=training.get("tokenizer"),
        seed=training.get("seed"),
        tokens=said.get("priors", {}),
        remarks=left_out.remarks(),
    )


def _read_training(node: Node, *, left_out: LeftOut) -> dict[str, Any]:
    readers: dict[str, Reader] = {
        "tokenizer": optional(read_text),
        "seed": optional(whole),
        "global_batch_size": optional(partial(whole, least=1)),
        "proxy_model_id": read_text,
        "chinchilla_multiple": number,
    }
    return some_fields(node, readers, left_out)


def _chinchilla_tokens(training: Mapping[str, Any]) -> int | None:
    """How long Olmix trains a model of this size, which its name ends with; None where it says none."""
    model = _MODEL.fullmatch(training.get("proxy_model_id", ""))
    multiple: Fraction | None = training.get("chinchilla_multiple")
    if model is None or multiple is None:
        return None
    return int(TOKENS_PER_PARAMETER * int(model[1]) * {"m": 10**6, "b": 10**9}[model[2]] * multiple) or None


def _unique(pairs: list[tuple[str, Fraction, Node]]) -> Iterator[tuple[str, Fraction]]:
    seen: set[str] = set()
    for name, weight, node in pairs:
        if name in seen:
            refuse(
                node.place,
                f"domain {quote(name)} is listed twice",
                code="duplicate-domain",
                hint="remove one of the two",
            )
        seen.add(name)
        yield name, weight


def _read_proposed(node: Node) -> tuple[str, Fraction, Node]:
    fields = read_fields(node, {"domain": read_text, "weight": number}, required=("domain", "weight"))
    return fields["domain"], fields["weight"], node


def _is_generated(root: MappingNode) -> bool:
    return all(isinstance(value, SequenceNode) for _, value in root.entries)


def _read_pair(node: Node) -> Fraction:
    if not isinstance(node, SequenceNode) or len(node.items) != 2:
        refuse(node.place, "expected a weight and a repetition factor", code="not-a-pair", hint="[0.25, 1.0]")
    return number(node.items[0])


def _read_mix(node: Node, *, left_out: LeftOut) -> dict[str, Fraction]:
    return dict(_leaves(node, "", Fraction(1), 0, left_out))


def _leaves(node: Node, name: str, above: Fraction, level: int, left_out: LeftOut) -> Iterator[tuple[str, Fraction]]:
    """The domains below a node: names joined by `:`, weights multiplied from the source down."""
    if not isinstance(node, MappingNode) or not node.entries:
        yield name, above * number(node)
        return
    readers = {"weight": number, **left_out.keys("repetition_factor")}
    below = [(key, value) for key, value in node.entries if not level or key.text not in _OF_A_DOMAIN]
    own = [(key, value) for key, value in node.entries if level and key.text in _OF_A_DOMAIN]
    if level == len(LEVELS) and below:
        key = below[0][0]
        hint = f"a mix has the levels {', '.join(LEVELS)}"
        refuse(key.place, f"unknown key {quote(key.text)}", code="unknown-key", hint=hint)
    fields = read_fields(MappingNode(tuple(own), node.place), readers)
    if level and "weight" not in fields:
        refuse(node.place, f"{quote(name)} has no weight", code="missing-key", hint="{weight: 0.25}")
    weight = above * fields.get("weight", Fraction(1))
    if not below:
        yield name, weight
    for inner, (key, value) in enumerate(below):
        if any(key.text == other.text for other, _ in below[:inner]):
            refuse(key.place, f"the key {quote(key.text)} is given twice", code="duplicate-key", hint="remove one")
        yield from _leaves(value, f"{name}:{key.text}" if name else key.text, weight, level + 1, left_out)


def _read_priors(node: Node, *, left_out: LeftOut) -> dict[str, int]:
    readers: dict[str, Reader] = {"token_counts": partial(entries, read=whole), "relative_sizes": lambda _: None}
    fields: dict[str, Any] = optional(partial(some_fields, readers=readers, left_out=left_out))(node) or {}
    counts: dict[str, int] = fields.get("token_counts", {})
    return counts


FORMAT = MixtureFormat(
    name="olmix",
    title="Olmix: mix with weight and repetition_factor, priors",
    units=(WeightUnit.TOKENS,),
    holds=frozenset(),
    draws="Olmix hands the weights to OLMo-core as ratios.",
    version="Olmix 9586977",
    write=stage_writer(_text, "yaml"),
    read=file_reader(_read),
)
