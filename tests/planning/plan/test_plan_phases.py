"""Phases to steps: exact boundaries from the start of the run, rounded half up once."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from mixture.errors import SpecError
from mixture.planning.plan import make_plan
from mixture.planning.spec import FindingCode


def phase(name: str, extent: str = "", more: str = "") -> str:
    return f"{{phase: {name}, {extent + ', ' if extent else ''}{more}weights: uniform}}"


def laid(plan):
    return [(p.name, p.laid.first_step, p.laid.steps) for p in plan.phases]


def found(plan, code):
    return [finding for finding in plan.findings if finding.code is code]


def test_steps_of_a_phase_run_from_its_first_to_one_before_the_next(write_spec):
    plan = make_plan(write_spec(phase("a", "steps: 10"), phase("b", "until: step 20"), budget="20 steps"))
    assert laid(plan) == [("a", 0, 10), ("b", 10, 10)]
    assert plan.steps == 20
    assert plan.schedule.step_of(10 * 8 - 1) == 9
    assert plan.schedule.step_of(10 * 8) == 10


def test_a_percentage_boundary_inside_a_step_is_rounded_and_said(write_spec):
    plan = make_plan(write_spec(phase("a", "until: 80%"), phase("b"), budget="390251 steps"))
    assert laid(plan) == [("a", 0, 312_201), ("b", 312_201, 78_050)]
    (note,) = found(plan, FindingCode.BOUNDARY_ROUNDED)
    assert note.facts == {"phase": "a", "asked": Fraction(3_122_008, 10), "step": 312_201}
    assert "312200.8" in note.message
    assert note.place.path == "phases[0].until"


def test_boundaries_do_not_add_up_rounding(write_spec):
    shares = [phase(f"p{i}", "share: 12.5%") for i in range(7)]
    plan = make_plan(write_spec(*shares, phase("last"), budget="100 steps"))
    assert [p.laid.first_step for p in plan.phases] == [0, 13, 25, 38, 50, 63, 75, 88]


def test_half_a_step_rounds_up(write_spec):
    plan = make_plan(write_spec(phase("a", "share: 50%"), phase("b"), budget="5 steps"))
    assert laid(plan) == [("a", 0, 3), ("b", 3, 2)]


def test_phases_in_tokens_use_their_own_batch_and_length(write_spec):
    spec = write_spec(
        phase("pretraining", "tokens: 5.93T", "batch: 4194304 tokens, "),
        phase("midtraining", "tokens: 100B", "batch: 2097152 tokens, "),
        phase("long", "tokens: 50B", "batch: 4194304 tokens, sequence_length: 65536, "),
        sequence_length="8192",
        batch="512 sequences",
        budget="6.08T tokens",
        catalog="domain,tokens\nweb,9T\n",
    )
    plan = make_plan(spec)
    asked = [Fraction(5_930_000_000_000, 4_194_304)]
    asked.append(asked[0] + Fraction(100_000_000_000, 2_097_152))
    asked.append(asked[1] + Fraction(50_000_000_000, 4_194_304))
    assert [p.laid.asked_end for p in plan.phases] == asked
    assert [p.laid.end_step for p in plan.phases] == [1_413_822, 1_461_506, 1_473_427]
    assert [p.laid.batch_sequences for p in plan.phases] == [512, 256, 64]
    assert {p.laid.batch_tokens for p in plan.phases} == {4_194_304, 2_097_152}


def test_a_share_of_a_budget_in_tokens_is_a_share_of_tokens(write_spec):
    plan = make_plan(
        write_spec(
            phase("small", "share: 50%", "batch: 10 sequences, "),
            phase("large", "share: 50%", "batch: 40 sequences, "),
            budget="64000 tokens",
        )
    )
    assert laid(plan) == [("small", 0, 200), ("large", 200, 50)]
    assert [p.laid.tokens for p in plan.phases] == [32_000, 32_000]


def test_until_counts_tokens_from_the_start_of_the_run(write_spec):
    plan = make_plan(
        write_spec(phase("a", "until: 1600 tokens", "batch: 10 sequences, "), phase("b"), budget="2880 tokens")
    )
    assert laid(plan) == [("a", 0, 10), ("b", 10, 10)]


def test_a_batch_in_tokens_follows_the_length_and_a_batch_in_sequences_does_not(write_spec):
    spec = write_spec(
        phase("tokens", "steps: 5", "sequence_length: 8192, batch: 8388608 tokens, "),
        phase("sequences", "steps: 5", "sequence_length: 8192, batch: 2048 sequences, "),
        budget="10 steps",
    )
    tokens, sequences = make_plan(spec).phases
    assert (tokens.laid.batch_sequences, tokens.laid.batch_tokens) == (1_024, 8_388_608)
    assert (sequences.laid.batch_sequences, sequences.laid.batch_tokens) == (2_048, 16_777_216)


def test_a_batch_that_is_not_whole_sequences_is_refused_with_the_nearest_sizes(write_spec):
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec(phase("a"), batch="100 tokens"))
    assert caught.value.code == "batch-not-whole"
    assert caught.value.facts["near"] == [96, 112]
    assert caught.value.place.line == 4


def test_a_phase_at_a_step_after_a_batch_change_begins_at_the_sum_of_both_batches(write_spec):
    spec = write_spec(
        phase("small", "until: step 100", "batch: 8 sequences, "),
        phase("large", "until: step 150", "batch: 16 sequences, "),
        phase("later", "", "batch: 16 sequences, "),
        budget="200 steps",
    )
    plan = make_plan(spec)
    assert plan.phases[2].laid.first_step == 150
    assert plan.schedule.positions_before(150) == 1_600
    assert [(b.first_step, b.sequences) for b in plan.data.batches] == [(0, 8), (100, 16)]


@pytest.mark.parametrize(
    ("phases", "code"),
    [
        (("until: step 60", "until: step 40", ""), "phase-order"),
        (("until: step 60", "until: step 60", ""), "phase-empty"),
        (("until: step 60", "steps: 40", ""), "phases-miss-budget"),
        (("steps: 120", ""), "phases-miss-budget"),
        (("steps: 50", "steps: 49"), "phases-miss-budget"),
        (("share: 80%", "share: 21%"), "phases-miss-budget"),
    ],
)
def test_phases_out_of_order_empty_or_not_the_budget_are_refused(write_spec, phases, code):
    spec = write_spec(*(phase(f"p{i}", extent) for i, extent in enumerate(phases)))
    with pytest.raises(SpecError) as caught:
        make_plan(spec)
    assert caught.value.code == code
    assert caught.value.place.line > 6


def test_phases_that_miss_the_budget_by_less_than_a_step_end_with_it(write_spec):
    spec = write_spec(*(phase(f"p{i}", "share: 33.3333%") for i in range(3)), budget="1000 steps")
    assert make_plan(spec).steps == 1_000


@pytest.mark.parametrize(
    ("first", "last", "asked"),
    [
        ("share: 80%", "share: 16%", "19.2"),
        ("share: 80%", "share: 24%", "20.8"),
        ("share: 80%", "until: 95.5%", "19.1"),
        ("share: 80%", "tokens: 511", "19.9921875"),
        ("share: 80%", "share: 19.99999999999999999%", "19.999999999999999998"),
    ],
)
def test_a_last_phase_that_misses_the_end_of_the_budget_at_all_is_told_what_was_asked(write_spec, first, last, asked):
    plan = make_plan(write_spec(phase("a", first), phase("b", last), budget="20 steps"))
    assert laid(plan) == [("a", 0, 16), ("b", 16, 4)]
    (note,) = found(plan, FindingCode.BOUNDARY_ROUNDED)
    assert note.facts == {"phase": "b", "asked": Fraction(asked), "step": 20}
    assert note.message == f"phase 'b' ends at step 20, asked was {asked}"
    assert note.place.path == f"phases[1].{last.split(':')[0]}"


def test_a_last_phase_that_meets_the_budget_exactly_or_is_the_rest_has_nothing_rounded(write_spec):
    for last in ("share: 20%", "until: 100%", "steps: 4", "until: step 20", ""):
        plan = make_plan(write_spec(phase("a", "share: 80%"), phase("b", last), budget="20 steps"))
        assert not found(plan, FindingCode.BOUNDARY_ROUNDED)


def test_a_last_phase_that_misses_a_budget_in_tokens_ends_where_the_budget_rounds_to(write_spec):
    plan = make_plan(write_spec(phase("a", "tokens: 1280"), phase("b", "tokens: 200"), budget="1450 tokens"))
    assert laid(plan) == [("a", 0, 10), ("b", 10, 1)]
    (note,) = found(plan, FindingCode.BOUNDARY_ROUNDED)
    assert note.facts == {"phase": "b", "asked": Fraction(1480, 128), "step": 11}


def test_phases_so_short_that_two_boundaries_round_to_one_step_are_refused(write_spec):
    spec = write_spec(phase("a", "until: 49.6%"), phase("b", "until: 50.4%"), phase("c"), budget="50 steps")
    (finding,) = make_plan(spec).refusals
    assert finding.code is FindingCode.PHASE_VANISHED
    assert finding.facts == {"phase": "b", "asked": Fraction(252, 10), "step": 25}
    assert finding.place.path == "phases[1].until"


def test_a_vanished_phase_that_is_accepted_is_listed_without_steps(write_spec):
    spec = write_spec(
        phase("a", "until: 49.6%"), phase("b", "until: 50.4%"), phase("c"),
        budget="50 steps", accept="[phase-vanished]",
    )  # fmt: skip
    plan = make_plan(spec)
    assert not plan.refusals
    assert laid(plan) == [("a", 0, 25), ("b", 25, 0), ("c", 25, 25)]
    assert set(plan.phases[1].sequences) == {0}


def test_a_last_phase_that_a_smaller_budget_leaves_next_to_nothing_is_a_warning(write_spec):
    for lengths, budget, steps in (
        (("until: step 1999", ""), "2000 steps", 1),
        (("share: 50%", "steps: 999", ""), "2000 steps", 1),
        (("tokens: 253K", ""), "256K tokens", None),
        (("until: step 1998", ""), "2000 steps", None),  # 0.1% is not less than 0.1%
        (("until: 99.95%", ""), "2000 steps", None),  # shrinks with the budget
        (("until: step 1999", "steps: 1"), "2000 steps", None),  # its length is written
        (("until: 255_990 tokens", ""), "2000 steps", None),  # vanishes: an error
        (("",), "1 step", None),
        (("until: 255_872 tokens", ""), "256K tokens", 1),
    ):
        spec = write_spec(*(phase(name, one) for name, one in zip("abc", lengths, strict=False)), budget=budget)
        plan = make_plan(spec)
        short = found(plan, FindingCode.PHASE_SHORT)
        assert [one.facts["steps"] for one in short] == ([] if steps is None else [steps]), lengths
        assert all(one.place.path == "budget" and not one.refuses for one in short)


def test_a_budget_in_steps_and_tokens_that_disagree_is_found_with_both_figures(write_spec):
    spec = write_spec(
        phase("all"),
        sequence_length="4096",
        batch="11264 sequences",
        budget="{steps: 390251, tokens: 18.75T}",
        catalog="domain,tokens\nweb,23T\n",
    )
    plan = make_plan(spec)
    (finding,) = plan.refusals
    assert finding.code is FindingCode.BUDGET_MISMATCH
    assert finding.facts["tokens_planned"] == plan.tokens == 18_005_144_633_344
    assert finding.facts["tokens_asked"] == 18_750_000_000_000
    assert "18,005,144,633,344" in finding.message
    assert "18,750,000,000,000" in finding.message
    assert finding.place.path == "budget.tokens"


@pytest.mark.parametrize(("tokens", "mismatches"), [(12_800, 0), (12_927, 0), (12_928, 1), (12_673, 0), (12_672, 1)])
def test_a_budget_mismatch_is_a_step_or_more(write_spec, tokens, mismatches):
    spec = write_spec(phase("all"), budget=f"{{steps: 100, tokens: {tokens}}}")
    assert len(found(make_plan(spec), FindingCode.BUDGET_MISMATCH)) == mismatches


@pytest.mark.parametrize(("tokens", "difference"), [(12_927, "127 fewer"), (12_673, "127 more"), (12_801, "1 fewer")])
def test_a_budget_that_differs_by_less_than_a_step_is_a_note_with_both_figures(write_spec, tokens, difference):
    plan = make_plan(write_spec(phase("all"), budget=f"{{steps: 100, tokens: {tokens}}}"))
    (note,) = found(plan, FindingCode.BOUNDARY_ROUNDED)
    assert note.message == f"100 steps read 12,800 tokens, the budget says {tokens:,}: {difference}, less than a step"
    assert (note.facts["tokens_planned"], note.facts["tokens_asked"]) == (12_800, tokens)
    assert note.place.path == "budget.tokens"
    assert not plan.refusals


def test_a_budget_whose_steps_and_tokens_agree_needs_no_note(write_spec):
    plan = make_plan(write_spec(phase("all"), budget="{steps: 100, tokens: 12800}"))
    assert [finding.code for finding in plan.findings] == [FindingCode.LONGEST_CONTEXT]


def test_a_batch_that_the_ranks_can_not_share_is_refused_with_sizes_near_it(write_spec):
    spec = write_spec(phase("all"), batch="6 sequences")
    (finding,) = make_plan(spec, world_size=4).refusals
    assert finding.code is FindingCode.BATCH_NOT_DIVISIBLE
    assert finding.facts["near"] == [4, 8]
    assert finding.place.path == "batch"
    assert not make_plan(spec, world_size=3).refusals
    assert not make_plan(spec).refusals


@pytest.mark.parametrize(
    ("lengths", "block"), [((16,), 65_536), ((4096, 65536), 65_536), ((4096, 131072), 131_072), ((3, 7), 65_541)]
)
def test_the_default_block_is_the_smallest_common_multiple_from_65536_on(write_spec, lengths, block):
    phases = [phase(f"p{n}", "share: 50%", f"sequence_length: {n}, ") for n in lengths[:1]]
    phases.append(phase("last", "", f"sequence_length: {lengths[-1]}, "))
    plan = make_plan(write_spec(*phases))
    assert plan.data.block_tokens == block
    assert plan.data.window_blocks == 64
    (note,) = found(plan, FindingCode.LONGEST_CONTEXT)
    assert note.facts["block_tokens"] == block


def test_a_block_that_cuts_sequences_is_refused(write_spec):
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec(phase("all"), shuffle="{block: 1000 tokens}"))
    assert caught.value.code == "block-not-multiple"
    assert caught.value.facts["near"] == [992, 1_008]


@pytest.mark.parametrize(
    ("keys", "key", "code"),
    [
        ({"batch": "4M tokens", "sequence_length": "4096", "budget": "4B"}, "batch: {}", "batch-not-whole"),
        ({"shuffle": "{block: 4M tokens}", "sequence_length": "4096"}, "shuffle: {{block: {}}}", "block-not-multiple"),
        ({"batch": "5000 sequences"}, "batch: {}", "batch-not-divisible"),
    ],
)
def test_what_a_hint_says_to_write_can_be_written_as_it_stands(write_spec, keys, key, code):
    def refusal(written):
        """The hint of the error with this code, if there is one."""
        try:
            plan = make_plan(write_spec(phase("all"), **written), world_size=8 if code != "batch-not-divisible" else 24)
        except SpecError as error:
            return error.hint if error.code == code else None
        return next((finding.hint for finding in plan.findings if finding.code == code), None)

    near = re.findall(r"[0-9][0-9_,]* (?:tokens|sequences)", refusal(keys))
    assert len(near) == 2, "one below, one above"
    for value in near:
        name, _, text = key.format(value).partition(": ")
        assert refusal(keys | {name: text}) is None, "what the hint says is right"


@pytest.mark.parametrize(("budget", "code"), [("2e15 steps", "run-too-long"), ("63 tokens", "run-too-short")])
def test_runs_longer_than_can_be_ordered_or_without_a_step_are_refused(write_spec, budget, code):
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec(phase("all"), budget=budget))
    assert caught.value.code == code


def test_lengths_that_share_no_block_of_a_size_to_read_are_refused(write_spec):
    spec = write_spec(phase("a", "share: 50%", "sequence_length: 65537, "), phase("b", "", "sequence_length: 65539, "))
    with pytest.raises(SpecError) as caught:
        make_plan(spec)
    assert caught.value.code == "lengths-apart"
    assert caught.value.facts["lengths"] == [65_537, 65_539]


def test_more_sequences_than_can_be_laid_out_at_once_are_refused(write_spec):
    with pytest.raises(SpecError) as caught:
        make_plan(write_spec(phase("all", "", "batch: 1048577 sequences, "), budget="20 steps"))
    assert (caught.value.code, caught.value.place.path) == ("batch-too-large", "phases[0].batch")
    assert "at most 1,048,576" in caught.value.hint


def test_as_many_sequences_as_can_be_laid_out_are_planned(write_spec):
    assert make_plan(write_spec(phase("all", "", "batch: 1048576 sequences, "), budget="2 steps")).steps == 2


PACKED = "domain,tokens,packed,padding\ncode,1000000,16,5\nweb,1000000,32,7\ntalk,1000000,,\n"


def test_a_phase_of_another_length_than_its_rows_were_packed_to_is_an_error_in_its_place(write_spec):
    phases = [
        "{phase: a, share: 50%, weights: {code: 50%, talk: 50%}}",
        "{phase: b, share: 25%, sequence_length: 32, weights: {web: 50%, talk: 50%}}",
        "{phase: c, sequence_length: 64, weights: {code: 0%, web: 50%, talk: 50%}}",
    ]
    (finding,) = found(make_plan(write_spec(*phases, catalog=PACKED)), FindingCode.PACKED_LENGTH_DIFFERS)
    assert finding.refuses
    assert finding.place is not None
    assert finding.place.path == "phases[2].sequence_length"
    assert finding.facts == {"phase": "c", "sequence_length": 64, "packed": 32, "domains": ["web"]}


@pytest.mark.parametrize("header", ["packed,notes", "packed,padding"])
def test_columns_that_only_look_like_those_of_packed_rows_are_attributes(write_spec, header):
    catalog = f"domain,tokens,{header}\ncode,1000000,yes,no\nweb,1000000,32,7\n"
    assert not found(make_plan(write_spec(phase("all"), catalog=catalog)), FindingCode.PACKED_LENGTH_DIFFERS)
