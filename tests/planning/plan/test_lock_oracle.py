"""A lock file is read by the independent statement of the schedule as it is."""

from __future__ import annotations

import json
import subprocess
import sys

from mixture.lock import write_lock
from mixture.planning.plan import make_lock, make_plan


def test_positions_counts_and_handoffs_of_a_lock_are_the_oracles(write_spec, tmp_path, oracle_path):
    def ask(*question: str) -> list[dict]:
        command = [sys.executable, oracle_path, path, *question]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    spec = write_spec(
        "{phase: pretraining, share: 60%, weights: proportional}",
        "{phase: more, share: 10%, batch: 6 sequences, weights: proportional}",
        "{phase: midtraining, share: 20%, batch: 6 sequences, weights: [{replay: pretraining, share: 70%},"
        " {where: \"kind = 'new'\", share: 30%, within: uniform}]}",
        "{phase: long, sequence_length: 64, weights: {code: 0.125, web: 0.875}}",
        catalog="domain,tokens,kind\ncode,3000,new\nmath,1000,new\nweb,9000,old\n",
        shuffle="{block: 256 tokens, window: 2 blocks}",
        seed="11",
        budget="200 steps",
    )
    plan = make_plan(spec)
    lock = make_lock(plan)
    path = tmp_path / "mixture.lock.json"
    write_lock(lock, path)

    kept = ask("--positions", *(str(row.position) for row in lock.check))
    assert [(row["position"], row["domain"], row["draw"], row["sequence"]) for row in kept] == [
        (row.position, row.domain, row.draw, row.sequence) for row in lock.check
    ]
    ends = [phase.laid.end_step for phase in plan.phases]
    counts = ask("--counts", *map(str, ends))
    planned = [0] * len(plan.domains)
    for phase, counted in zip(plan.phases, counts, strict=True):
        planned = [a + b for a, b in zip(planned, phase.sequences, strict=True)]
        assert list(counted.values()) == planned
    handoffs = ask("--handoffs")
    skipped = next(finding for finding in plan.findings if finding.code == "tokens-skipped")
    assert {k: n for k, n in handoffs[-1]["tokens_skipped"].items() if n} == skipped.facts["tokens_skipped"]
