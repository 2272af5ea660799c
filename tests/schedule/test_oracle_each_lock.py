"""Each lock of the repository reads what the oracle says."""

from __future__ import annotations

import json
import random

import pytest
from schedule.asking import answers, handoffs
from schedule.making import ROOT, from_fields, lock_paths

from mixture.schedule import Schedule


@pytest.mark.parametrize("count", [50, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("path", lock_paths(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_lock_reads_what_the_oracle_says(oracle, path, count):
    fields = json.loads(path.read_text(encoding="utf-8"))
    theirs, ours = oracle.Schedule(fields), Schedule(from_fields(fields))
    rng = random.Random(path.as_posix().removeprefix(ROOT.as_posix()))

    positions = [rng.randrange(ours.num_sequences) for _ in range(count)]
    rows = answers(ours, ours.at(positions))
    assert rows == [theirs.at(position) for position in positions]
    for _ in range(3):
        start = rng.randrange(max(1, ours.num_sequences - 40))
        expected = [theirs.at(position) for position in range(start, min(ours.num_sequences, start + 40))]
        assert answers(ours, ours.rows(start, len(expected))) == expected

    for row in rows[: count // 10]:
        token = row["first_token"] + rng.randrange(row["tokens"])
        found = ours.find(row["domain"], token)
        assert row["position"] in found
        assert found == theirs.find(row["domain"], token)

    for step in [0, ours.steps, *(rng.randrange(ours.steps) for _ in range(count // 28))]:
        assert ours.counts(step).tolist() == theirs.counts(step)
    for step in [0, ours.steps, *(rng.randrange(ours.steps) for _ in range(3))]:
        assert ours.history(step) == oracle.history(fields, step)
    assert handoffs(ours) == theirs.skipped
