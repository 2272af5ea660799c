"""Megatron-Energon's metadatasets: `blend` with weights, and `blend_epochized` with how often each dataset is read.

Keys: docs of NVIDIA/Megatron-Energon: MetadatasetV2, later called Recipe, and the first version, Metadataset. Samples
are what the dataset holds: documents, or packed rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from posixpath import dirname, join, normpath

from mixture.errors import Place
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import Bodies, Body, MixtureFormat, Remark, WeightUnit
from mixture.formats.merging import file_reader, phase_name
from mixture.formats.reading import (
    LeftOut,
    MappingNode,
    Node,
    Reader,
    entries,
    items,
    number,
    optional,
    read_fields,
    read_scalar,
    read_text,
    refuse,
    root_of,
    whole,
    word,
)
from mixture.formats.shares import FLOAT_DIGITS, mean_length, plain
from mixture.formats.stages import Run, Stage
from mixture.formats.yaml_text import Number, Row, yaml_text
from mixture.units import decimal, quote
from mixture.wording import listed, names_of

_HEADER = {"__module__": "megatron.energon", "__class__": "MetadatasetV2"}
_CLASSES = ("MetadatasetV2", "Recipe", "Metadataset")
_AMOUNTS = {"blend": "weight", "blend_epochized": "repetitions", "datasets": "weight"}
"""What a row of each kind of blend has; `datasets` is the first version's."""
_WEIGHED = ("blend", "datasets")
_OF_JOINED = (
    "split_part", "subflavors", "tags", "shuffle_over_epochs_multiplier", "dataset_config", "split_config", "aux",
    "nonmatch",
)  # fmt: skip
_DEEPEST = 8
_MOST_ROWS = 10_000
"""Metadatasets that name themselves would grow to more than anybody writes."""
_LEAST = Fraction(1, 1 << 24)
"""Beside a sum of 1 in 32-bit floats, what is less adds nothing."""


def write(run: Run) -> Bodies:
    """For each stage a blend by weight, and one by repetitions, whose counts are the lock's, over a pass through it."""
    files: list[Body] = []
    remarks: list[Remark] = []
    for piece, part in run.groups(frozenset()):
        stage = piece.stages[0]
        rows = [Row(weight=Number(text), path=path) for _, path, text in run.drawn(stage)]
        files.append(Body(part, "yaml", _text({"blend": rows}), stage.about))
        samples = {d: _samples(run, stage, d) for d, _, _ in run.drawn(stage)}
        epochs = [
            Row(repetitions=Number(_repetitions(*samples[d])), path=path)
            for d, path, _ in run.drawn(stage)
            if samples[d][0]
        ]
        files.append(
            Body(f"{part}.epochized" if part else "epochized", "yaml", _text({"blend_epochized": epochs}), stage.about)
        )
        never = [run.domains[d].name for d, _, text in run.drawn(stage) if Fraction(text) < _LEAST]
        if never:
            remarks.append(
                Remark(
                    "domains-vanish",
                    f"in phase {stage.name} the weights of {names_of(never, quote)} are below 2^-24: Energon's 32-bit"
                    " sums lose them",
                )
            )
        none = [run.domains[d].name for d, (count, _) in samples.items() if not count]
        if none:
            message = (
                f"in phase {stage.name} {names_of(none, quote)} would give no sample: blend_epochized leaves them out"
            )
            remarks.append(Remark("domains-left-out", message))
    return Bodies(tuple(files), tuple(remarks))


def _text(train: dict[str, object]) -> str:
    return yaml_text(_HEADER | {"splits": {"train": train}})


def _samples(run: Run, stage: Stage, domain: int) -> tuple[int, int]:
    """How many samples a stage draws of a domain, and how many it has: whole sequences, or documents."""
    count, length = stage.sequences[domain], stage.sequence_length
    if run.unit is WeightUnit.SEQUENCES:
        return count, run.domains[domain].tokens // length
    mean = mean_length(run.domains[domain].name, run.catalog)
    return round(count * length / mean), int(run.domains[domain].tokens / mean)


def _repetitions(count: int, samples: int) -> str:
    """Repetitions that give a count: Energon rounds their fraction of the samples down to an integer, as floats are,
    and half a sample more keeps it from being one short.
    """
    return plain(decimal(Fraction(2 * count + 1, 2 * samples), digits=FLOAT_DIGITS))


@dataclass(frozen=True, slots=True)
class _Range:
    """The part of a dataset that is read: a share of the samples from `first` to `end`, None being the last."""

    share: Fraction = Fraction(1)
    first: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    """A dataset with its weight, or its repetitions."""

    path: str
    part: str
    amount: Fraction
    range: _Range
    place: Place


@dataclass(frozen=True, slots=True)
class _Section:
    """Datasets, weighed or repeated. Without either each is read once."""

    key: str
    rows: list[_Row]
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class _Where:
    """What holds around a section: its file, the split that it is of, and how deep it is nested."""

    source: SourceFile
    split: str
    left_out: LeftOut
    depth: int = 0


def _read(source: SourceFile, unit: WeightUnit) -> Declared:
    """A metadataset; its training split."""
    left_out = LeftOut()
    root = root_of(source)
    train = _read_file(root, _Where(source, "train", left_out))
    weights: dict[str, Fraction] = {}
    epochs: dict[str, Fraction] = {}
    if train.key in _WEIGHED:
        for row in train.rows:
            weights[row.path] = weights.get(row.path, Fraction(0)) + row.amount
    else:
        weights, epochs = _amounts(train.rows, left_out)
    if train.unit == "tokens":
        unit = WeightUnit.TOKENS
    elif train.unit not in (None, "samples"):
        left_out.read_as(f"blend_weight_unit {quote(train.unit)} is defined by the task; read as {unit}")
    phase = DeclaredPhase(weights, root.place, name=phase_name(source), epochs=epochs, counts=train.key not in _WEIGHED)
    return Declared((phase,), keyed_by=KeyedBy.PATH, unit=unit, remarks=left_out.remarks())


def _amounts(rows: Sequence[_Row], left_out: LeftOut) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """Samples by path, and how often each is read whole beside those."""
    counts: dict[str, Fraction] = {}
    epochs: dict[str, Fraction] = {}
    by_path: dict[str, list[_Row]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    for path, own in by_path.items():
        parts = list(dict.fromkeys(row.part for row in own))
        if len(parts) > 1:
            left_out.read_as(
                f"the file does not say how large the splits {listed([quote(part) for part in parts])} of {quote(path)}"
                " are; each is read as an equal part"
            )
        for row in own:
            times = row.amount * row.range.share / len(parts)
            if row.range.end is None:
                epochs[path] = epochs.get(path, Fraction(0)) + times
            samples = times * ((row.range.end or 0) - row.range.first)
            if samples:
                counts[path] = counts.get(path, Fraction(0)) + samples
    return counts, epochs


def _read_file(root: Node, where: _Where) -> _Section:
    """The split of a metadataset, of any version."""
    splits = partial(_read_split, where=where)
    readers: dict[str, Reader] = {
        "__module__": partial(_expected, words=("megatron.energon",)),
        "__class__": partial(_expected, words=_CLASSES),
        "splits": splits,
    }
    section: _Section = read_fields(root, readers, required=("splits",))["splits"]
    return section


def _read_split(node: Node, *, where: _Where) -> _Section:
    others = [key.text for key, _ in node.entries] if isinstance(node, MappingNode) else []
    skip = dict.fromkeys(others, _skip) if where.depth else where.left_out.keys(*others)
    readers: dict[str, Reader] = {**skip, where.split: partial(_read_section, where=where)}
    section: _Section = read_fields(node, readers, required=(where.split,))[where.split]
    return section


def _skip(_: Node) -> None:
    """Reads nothing."""


def _expected(node: Node, *, words: Sequence[str]) -> None:
    """Another class has other keys."""
    if word(node) not in words:
        hint = f"expected one of: {', '.join(words)}"
        refuse(node.place, f"{quote(word(node))} is not a metadataset", code="not-a-metadataset", hint=hint)


def _read_section(node: Node, *, where: _Where, amount: str | None = None) -> _Section:
    """A blend, a join or one dataset; inside a blend, each entry with its weight or repetitions."""
    if where.depth > _DEEPEST:
        message = f"metadatasets are nested more than {_DEEPEST} deep"
        refuse(node.place, message, code="not-a-metadataset", hint="a metadataset that names itself has no end")
    inner = replace(where, depth=where.depth + 1)
    readers: dict[str, Reader] = {
        **{key: partial(items, read=partial(_read_item, where=inner, amount=_AMOUNTS[key])) for key in _AMOUNTS},
        "join": _read_join,
        "path": read_text,
        "split_part": optional(read_text),
        "subset": optional(_read_subset),
        "blend_weight_unit": optional(read_text),
        **({amount: optional(number)} if amount else {}),
        **where.left_out.keys("subflavors", "subflavor", "tags", "shuffle_over_epochs_multiplier", "joiner", "filter"),
        **where.left_out.keys("split_config", "dataset_config", "aux"),
    }
    kinds = (*_AMOUNTS, "join", "path")
    fields = read_fields(node, readers, alternatives=kinds)
    key = next((kind for kind in kinds if kind in fields), None)
    if key is None:
        hint = f"expected one of: {', '.join(kinds)}"
        refuse(node.place, "no datasets are named here", code="missing-key", hint=hint)
    part = fields.get("split_part") or where.split
    if key == "path":
        section = _read_path(fields["path"], node, replace(inner, split=part))
    elif key == "join":
        section = _Section(key, [_Row(path, part, Fraction(1), _Range(), node.place) for path in fields["join"]])
    else:
        section = _blended(key, fields[key], node)
    section = replace(section, unit=fields.get("blend_weight_unit") or section.unit)
    if "subset" in fields and fields["subset"] is not None:
        rows = [replace(row, range=_within(row, fields["subset"])) for row in section.rows]
        section = replace(section, rows=rows)
    if amount is None:
        return section
    times = fields.get(amount)
    return _scaled(section, Fraction(1) if times is None else times)


def _read_item(node: Node, *, where: _Where, amount: str) -> tuple[_Section, Node]:
    return _read_section(node, where=where, amount=amount), node


def _scaled(section: _Section, amount: Fraction) -> _Section:
    """A section inside another: weights are shares of its own, repetitions multiply."""
    total = sum((row.amount for row in section.rows), Fraction(0)) if section.key in _WEIGHED else Fraction(1)
    rows = [replace(row, amount=row.amount * amount / (total or 1)) for row in section.rows]
    return replace(section, rows=rows)


def _blended(key: str, sections: Sequence[tuple[_Section, Node]], node: Node) -> _Section:
    for section, place in sections:
        if section.key in _AMOUNTS and (section.key in _WEIGHED) != (key in _WEIGHED):
            message = f"{section.key} inside {key}: weights and repetitions do not mix"
            refuse(place.place, message, code="weights-mixed", hint="blend in blend, or blend_epochized in its like")
    units = {section.unit for section, _ in sections} - {None}
    if len(units) > 1:
        refuse(node.place, "the blends have several units", code="weights-mixed", hint="one blend_weight_unit for all")
    rows = [row for section, _ in sections for row in section.rows]
    if len(rows) > _MOST_ROWS:
        refuse(node.place, f"a blend of more than {_MOST_ROWS:,} datasets", code="not-a-metadataset")
    return _Section(key, rows, next(iter(units), None))


def _read_path(path: str, node: Node, where: _Where) -> _Section:
    """One dataset, or the split of the metadataset that is at the path."""
    if not path.endswith((".yaml", ".yml")):
        return _Section("path", [_Row(path, where.split, Fraction(1), _Range(), node.place)])
    source = where.source.beside(path)
    section = _read_file(root_of(source), replace(where, source=source))
    folder = dirname(path)
    if folder in ("", "."):
        return section
    return replace(section, rows=[replace(row, path=_rebased(row.path, folder)) for row in section.rows])


def _rebased(path: str, folder: str) -> str:
    """A path of a file in another folder as this one's folder has it."""
    if path.startswith("/") or "://" in path:
        return path
    joined = normpath(join(folder, path))
    return f"./{joined}" if folder.startswith("./") and not joined.startswith("..") else joined


def _read_join(node: Node) -> list[str]:
    """The paths of datasets whose samples are joined to one."""
    keys: dict[str, Reader] = {"path": read_text, **dict.fromkeys(_OF_JOINED, _skip)}
    read_row = partial(read_fields, readers=keys, required=("path",))
    rows = entries(node, read_row).values() if isinstance(node, MappingNode) else items(node, read_row)
    return [fields["path"] for fields in rows]


def _read_subset(node: Node) -> _Range:
    fields = read_fields(node, {"range": partial(items, read=_read_bound)}, required=("range",))
    bounds: list[tuple[Fraction | None, bool]] = fields["range"]
    if len(bounds) != 2:
        refuse(
            node.place,
            "expected the two ends of a range",
            code="not-a-range",
            hint="[0%, 50%], [100, 200] or [100, end]",
        )
    (first, is_share), (end, is_end_share) = bounds
    if first is None or (end is not None and (is_share != is_end_share or end < first)):
        refuse(node.place, "expected a range", code="not-a-range", hint="[0%, 50%], [100, 200] or [100, end]")
    if is_share:
        return _Range(share=(Fraction(1) if end is None else end) - first)
    return _Range(first=int(first), end=None if end is None else int(end))


def _read_bound(node: Node) -> tuple[Fraction | None, bool]:
    """A sample's index, or a percentage as a share of 1; None is the end."""
    text = word(node).strip()
    if text == "end":
        return None, False
    if not text.endswith("%"):
        return Fraction(whole(node)), False
    share = number(replace(read_scalar(node), text=text.removesuffix("%"), quoted=False)) / 100
    if share > 1:
        refuse(node.place, f"{quote(text)} is more than 100%", code="out-of-range", hint="expected 0% to 100%")
    return share, True


def _within(row: _Row, outer: _Range) -> _Range:
    """The range of a row inside the range of what it is in; sample indices have a meaning at a dataset only."""
    if outer.first or outer.end is not None:
        if row.range != _Range():
            refuse(row.place, "a range of sample indices holds another range", code="not-a-range", hint="use shares")
        return outer
    return replace(row.range, share=row.range.share * outer.share)


FORMAT = MixtureFormat(
    name="energon",
    title="Megatron-Energon: blend and blend_epochized",
    units=(WeightUnit.DOCUMENTS, WeightUnit.SEQUENCES),
    holds=frozenset(),
    draws="Energon draws a blend at random in every worker, so that counts vary; blend_epochized has the lock's"
    " counts over a pass by one worker, and each further one rounds its part down.",
    version="megatron-energon 7.4.1",
    write=write,
    read=file_reader(_read),
)
