"""Runs of every kind are what the oracle says: positions, finds, counts, handoffs, history."""

from __future__ import annotations

import random

from hypothesis import given, settings
from schedule.asking import answers, handoffs
from schedule.making import to_fields
from schedule.random_runs import runs
from search_lengths import examples

from mixture.schedule import Schedule


@settings(max_examples=examples(150))
@given(data=runs())
def test_a_random_run_reads_what_the_oracle_says(oracle, data):
    rng = random.Random(data.seed)
    fields = to_fields(data)
    theirs, ours = oracle.Schedule(fields), Schedule(data)
    end = theirs.before(theirs.steps)
    assert ours.num_sequences == end
    assert handoffs(ours) == theirs.skipped

    for step in {0, 1, theirs.steps, *(rng.randrange(theirs.steps + 1) for _ in range(4))}:
        assert ours.counts(step).tolist() == theirs.counts(step)
        assert ours.history(step) == oracle.history(fields, step)

    start = rng.randrange(max(1, end - 60))
    expected = [theirs.at(position) for position in range(start, min(end, start + 60))]
    assert answers(ours, ours.rows(start, len(expected))) == expected
    anywhere = [rng.randrange(end) for _ in range(30)]
    assert answers(ours, ours.at(anywhere)) == [theirs.at(position) for position in anywhere]

    for row in rng.sample(expected, min(8, len(expected))):
        token = row["first_token"] + rng.randrange(row["tokens"])
        found = ours.find(row["domain"], token)
        assert row["position"] in found
        assert found == theirs.find(row["domain"], token)
    for domain in data.domains:
        token = rng.randrange(domain.tokens)
        assert ours.find(domain.name, token) == theirs.find(domain.name, token)
