"""A spec's text with some values changed: comments, order and spelling of all the rest stay as they are written."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError

from mixture.errors import SpecError
from mixture.planning.spec.models import Form
from mixture.units import format_exact

_NUMBER = re.compile(r"[0-9][0-9_.]*(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class PhaseEdit:
    """What becomes of a phase; None stays as it is.

    extent:  the form and its value as a spec has it: (Form.UNTIL, "80%"); it takes the place of any other form
    weights: shares by domain, which sum to 1 and are decimals with an end; they take the place of whatever rule stands
    batch:   "8 sequences"
    transition: steps and parts of one that stands there
    """

    extent: tuple[Form, str] | None = None
    weights: Mapping[str, Fraction] | None = None
    batch: str | None = None
    transition: tuple[int, int] | None = None


def edit_spec(
    text: str,
    phases: Mapping[int, PhaseEdit],
    *,
    budget: str | None = None,
    name: str | None = None,
    batch: str | None = None,
    tables: Mapping[str, str] | None = None,
    accept: Sequence[str] = (),
) -> str:
    """The text of a spec that `parse_spec` reads, with phases, by their place from 0, budget, name and batch changed.

    tables: other paths of tables, by the key that names them (`named_tables`), for a text that will lie elsewhere
    accept: codes that the text does not accept yet

    What comes out is for `parse_spec` to judge: a value that is none is refused there, at its place. Raises SpecError,
    `names-same-number`.
    """
    yaml = _yaml()
    try:
        root = yaml.load(text)
    except DuplicateKeyError as error:
        raise SpecError(
            "two names in this spec are the same number to YAML, such as 0.1 and 0.10, so it cannot be rewritten",
            code="names-same-number",
            hint="put these names in quotes",
        ) from error
    if name is not None:
        root["mixture"] = name
    if budget is not None:
        root["budget"] = _scalar(budget)
    if batch is not None:
        root["batch"] = _scalar(batch)
    for key, path in (tables or {}).items():
        _set_table(root, key, path)
    if accept and "accept" in root:
        root["accept"].extend(accept)
    elif accept:
        codes = CommentedSeq(accept)
        codes.fa.set_flow_style()
        root.insert(list(root).index("phases"), "accept", codes)
    for i, edit in phases.items():
        _edit_phase(root["phases"][i], edit)
    written = io.StringIO()
    yaml.dump(root, written)
    return written.getvalue()


def _edit_phase(phase: CommentedMap, edit: PhaseEdit) -> None:
    if edit.extent is not None:
        form, value = edit.extent
        for other in Form:
            if other is not form:
                phase.pop(other.value, None)
        if form.value in phase:
            phase[form.value] = _scalar(value)
        else:  # behind the name, where extents stand
            phase.insert(1, form.value, _scalar(value))
    if edit.batch is not None:
        phase["batch"] = _scalar(edit.batch)
    if edit.transition is not None:
        phase["transition"]["steps"], phase["transition"]["parts"] = edit.transition
    if edit.weights is not None:
        # In percent, a number is a plain word to YAML, and is written as it is here.
        phase["weights"] = CommentedMap((name, f"{format_exact(x * 100)}%") for name, x in edit.weights.items())


def _set_table(root: CommentedMap, key: str, path: str) -> None:
    *holders, last = (int(part) if part.isdigit() else part for part in re.findall("[a-z]+|[0-9]+", key))
    for holder in holders:
        root = root[holder]
    if isinstance(root[last], CommentedMap):
        root[last]["table"] = path
    else:
        root[last] = path


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1 << 20
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _scalar(text: str) -> str | int | float:
    """A value as it would be read where it is written without quotes: what looks like a number is one.

    Any other text stays plain, or gets quotes where YAML would take it for something else.
    """
    if not _NUMBER.fullmatch(text):
        return text
    value: object = _yaml().load(text)
    return value if isinstance(value, int | float) else text
