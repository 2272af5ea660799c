"""From which step two runs part: what every row of both says, and why."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_lengths import examples

from mixture.lock import Mask
from mixture.planning.amend import amend
from mixture.planning.compare import Parting, diff
from mixture.planning.compare.first_difference import agreement_of
from mixture.planning.compare.words import agreement_words, headline
from mixture.planning.plan import make_lock, make_plan
from mixture.schedule import WHOLE, Batch, Domain, Schedule, ScheduleData, Segment, apportion

CATALOG = "domain,tokens\na,300000\nb,100000\nc,500000\n"
PHASES = (
    "{phase: early, steps: 20, weights: {a: 20%, b: 30%, c: 50%}}",
    "{phase: late, steps: 20, weights: {a: 50%, b: 50%}}",
)
KEYS = {"batch": "64 sequences", "budget": "40 steps", "shuffle": "{block: 256 tokens, window: 4 blocks}"}


def rows_by_step(data):
    """What every slot of every step reads: domain, first token, tokens."""
    schedule = Schedule(data)
    steps = []
    for step in range(schedule.steps):
        rows = schedule.rows(schedule.positions_before(step), schedule.batch_of(step))
        columns = (rows.domain.tolist(), rows.first_token.tolist(), rows.tokens.tolist())
        steps.append([(schedule.names[d], first, tokens) for d, first, tokens in zip(*columns, strict=True)])
    return steps


def first_other_step(a, b):
    """By looking at every row."""
    both = list(zip(rows_by_step(a), rows_by_step(b), strict=False))
    return next((step for step, (one, other) in enumerate(both) if one != other), len(both))


def agreed(a, b):
    return diff(a, b).agreement


@pytest.fixture
def plan(write_spec):
    def make(*phases, catalog=CATALOG, **keys):
        return make_plan(write_spec(*phases, catalog=catalog, **KEYS | keys))

    return make


LATE = PHASES[1]
CASES = {
    "weights of a phase": ((PHASES[0], LATE.replace("a: 50%, b: 50%", "a: 40%, b: 60%")), {}, [Parting.WEIGHTS]),
    "a phase that ends earlier": (
        (PHASES[0].replace("steps: 20", "steps: 13"), LATE.replace("steps: 20", "steps: 27")),
        {},
        [Parting.WEIGHTS],
    ),
    "seed": (PHASES, {"seed": "1"}, [Parting.SEED]),
    "window": (PHASES, {"shuffle": "{block: 256 tokens, window: 8 blocks}"}, [Parting.WINDOW]),
    "block": (PHASES, {"shuffle": "{block: 512 tokens, window: 4 blocks}"}, [Parting.BLOCK]),
    "batch": (PHASES, {"batch": "32 sequences"}, [Parting.BATCH]),
    "length of a phase": ((PHASES[0], LATE.replace("late,", "late, sequence_length: 32,")), {}, [Parting.LENGTH]),
    "tokens of a domain": (PHASES, {"catalog": CATALOG.replace("300000", "400000")}, [Parting.SIZES]),
    "tokens of a domain that is read later": (
        (PHASES[0].replace("a: 20%, b: 30%, c: 50%", "b: 30%, c: 70%"), LATE),
        {"catalog": CATALOG.replace("300000", "400000")},
        [Parting.SIZES],
    ),
    "a new domain of which nothing is read": (PHASES, {"catalog": CATALOG + "d,5000\n"}, []),
    "a longer run": ((PHASES[0], LATE.replace("steps: 20", "steps: 30")), {"budget": "50 steps"}, []),
    "a shorter run": (PHASES[:1], {"budget": "20 steps"}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_they_part_where_their_rows_do(plan, case):
    phases, keys, parts_by = CASES[case]
    later = case == "tokens of a domain that is read later"
    before = plan(phases[0], LATE) if later else plan(*PHASES)
    after = plan(*phases, **keys)
    for a, b in ((before, after), (after, before)):
        found = agreed(a, b)
        assert found.steps == first_other_step(a.data, b.data)
        assert list(found.parts_by) == parts_by
        assert found.to_end == (not parts_by)


# Shares that are at least an eighth apart in some domain, so that no step of 32 sequences reads the same by chance.
weights = st.sampled_from([*permutations((1, 2, 5)), *permutations((0, 2, 6))])
stretches = st.lists(st.tuples(st.integers(1, 6), st.sampled_from([16, 32]), weights), min_size=1, max_size=4)
runs = st.tuples(stretches, st.sampled_from([32, 48]), st.sampled_from([0, 0, 0, 1]))


def data_of(run):
    """The schedule of a run; stretches that are alike and neighbours are one."""
    stretches, batch, seed = run
    segments, first = [], 0
    for steps, length, eighths in stretches:
        shares = tuple(apportion([Fraction(part, 8) for part in eighths], WHOLE))
        if segments and (segments[-1].sequence_length, segments[-1].weights) == (length, shares):
            segments[-1] = replace(segments[-1], steps=segments[-1].steps + steps)
        else:
            segments.append(Segment(first, steps, length, shares))
        first += steps
    domains = (Domain("a", 30000), Domain("b", 10000), Domain("c", 50000))
    return ScheduleData(seed, 64, 4, domains, tuple(segments), (Batch(0, batch),))


@settings(max_examples=examples(60))
@given(start=stretches, a=runs, b=runs)
def test_any_two_runs_part_where_their_rows_do(start, a, b):
    one, other = (data_of(([*start, *run[0]], *run[1:])) for run in (a, b))
    found = agreement_of(one, other)
    assert found.steps == first_other_step(one, other)
    assert bool(found.parts_by) == (found.steps < min(one.steps, other.steps))


def test_the_sentence_says_from_which_step_and_in_what(plan):
    one, longer = plan(*PHASES), plan(PHASES[0], LATE.replace("steps: 20", "steps: 30"), budget="50 steps")
    assert agreement_words(agreed(one, make_lock(one))) == "They read the same in all of their 40 steps."
    assert (
        agreement_words(agreed(one, longer))
        == "They read the same before step 40, where A ends; B goes on for 10 steps."
    )
    assert (
        agreement_words(agreed(longer, one))
        == "They read the same before step 40, where B ends; A goes on for 10 steps."
    )
    seeded = plan(*PHASES, seed="1", batch="32 sequences")
    said = "They differ from the first step on, in the seed and the batch."
    assert agreement_words(agreed(one, seeded)) == said
    late = plan(PHASES[0], LATE.replace("a: 50%, b: 50%", "a: 40%, b: 60%"))
    assert (
        agreement_words(agreed(one, late))
        == "They read the same before step 20; from there they differ in the weights."
    )


def test_the_headline_says_what_is_taken_down_and_whose_checkpoints_go_on(plan):
    one = make_lock(plan(*PHASES))
    down = amend(one, 5, masks=[Mask(12, "a", 0, 500), Mask(30, "b", 0, 1)])
    assert headline(agreed(one, one)) == "They read the same in all of their 40 steps."
    assert headline(agreed(one, down)) == (
        "They read the same sequences; from step 12 on B has 501 tokens taken down."
        " Checkpoints up to step 12 go on under both."
    )
    assert headline(agreed(down, one), a="x") == (
        "They read the same sequences; from step 12 on x has 501 tokens taken down."
        " Checkpoints up to step 12 go on under both."
    )
    other = amend(one, 7, masks=[Mask(8, "c", 0, 9)])
    assert headline(agreed(down, other)) == (
        "They read the same sequences; from step 8 on A has 501 and B 9 tokens taken down that the other has not."
        " Checkpoints up to step 8 go on under both."
    )
    first = amend(one, 0, masks=[Mask(0, "a", 0, 1)])
    assert headline(agreed(one, first)) == (
        "They read the same sequences; from the first step on B has 1 token taken down."
    )
    longer = plan(PHASES[0], LATE.replace("steps: 20", "steps: 30"), budget="50 steps")
    assert headline(agreed(down, longer)) == (
        "They read the same sequences before step 40, where A ends; B goes on for 10 steps."
        " From step 12 on A has 501 tokens taken down. Checkpoints up to step 12 go on under both."
    )
    late = plan(PHASES[0], LATE.replace("a: 50%, b: 50%", "a: 40%, b: 60%"))
    assert headline(agreed(one, late)).endswith(" the weights. Checkpoints up to step 20 go on under both.")
    for found in (agreed(one, down), agreed(down, other), agreed(down, longer)):
        assert not found.to_end or found.resume_step < found.steps
