"""Every code is described: those of findings, each with an example that yields it, and those of errors."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from docs.codes import error_codes
from docs.pages import blocks, page
from docs.toys import examples

from mixture.api.middleware.problems import CODES
from mixture.data.texts.report import Reason, Skipped
from mixture.planning.plan import LEVELS
from mixture.planning.spec import FindingCode

FINDINGS = re.findall(r"^### `([a-z-]+)`$", page("findings.md"), re.MULTILINE)
ROWS = re.findall(r"^\| (`.*?`) \|", page("errors.md"), re.MULTILINE)
ERRORS = [code for row in ROWS for code in re.findall("`([a-z0-9-]+)`", row)]
ELSEWHERE = {"file-error", "http-error"}
"""Codes that no error is made with: the program's own for what the system says, the service's for other statuses."""


def test_every_finding_is_described_once_under_its_level() -> None:
    assert sorted(FINDINGS) == sorted(FindingCode)
    sections = re.split(r"^## (\w+)s$", page("findings.md"), flags=re.MULTILINE)
    for level, section in zip(sections[1::2], sections[2::2], strict=True):
        for code in re.findall(r"^### `([a-z-]+)`$", section, re.MULTILINE):
            assert LEVELS[FindingCode(code)] == level.lower(), code


@pytest.mark.parametrize("code", sorted(FindingCode))
def test_a_finding_has_an_example_that_shows_its_code(code: FindingCode) -> None:
    shown = [
        line
        for one in examples("findings.md")
        if one.heading == f"`{code}`"
        for _, lines in one.steps
        for line in lines
    ]
    assert any(re.search(rf"\b{code}(: |\]: )", line) for line in shown)


def test_every_error_code_is_described_and_no_other() -> None:
    known = error_codes()
    described = set(ERRORS)
    missing = {code: places for code, places in known.items() if not any(fnmatchcase(one, code) for one in described)}
    assert not missing
    assert set(CODES.values()) <= described
    reasons = {*Reason, *Skipped}
    assert reasons <= described
    gone = {one for one in described if not any(fnmatchcase(one, code) for code in known)}
    assert gone <= reasons | set(CODES.values()) | ELSEWHERE


def test_no_code_is_in_two_tables_unless_ingest_leaves_out_for_what_others_refuse() -> None:
    twice = {code for code in ERRORS if ERRORS.count(code) > 1}
    assert twice <= {*Reason}
    assert all(ERRORS.count(code) == 2 for code in twice)
    assert len(blocks("findings.md")) >= len(FindingCode)


def test_no_two_codes_say_the_same_in_another_order() -> None:
    """`domain-unknown` beside `unknown-domain` would leave clients to guess; `unknown` and `missing` come first."""
    words = [frozenset(code.split("-")) for code in error_codes()]
    assert not [sorted(one) for one in words if words.count(one) > 1]
    assert not [code for code in error_codes() if code.endswith("-unknown")]
