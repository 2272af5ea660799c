"""Several files that are one run: their phases one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from mixture.errors import FormatError
from mixture.formats.declared import Declared, SourceFile
from mixture.formats.format import Remark, WeightUnit

_PART = re.compile(r"(?:.*\.)?[0-9]+-([^.]+)(?:\.[^.]*)?")


def merged(parts: Sequence[Declared]) -> Declared:
    """What files say together. Raises FormatError `files-disagree` where two say different things of the same."""
    first = parts[0]
    tokenizers = list(dict.fromkeys(part.tokenizer for part in parts if part.tokenizer is not None))
    tokens: dict[str, int] = {}
    for part in parts:
        for name, size in part.tokens.items():
            if tokens.setdefault(name, size) != size:
                _differ(f"the size of {name!r}", tokens[name], size)
    return replace(
        first,
        phases=tuple(phase for part in parts for phase in part.phases),
        name=_one("name", [part.name for part in parts]),
        tokenizer=tokenizers[0] if tokenizers else None,
        other_tokenizers=tuple(tokenizers[1:]),
        seed=next((part.seed for part in parts if part.seed is not None), None),
        tokens=tokens,
        remarks=tuple(_once(remark for part in parts for remark in part.remarks)),
    )


def file_reader(
    read: Callable[[SourceFile, WeightUnit], Declared],
) -> Callable[[Sequence[SourceFile], WeightUnit], Declared]:
    """What reads files that say each a stretch of the run, in order."""
    return lambda files, unit: merged([read(source, unit) for source in files])


def phase_name(source: SourceFile) -> str | None:
    """The phase that a file of an export is for, by its name: `demo.olmo.2-midtraining.yaml`."""
    match = _PART.fullmatch(source.path.stem)
    return match[1] if match else None


def _one(what: str, values: Sequence[str | None]) -> str | None:
    said = list(dict.fromkeys(value for value in values if value is not None))
    if len(said) > 1:
        _differ(f"the {what}", *said[:2])
    return said[0] if said else None


def _differ(what: str, a: object, b: object) -> None:
    raise FormatError(f"the files differ in {what}: {a} and {b}", code="files-disagree", what=what)


def _once(remarks: Iterator[Remark]) -> Mapping[Remark, None]:
    return dict.fromkeys(remarks)
