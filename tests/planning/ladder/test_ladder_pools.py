"""Pools of a ladder: the epochs of the full run in each domain, each rung's text within the next one's."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from mixture.lock import write_lock
from mixture.planning.ladder import make_ladder, parse_rung
from mixture.planning.plan import make_plan
from mixture.planning.spec import read_spec
from mixture.schedule import WHOLE, Schedule, ScheduleData, Segment, apportion

MARIN = Path(__file__).parents[3] / "mixtures" / "marin-535b-a23b" / "mixture.yaml"
SIZES = [parse_rung(text) for text in ("47.9B:1024", "128.1B:2048", "380.7B:6144", "926.1B:11264")]
PHASES = (
    "{phase: first, until: 40%, weights: {big: 50%, code: 30%, few: 15%, one: 5%}}",
    "{phase: second, weights: {big: 40%, code: 20%, few: 35%, one: 5%}}",
)
CATALOG = "domain,tokens\nbig,200037\ncode,50000\nfew,1000\none,100\nspare,5000\n"
SMALL = [parse_rung(text) for text in ("3K:4", "9K:8", "27K:8", "60K:16")]


@pytest.fixture
def small(write_spec):
    """A spec of 16 tokens a sequence and 128 a block: a large domain, two of few blocks, one of less than a block."""
    return write_spec(*PHASES, catalog=CATALOG, budget="1000 steps", shuffle="{block: 128 tokens, window: 3 blocks}")


def test_every_domain_of_the_large_run_has_its_epochs_on_every_rung_but_for_less_than_a_sequence():
    full, rungs = None, make_ladder(read_spec(MARIN), SIZES, simulate_epochs=True)
    for rung in rungs:
        full = rung.full
        drawn = rung.plan.schedule.tokens(rung.plan.steps).tolist()
        for d, domain in enumerate(rung.domains):
            assert (domain.tokens, domain.epochs_asked) == (full.domains[d].tokens, full.domains[d].epochs)
            assert domain.pool_tokens is not None
            assert domain.pool_tokens % 4096 == 0
            assert domain.epochs == Fraction(drawn[d], domain.pool_tokens)
            assert domain.epochs <= domain.epochs_asked
            # One sequence less in the pool, and the domain would be read too often; the least pool is one sequence.
            if domain.pool_tokens > 4096:
                assert drawn[d] / domain.epochs_asked > domain.pool_tokens - 4096
                assert domain.deviation < Fraction(4096, domain.pool_tokens)
        assert max(domain.deviation for domain in rung.domains if domain.tokens_drawn) < Fraction(12, 1000)
    for less, more in pairwise(rungs):
        assert all(less.pools[name] <= more.pools[name] for name in less.pools)


def text_of(data: ScheduleData) -> dict[str, set[int]]:
    """Every sequence that a run of these domains could ever read, found by reading all of each many times."""
    domains = len(data.domains)
    even = tuple(apportion([Fraction(1, domains)] * domains, WHOLE))
    length = data.segments[0].sequence_length
    batch = data.batches[0].sequences
    longest = max(domain.tokens if domain.pool_tokens is None else domain.pool_tokens for domain in data.domains)
    steps = 2 * domains * longest // length // batch + 2
    return read_by(replace(data, segments=(Segment(0, steps, length, even),), batches=data.batches[:1]))


def read_by(data: ScheduleData) -> dict[str, set[int]]:
    """The sequences that a run reads of each domain."""
    schedule, found = Schedule(data), {domain.name: set[int]() for domain in data.domains}
    for rows in schedule.iter_rows(0, schedule.num_sequences):
        for d, sequence in zip(rows.domain.tolist(), rows.sequence.tolist(), strict=True):
            found[schedule.names[d]].add(sequence)
    return found


def test_with_pools_each_rung_keeps_to_text_that_the_next_one_holds(small):
    rungs = make_ladder(small, SMALL, simulate_epochs=True)
    held = [text_of(rung.plan.data) for rung in rungs] + [text_of(rungs[0].full.data)]
    for rung, own in zip(rungs, held, strict=False):
        for domain in rung.domains:
            tokens = domain.tokens if domain.pool_tokens is None else domain.pool_tokens
            assert len(own[domain.name]) == tokens // 16
        for name, read in read_by(rung.plan.data).items():
            assert read <= own[name]
            if (rung.domains[rung.plan.schedule.domain_index(name)].epochs or 0) > 1:
                assert len(read) >= len(own[name]) - 1
    assert [len(rung.pools) for rung in rungs] == [4, 4, 4, 4]
    for less, more in pairwise(held):
        for name in less:
            assert less[name] <= more[name]
    assert len(held[0]["big"]) < len(held[1]["big"]) < len(held[2]["big"]) < len(held[3]["big"]) < len(held[4]["big"])


def test_without_pools_each_rung_reads_text_that_the_next_one_reads(small):
    read = [read_by(rung.plan.data) for rung in make_ladder(small, SMALL)]
    for less, more in pairwise(read):
        for name in less:
            assert less[name] <= more[name]
    assert all(read[0][name] for name in ("big", "code", "few", "one"))


def test_pools_do_not_depend_on_the_order_in_which_rungs_are_asked_for(small):
    there = make_ladder(small, SMALL, simulate_epochs=True)
    back = make_ladder(small, SMALL[::-1], simulate_epochs=True)
    assert [rung.size for rung in back] == SMALL[::-1]
    assert {rung.size: rung.pools for rung in there} == {rung.size: rung.pools for rung in back}


def test_a_domain_whose_full_blocks_do_not_hold_its_pool_is_whole(write_spec):
    spec = write_spec(
        "{phase: a, weights: {one: 50%, two: 50%}}",
        catalog="domain,tokens\none,250\ntwo,127\n",
        budget="100 steps",
        shuffle="{block: 128 tokens, window: 3 blocks}",
    )
    half, most = make_ladder(spec, [parse_rung("6.4K"), parse_rung("11K")], simulate_epochs=True)
    assert half.pools == {"one": 128, "two": 64}
    # Of `one` 215 tokens would be wanted, and its full block holds 128. `two` has none, and keeps its first tokens.
    assert most.pools == {"two": 128 - 16}
    assert [domain.epochs <= domain.epochs_asked for domain in most.domains] == [True, True]


def test_a_domain_that_a_rung_does_not_draw_keeps_one_sequence_and_one_that_no_phase_weighs_is_whole(write_spec):
    spec = write_spec(
        "{phase: a, weights: {rare: 0.01%, web: 99.99%, none: 0}}",
        catalog="domain,tokens\nnone,5000\nrare,5000\nweb,900000\n",
        budget="10_000 steps",
    )
    (rung,) = make_ladder(spec, [parse_rung("1K")], simulate_epochs=True)
    drawn = {domain.name: domain.tokens_drawn for domain in rung.domains}
    assert (drawn["rare"], drawn["none"]) == (0, 0)
    assert rung.pools["rare"] == 16
    assert "none" not in rung.pools


def test_limits_are_held_against_the_pool(write_spec):
    spec = write_spec(
        "{phase: a, weights: {code: 50%, web: 50%}}",
        catalog="domain,tokens\ncode,1600\nweb,90000\n",
        budget="100 steps",
        max_epochs="4",
    )
    (rung,) = make_ladder(spec, [parse_rung("1.28K:4")], simulate_epochs=True)
    assert rung.full.domains[0].epochs == 4
    assert Fraction(3) < rung.plan.domains[0].epochs <= 4
    assert not rung.plan.refusals


def test_a_pool_without_a_whole_sequence_is_found_by_name(small):
    plan = make_plan(small, pools={"few": 15, "code": 16})
    assert [(finding.code, finding.facts["domain"]) for finding in plan.refusals] == [("domain-too-small", "few")]


def test_rows_of_a_rung_with_pools_are_the_oracles(small, oracle_path, tmp_path):
    for rung in make_ladder(small, SMALL[:3], simulate_epochs=True):
        path = tmp_path / f"{rung.size.label}.lock.json"
        write_lock(rung.lock(), path)
        schedule = rung.plan.schedule
        positions = range(0, schedule.num_sequences, max(1, schedule.num_sequences // 150))
        command = [sys.executable, oracle_path, path, "--positions", *map(str, positions)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        theirs = [json.loads(line) for line in done.stdout.splitlines()]
        rows = schedule.at(positions)
        ours = zip(rows.domain.tolist(), rows.draw.tolist(), rows.epoch.tolist(), rows.sequence.tolist(), strict=True)
        assert [(row["domain"], row["draw"], row["epoch"], row["sequence"]) for row in theirs] == [
            (schedule.names[d], draw, epoch, sequence) for d, draw, epoch, sequence in ours
        ]
