"""Rungs of a ladder: the same parts of the run at other sizes, batches in their ratio, and the full run as it is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from mixture.errors import PlanError, UnitError
from mixture.planning.ladder import RungSize, make_ladder, parse_rung
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.plan.phases import round_half_up
from mixture.planning.spec import read_spec

MIXTURES = Path(__file__).parents[3] / "mixtures"
MARIN = ("47.9B:1024", "128.1B:2048", "380.7B:6144", "926.1B:11264")


def sizes(*texts: str) -> list[RungSize]:
    return [parse_rung(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "size", "shown"),
    [
        ("47.9B:1024", RungSize(47_900_000_000, 1024), "47.9B:1024"),
        ("1_024", RungSize(1024), "1.024K"),
        ("512 tokens:8 sequences", RungSize(512, 8), "512:8"),
        ("18005144633344", RungSize(18_005_144_633_344), "18.005144633344T"),
    ],
)
def test_a_rung_is_tokens_and_the_sequences_of_a_batch(text, size, shown):
    assert parse_rung(text) == size
    assert str(size) == shown
    assert parse_rung(shown) == size


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not-a-number"),
        ("47.9B:", "not-a-number"),
        ("47.9B:0", "out-of-range"),
        ("47.9B:4M tokens", "wrong-unit"),
        ("100 steps", "wrong-unit"),
        ("0", "out-of-range"),
        ("1.5", "not-whole"),
    ],
)
def test_what_is_no_rung_is_refused_with_what_would_be_right(text, code):
    with pytest.raises(UnitError, match=r"47\.9B:1024") as refused:
        parse_rung(text)
    assert refused.value.code == code


def test_each_rung_of_the_large_run_ends_its_phases_at_the_same_parts_of_its_steps():
    spec = read_spec(MIXTURES / "marin-535b-a23b" / "mixture.yaml")
    rungs = make_ladder(spec, sizes(*MARIN))
    assert [(rung.plan.steps, rung.plan.phases[0].laid.batch_sequences) for rung in rungs] == [
        (11_420, 1024),
        (15_271, 2048),
        (15_128, 6144),
        (20_073, 11_264),
    ]
    for rung in rungs:
        parts = [phase.laid.asked_end / rung.plan.steps for phase in rung.plan.phases]
        assert parts == [Fraction(108_000, 390_251), Fraction(312_192, 390_251), 1]
        for phase in rung.plan.phases:
            assert phase.laid.end_step == round_half_up(phase.laid.asked_end)
        # Whole steps: nothing nearer to what was asked for.
        assert 2 * abs(rung.plan.tokens - rung.size.tokens) <= rung.plan.phases[0].laid.batch_tokens
        assert [phase.shares for phase in rung.plan.phases] == [phase.shares for phase in rung.full.phases]


PHASES = (
    "{phase: a, share: 37%, weights: proportional}",
    "{phase: b, tokens: 3072, batch: 4 sequences, weights: uniform}",
    "{phase: c, until: 91.5%, batch: 256 tokens, sequence_length: 64, weights: proportional}",
    "{phase: d, sequence_length: 32, weights: uniform}",
)


def test_where_the_budget_is_in_tokens_phases_end_at_the_same_part_of_the_tokens(write_spec):
    full = make_plan(write_spec(*PHASES, budget="100_003 tokens"))
    (rung,) = make_ladder(full.spec, sizes("33_333:6"))
    ends = Fraction(37, 100), Fraction(37, 100) + Fraction(3072, 100_003), Fraction(183, 200)
    for plan in (full, rung.plan):
        step, tokens = Fraction(0), Fraction(0)
        for phase, part in zip(plan.phases[:-1], ends, strict=True):
            tokens += (phase.laid.asked_end - step) * phase.laid.batch_tokens
            step = phase.laid.asked_end
            assert tokens == part * plan.spec.budget.tokens
    assert [phase.laid.batch_sequences for phase in full.phases] == [8, 4, 4, 8]
    assert [phase.laid.batch_sequences for phase in rung.plan.phases] == [6, 3, 3, 6]
    assert [phase.laid.sequence_length for phase in rung.plan.phases] == [16, 16, 64, 32]
    assert abs(rung.plan.tokens - 33_333) < 3 * 64 * 16


def test_where_the_budget_is_in_steps_the_steps_read_the_tokens_asked_for(write_spec):
    full = make_plan(write_spec(*PHASES, budget="{steps: 700, tokens: 179_200}", accept="[budget-mismatch]"))
    (rung,) = make_ladder(full.spec, sizes("40K:4"))
    for small, large in zip(rung.plan.phases, full.phases, strict=True):
        assert small.laid.asked_end / rung.plan.steps == large.laid.asked_end / full.steps
        assert 2 * small.laid.batch_sequences == large.laid.batch_sequences
    step = max(phase.laid.batch_tokens for phase in rung.plan.phases)
    assert abs(rung.plan.tokens - 40_000) < step


def test_without_a_batch_a_rung_has_that_of_the_spec(write_spec):
    (rung,) = make_ladder(write_spec("{phase: a, weights: proportional}"), sizes("6.4K"))
    assert (rung.plan.steps, rung.plan.phases[0].laid.batch_sequences) == (50, 8)


def test_a_batch_that_would_not_be_whole_is_refused_with_those_near_it_that_are(write_spec):
    spec = write_spec(*PHASES, budget="100_003 tokens")
    with pytest.raises(PlanError, match=r"rung 33\.333K:5: the batch of phase 'b' would be 2\.5 seq") as refused:
        make_ladder(spec, sizes("33_333:5"))
    assert refused.value.code == "batch-not-whole"
    assert refused.value.place.line == spec.place("phases[1].batch").line
    for batch in refused.value.facts["near"]:
        make_ladder(spec, [RungSize(33_333, batch)])


def test_a_phase_that_is_too_short_for_a_rung_is_a_finding_of_that_rung(write_spec):
    spec = write_spec("{phase: short, until: step 1, weights: uniform}", "{phase: rest, weights: proportional}")
    small, large = make_ladder(spec, sizes("2K", "10K"))
    assert [finding.code for finding in small.plan.refusals] == ["phase-vanished"]
    assert not large.plan.refusals
    with pytest.raises(PlanError, match="'short' would have no step"):
        small.lock()


def test_a_rung_of_less_than_half_a_step_is_refused(write_spec):
    with pytest.raises(PlanError) as refused:
        make_ladder(write_spec("{phase: a, weights: uniform}"), sizes("63"))
    assert refused.value.code == "run-too-short"
    (rung,) = make_ladder(write_spec("{phase: a, weights: uniform}"), sizes("64"))
    assert rung.plan.steps == 1


def test_a_rung_is_asked_for_once(write_spec):
    with pytest.raises(PlanError, match="2K:8 is asked for twice"):
        make_ladder(write_spec("{phase: a, weights: uniform}"), sizes("2K:8", "2K", "2000:8"))


@pytest.mark.parametrize("text", ["12.8K", "12.8K:8", "12_700", "12_927:8", "13K"])
def test_a_rung_of_the_full_size_is_the_full_run_and_is_never_cut(write_spec, text):
    spec = write_spec(
        "{phase: a, until: 30%, weights: uniform}",
        "{phase: b, weights: proportional}",
        budget="{steps: 100, tokens: 13000}",
        accept="[budget-mismatch]",
    )
    small, full = make_ladder(spec, sizes("6K", text), simulate_epochs=True)
    assert small.pools
    assert full.is_full_run
    assert not full.pools
    assert full.lock() == make_lock(make_plan(spec))


def test_a_rung_of_the_full_size_in_another_batch_is_cut_only_if_asked(write_spec):
    spec = write_spec("{phase: a, weights: {code: 33%, web: 67%}}", budget="1000 steps")
    (kept,) = make_ladder(spec, sizes("127_990:16"), simulate_epochs=True)
    (cut,) = make_ladder(spec, sizes("127_990:16"), simulate_epochs=True, cut_full=True)
    assert not kept.is_full_run
    assert not kept.pools
    assert cut.plan.steps == kept.plan.steps == 500
    (own,) = make_ladder(spec, sizes("128K"), simulate_epochs=True, cut_full=True)
    assert own.is_full_run
    # As many draws as the full run's need as many tokens: of them no pool is a part.
    assert not own.pools


@pytest.mark.parametrize("text", ["128_128", "128_128:16", "200K", "1T:4"])
def test_a_rung_longer_than_the_full_run_is_refused_with_both_sizes(write_spec, text):
    spec = write_spec("{phase: a, weights: {code: 33%, web: 67%}}", budget="1000 steps")
    for cut_full in (False, True):
        with pytest.raises(PlanError) as refused:
            make_ladder(spec, sizes("2K", text), simulate_epochs=True, cut_full=cut_full)
        error = refused.value
        assert (error.code, error.place.path) == ("rung-too-large", "budget")
        assert error.message.startswith(
            f"rung {sizes(text)[0]} has {sizes(text)[0].tokens:,} tokens, more than the full run"
        )
        assert error.message.endswith("which reads 128,000")
        assert error.hint == "at most 128_000 tokens; a longer run takes a larger `budget` in the spec"
    assert make_ladder(spec, sizes("128_127"))[0].is_full_run, "less than a step longer is the full run"


def test_what_is_wrong_with_a_rung_is_what_its_own_plan_finds(write_spec):
    catalog = "domain,tokens\na,15\nb,900\nc,100000\n"
    keys = {"catalog": catalog, "max_epochs": "8", "accept": "[over-epochs]", "budget": "1000 steps"}
    spec = write_spec("{phase: a, weights: {b: 50%, c: 50%}}", **keys)
    large, small = make_ladder(spec, sizes("100K", "12K"))
    assert [finding.code for finding in large.plan.findings if finding.accepted] == ["over-epochs"]
    assert not [finding for finding in small.plan.findings if finding.code == "over-epochs"]
    spec = write_spec("{phase: a, weights: {a: 50%, c: 50%}}", catalog=catalog)
    (rung,) = make_ladder(spec, sizes("6K"), simulate_epochs=True)
    assert [finding.code for finding in rung.plan.refusals] == ["domain-too-small"]
    assert list(rung.pools) == ["c"]


def test_a_rung_is_not_longer_than_the_full_run_by_the_rest_of_a_step(write_spec):
    """At most, and so with pools: with those of the full run's epochs it would need more text than there is."""
    phases = ("{phase: a, until: 37%, weights: uniform}", "{phase: b, batch: 16 sequences, weights: proportional}")
    for budget in ("111 steps", "14_208 tokens", "{steps: 111, tokens: 14_208}"):
        for extents in (("{phase: a, weights: proportional}",), phases):
            catalog = "domain,tokens\ncode,16777216\nweb,16777216\n"
            spec = write_spec(*extents, catalog=catalog, budget=budget, accept="[budget-mismatch]")
            full = make_plan(spec)
            for tokens in range(full.tokens - 600, full.tokens, 37):
                rungs = make_ladder(spec, [RungSize(tokens, batch) for batch in (24, 40, 64)], simulate_epochs=True)
                for rung in rungs:
                    assert rung.plan.tokens <= full.tokens
                    step = max(phase.laid.batch_tokens for phase in rung.plan.phases)
                    assert full.tokens - rung.plan.tokens < 2 * step + 600
                    large_step = max(phase.laid.batch_tokens for phase in full.phases)
                    if tokens <= full.tokens - large_step and rung.plan.tokens < full.tokens:
                        assert rung.pools
                    for domain in rung.domains:
                        assert (domain.epochs or 0) <= (domain.epochs_asked or 0)


def test_a_step_that_reads_more_than_the_full_run_is_no_rung(write_spec):
    spec = write_spec("{phase: a, weights: proportional}", budget="100 steps")
    with pytest.raises(PlanError, match="a step reads more than the full run, which has 12,800 tokens") as refused:
        make_ladder(spec, sizes("12_000:801"))
    assert refused.value.code == "run-too-short"
    (one,) = make_ladder(spec, sizes("12_000:800"))
    assert one.plan.steps == 1
