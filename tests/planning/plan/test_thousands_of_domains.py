"""Specs of thousands of domains: what is wrong with one of them is said of that one, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixture.errors import MixtureError
from mixture.planning.plan import make_plan
from mixture.planning.spec import read_spec

DOMAINS = 5000
HEAD = "mixture: many\ncatalog: cells.csv\nsequence_length: 64\nbatch: 8 sequences\nbudget: 1000 steps\nphases:\n"
WEIGHTS = "".join(f"      c{i:04}: 0.0002\n" for i in range(DOMAINS))
LISTED = f"{HEAD}  - phase: all\n    weights:\n{WEIGHTS}"
COLUMN = f"{HEAD}  - phase: all\n    weights: {{table: cells.csv, column: share}}\n"
GROUPS = (
    f"{HEAD}  - phase: all\n    weights:\n"
    "      - {where: domain < 'c2500', share: 50%, within: uniform}\n"
    "      - {where: domain >= 'c2499', share: 50%, within: uniform}\n"
)
FIRST_WEIGHT = LISTED.split("\n").index("      c0000: 0.0002") + 1


def cells(*changes: tuple[str, str]) -> str:
    text = "domain,tokens,share\n" + "".join(f"c{i:04},100000,0.0002\n" for i in range(DOMAINS))
    for before, after in changes:
        text = text.replace(before, after)
    return text


def refused(folder: Path, spec: str, table: str) -> MixtureError:
    (folder / "mixture.yaml").write_text(spec, encoding="utf-8")
    (folder / "cells.csv").write_text(table, encoding="utf-8")
    with pytest.raises(MixtureError) as error:
        make_plan(read_spec(folder / "mixture.yaml")).require()
    return error.value


@pytest.mark.parametrize(
    ("spec", "table", "code", "line", "name"),
    [
        (LISTED.replace("c0777:", "c07777:"), cells(), "unknown-domain", FIRST_WEIGHT + 777, "c07777"),
        (LISTED.replace("c0777: 0.0002", "c0777: lots"), cells(), "not-a-number", FIRST_WEIGHT + 777, "lots"),
        (LISTED.replace("c0777:", "c0778:"), cells(), "duplicate-key", FIRST_WEIGHT + 778, "c0778"),
        (LISTED, cells(("c4999,100000", "c4999,63")), "domain-too-small", FIRST_WEIGHT + 4999, "c4999"),
        (COLUMN, cells(("c0777,100000", "c0777,0")), "domain-empty", 8, "c0777"),
        (COLUMN, cells(("c0777,100000,0.0002", "c0777,100000,")), "not-a-number", 779, "share"),
        (GROUPS, cells(), "groups-overlap", 10, "c2499"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_an_error_names_the_one_domain_and_its_line(spec, table, code, line, name, tmp_path):
    error = refused(tmp_path, spec, table)
    assert error.code == code
    assert name in error.message
    assert error.place.line == line
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    "rule", ["uniform", "{temperature: 2}", "{unimax: {max_epochs: 4}}", "{curve: {by: quality, from: 0}}"]
)
def test_every_rule_divides_a_run_among_all_of_them(rule, tmp_path):
    rows = "".join(f"c{i:04},{100_000 + 31 * i},{i}\n" for i in range(DOMAINS))
    (tmp_path / "cells.csv").write_text(f"domain,tokens,quality\n{rows}", encoding="utf-8")
    text = HEAD.replace("8 sequences", "8192 sequences") + f"  - {{phase: all, weights: {rule}}}\n"
    (tmp_path / "mixture.yaml").write_text(text, encoding="utf-8")
    plan = make_plan(read_spec(tmp_path / "mixture.yaml"))
    (phase,) = plan.phases
    assert sum(phase.shares) == 1
    assert sum(phase.sequences) == 8_192_000
    assert all(abs(drawn - share * 8_192_000) < 8 for drawn, share in zip(phase.sequences, phase.shares, strict=True))
