"""A spec file from its bytes to a Spec, with everything that is wrong in it said at once."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path

from mixture.errors import MixtureError, Place, SpecError, UnitError
from mixture.file_kinds import says_lock
from mixture.spec.document import parse_document
from mixture.spec.errors import Gatherer, SpecFileError, refuse
from mixture.spec.fields import Reader, read_fields, read_list
from mixture.spec.findings import FindingCode
from mixture.spec.models import Budget, CatalogSource, Shuffle, Spec
from mixture.spec.nodes import Mapping, Node, key_places
from mixture.spec.phases import LARGEST_SIZE, read_batch, read_phases, read_sequence_length
from mixture.spec.source import decode_source, read_source
from mixture.spec.values import read_count, read_name, read_number, read_path, read_text, read_word
from mixture.units import Unit, parse_count, parse_quantity, parse_whole, quote


def load_spec(path: str | Path) -> Spec:
    """Reads a spec file. Raises SpecFileError, a SpecError whose `errors` are all that is wrong in the file."""
    path = Path(path)
    try:
        data = read_source(path)
    except MixtureError as error:
        raise SpecFileError([error]) from error
    return parse_spec(data, path=path)


def parse_spec(data: bytes, *, path: Path) -> Spec:
    """A spec from the bytes of its file, as `load_spec` does; paths in it are relative to the folder of `path`.

    Bytes of a lock are one error, `not-a-spec`.
    """
    if says_lock(data):
        wrong = SpecError(
            "this is a lock", code="not-a-spec", place=Place(file=str(path)), hint="`mixture explain` shows it"
        )
        raise SpecFileError([wrong])
    try:
        root = parse_document(decode_source(data, file=str(path)), file=str(path))
        fields = read_fields(root, _READERS, required=_REQUIRED)
    except MixtureError as error:
        raise SpecFileError([error]) from error
    places: dict[str, Place] = {}
    for place in key_places(root):
        places.setdefault(place.path, place)
    return Spec(path=path, places=places, **fields)


def _read_catalog(node: Node) -> CatalogSource:
    if not isinstance(node, Mapping):
        return CatalogSource(path=read_path(node))
    fields = read_fields(node, {"table": read_path, "domain": read_text}, required=("table",))
    return CatalogSource(path=fields.pop("table"), **fields)


def _read_seed(node: Node) -> int:
    return read_number(node, partial(parse_whole, least=0))


def _read_budget(node: Node) -> Budget:
    if isinstance(node, Mapping):
        steps, tokens = partial(read_count, unit=Unit.STEPS), partial(read_count, unit=Unit.TOKENS)
        fields = read_fields(node, {"steps": steps, "tokens": tokens})
        if not fields:
            refuse(node.place, "the budget is empty", code="missing-key", hint="steps, tokens or both are right here")
        return Budget(**fields)
    count = read_number(node, partial(parse_count, units=(Unit.STEPS, Unit.TOKENS), bare=Unit.TOKENS))
    return Budget(steps=count.amount) if count.unit is Unit.STEPS else Budget(tokens=count.amount)


def _read_max_epochs(node: Node) -> Fraction:
    return read_number(node, _parse_epochs)


def _parse_epochs(text: str) -> Fraction:
    epochs = parse_quantity(text, units=(Unit.EPOCHS,), bare=Unit.EPOCHS).value
    if not epochs:
        raise UnitError(f"{quote(text)} is out of range", code="out-of-range", hint="above 0 is right here")
    return epochs


def _read_shuffle(node: Node) -> Shuffle:
    block = partial(read_count, unit=Unit.TOKENS, most=LARGEST_SIZE)
    window = partial(read_count, unit=Unit.BLOCKS, most=LARGEST_SIZE)
    fields = read_fields(node, {"block": block, "window": window})
    return Shuffle(block_tokens=fields.get("block"), window_blocks=fields.get("window"))


def _read_accept(node: Node) -> tuple[FindingCode, ...]:
    codes: list[FindingCode] = []
    gatherer = Gatherer()
    for item in read_list(node):
        with gatherer:
            codes.append(read_word(item, FindingCode, code="unknown-finding"))
    gatherer.finish()
    return tuple(codes)


_READERS: dict[str, Reader] = {
    "mixture": read_name,
    "catalog": _read_catalog,
    "tokenizer": read_text,
    "seed": _read_seed,
    "sequence_length": read_sequence_length,
    "batch": read_batch,
    "budget": _read_budget,
    "max_epochs": _read_max_epochs,
    "shuffle": _read_shuffle,
    "accept": _read_accept,
    "phases": read_phases,
}
_REQUIRED = ("mixture", "catalog", "sequence_length", "batch", "budget", "phases")
