from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from spec_schema import says_null, schema_errors

from mixture.errors import MixtureError
from mixture.planning.spec import Phase, Spec, parse_spec
from mixture.planning.yamlfile import SpecFileError

HEAD = """\
mixture: test
catalog: cells.csv
sequence_length: 4096
batch: 8 sequences
budget: 100 steps
"""

PHASES = """\
phases:
  - phase: main
    weights: uniform
"""

MARK = "▶"


@pytest.fixture
def read_text() -> Callable[[str], Spec]:
    """Reads a whole spec from its text; what is one is right to the schema, too."""

    def read(text: str) -> Spec:
        spec = parse_spec(text.encode(), path=Path("mixes/test.yaml"))
        assert says_null(text) or not schema_errors(text)
        return spec

    return read


@pytest.fixture
def read_keys(read_text) -> Callable[[str], Spec]:
    """Reads a spec that has these top-level keys beside, or instead of, those of a small valid spec."""

    def read(keys: str) -> Spec:
        own = {line.split(":")[0] for line in keys.splitlines()}
        kept = [line for line in HEAD.splitlines() if line.split(":")[0] not in own]
        return read_text("\n".join([*kept, keys, PHASES]))

    return read


@pytest.fixture
def read_phase(read_text) -> Callable[[str], Phase]:
    """Reads the only phase of a spec from the lines that stand beside its name."""

    def read(lines: str) -> Phase:
        indented = lines.replace("\n", "\n    ")
        return read_text(f"{HEAD}phases:\n  - phase: main\n    {indented}\n").phases[0]

    return read


@pytest.fixture
def refusals(read_text) -> Callable[[str], list[MixtureError]]:
    """All errors of a text that is no spec."""

    def read(text: str) -> list[MixtureError]:
        with pytest.raises(SpecFileError) as caught:
            read_text(text)
        return list(caught.value.errors)

    return read


@pytest.fixture
def refusal_at_mark(refusals) -> Callable[[str], MixtureError]:
    """The only error of a text, which has to stand where the text is marked with ▶."""

    def read(text: str) -> MixtureError:
        before = text[: text.index(MARK)]
        (error,) = refusals(text.replace(MARK, ""))
        assert error.place is not None
        assert error.place.file == "mixes/test.yaml"
        assert (error.place.line, error.place.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))
        return error

    return read
