"""A transition in files of trainers: each stair stands there, or in a file of its own, and the export says so."""

from __future__ import annotations

import pytest
from format_trips import written

from mixture.formats import FORMATS, Holds, export_mixture

SPEC = """\
mixture: stairs
sequence_length: 16
batch: 8 sequences
budget: 100 steps
phases:
  - {phase: first, until: step 40, weights: {code: 0.9, web: 0.1}}
  - {phase: second, weights: {code: 0.1, web: 0.9}, transition: {steps: 30, parts: 2}}
"""
CELLS = "domain,tokens,documents\ncode,1000000,1000\nweb,1000000,1000\n"


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_writes_each_stair_or_says_that_it_is_a_file_of_its_own(tmp_path, name):
    made = written(tmp_path, SPEC, CELLS)
    exported = export_mixture(made.lock, FORMATS[name], catalog=made.catalog)
    said = {remark.code: remark.message for remark in exported.remarks}
    # Stair 1 of 2 is a third of the way from 90% to 10%, stair 2 two thirds.
    text = "".join(exported.files.values())
    assert all(share in text for share in ("0.63333", "0.36666"))
    if Holds.PHASES in FORMATS[name].holds:
        assert "phases-in-files" not in said
    else:
        stairs = "first at step 0, second-1 at step 40, second-2 at step 55, second-3 at step 70"
        assert stairs in said["phases-in-files"]
        assert len(exported.files) >= 4
