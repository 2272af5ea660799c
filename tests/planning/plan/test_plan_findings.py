"""What a plan finds about domains, with figures, places, and what can be accepted."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mixture.errors import PlanError
from mixture.planning.plan import LEVELS, Level, finding_json, make_lock, make_plan
from mixture.planning.spec import FindingCode


def found(plan, code):
    return [finding for finding in plan.findings if finding.code is code]


SMALL = "domain,tokens\nA,16000\nB,16000\n"
RARE = "{phase: p, weights: {A: 0.001, B: 0.999}}"


def test_a_domain_read_too_often_is_refused_with_the_tokens_missing(write_spec):
    keys = {"catalog": SMALL, "batch": "10 sequences", "budget": "1000 steps"}
    plan = make_plan(write_spec(RARE, **keys))
    assert {d.name: d.epochs for d in plan.domains} == {"A": Fraction(1, 100), "B": Fraction(999, 100)}
    assert not plan.refusals

    capped = make_plan(write_spec(RARE, max_epochs="4", **keys))
    (finding,) = capped.refusals
    assert finding.code is FindingCode.OVER_EPOCHS
    assert finding.facts["domain"] == "B"
    assert finding.facts["epochs"] == Fraction(999, 100)
    assert finding.facts["tokens_missing"] == 9_990 * 16 - 4 * 16_000
    assert finding.facts["tokens_needed"] == 9_990 * 16 // 4
    assert finding.message == (
        "domain 'B' is read 9.99 times, allowed are 4: 95,840 tokens too many; 40% of phase 'p' in place of 99.9%,"
        " or 23,960 more tokens of it, would fit"
    )
    assert finding.hint == "lower its weight, raise `max_epochs`, or find more of it"
    assert finding.place.path == "phases[0].weights.B"
    with pytest.raises(PlanError) as caught:
        make_lock(capped)
    assert caught.value.code == "over-epochs"
    assert caught.value.place == finding.place


def test_a_domains_own_limit_goes_before_the_specs(write_spec):
    catalog = "domain,tokens,max_epochs\nA,16000,\nB,16000,10\n"
    plan = make_plan(write_spec(RARE, catalog=catalog, max_epochs="4", batch="10 sequences", budget="1000 steps"))
    assert not plan.refusals
    assert [d.max_epochs for d in plan.domains] == [4, 10]


@pytest.mark.parametrize("order", [1, -1])
def test_a_domain_of_several_groups_is_pointed_at_in_the_one_that_gives_it_most(write_spec, order):
    groups = ["{replay: main, share: 1%}", "{where: domain = 'B', share: 99%, within: uniform}"][::order]
    plan = make_plan(
        write_spec(
            "{phase: main, steps: 10, weights: uniform}",
            f"{{phase: late, weights: [{', '.join(groups)}]}}",
            catalog=SMALL,
            max_epochs="4",
            budget="1000 steps",
        )
    )
    (finding,) = plan.refusals
    assert finding.facts["domain"] == "B"
    assert finding.place.path == f"phases[1].weights[{1 if order == 1 else 0}].within"


def test_exactly_the_limit_is_allowed(write_spec):
    spec = write_spec("{phase: p, weights: {A: 1}}", catalog=SMALL, max_epochs="4", budget="500 steps")
    assert not make_plan(spec).refusals
    spec = write_spec("{phase: p, weights: {A: 1}}", catalog=SMALL, max_epochs="4", budget="501 steps")
    assert [finding.facts["tokens_missing"] for finding in make_plan(spec).refusals] == [8 * 16]


@pytest.mark.parametrize("empty", ["a", "m", "z"])
def test_an_empty_domain_with_weight_is_refused_wherever_it_stands(write_spec, empty):
    rows = "".join(f"{name},{0 if name == empty else 1000}\n" for name in ("a", "m", "z"))
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog="domain,tokens\n" + rows))
    (finding,) = plan.refusals
    assert (finding.code, finding.facts["domain"]) == (FindingCode.DOMAIN_EMPTY, empty)
    assert sum(plan.phases[0].sequences) == plan.sequences


def test_an_empty_domain_with_weight_zero_is_fine_and_listed(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {A: 1, B: 0}}", catalog="domain,tokens\nA,1600\nB,0\n"))
    assert not plan.refusals
    (note,) = found(plan, FindingCode.ZERO_WEIGHT)
    assert note.facts == {"phase": "p", "domains": ["B"]}
    assert plan.phases[0].sequences == (800, 0)
    assert plan.domains[1].epochs is None


def test_a_domain_that_a_groups_map_leaves_out_is_not_said_to_be_listed(write_spec):
    group = "{where: tokens > 0, share: 1, within: {A: 1}}"
    (note,) = found(make_plan(write_spec(f"{{phase: p, weights: [{group}]}}", catalog=SMALL)), FindingCode.ZERO_WEIGHT)
    assert note.message == "phase 'p' gives domain 'B' no weight: never drawn in it"
    assert note.place.path == "phases[0].weights[0].within"


def test_a_domain_without_one_whole_sequence_is_refused_by_name_in_the_phase_that_is_too_long(write_spec):
    spec = write_spec(
        "{phase: short, share: 50%, weights: uniform}",
        "{phase: long, sequence_length: 64, weights: {A: 0.5, B: 0.5}}",
        catalog="domain,tokens\nA,63\nB,64\n",
    )
    plan = make_plan(spec)
    (finding,) = plan.refusals
    assert finding.code is FindingCode.DOMAIN_TOO_SMALL
    assert (finding.facts["domain"], finding.facts["phases"]) == ("A", ["long"])
    assert finding.place.path == "phases[1].weights.A"
    assert sum(plan.phases[1].sequences) == 400


@pytest.mark.parametrize(("tokens", "code"), [(0, "domain-empty"), (15, "domain-too-small")])
def test_what_can_not_be_drawn_can_not_be_accepted(write_spec, tokens, code):
    spec = write_spec(
        "{phase: p, weights: uniform}",
        catalog=f"domain,tokens\nA,{tokens}\nB,1000\n",
        accept="[domain-empty, domain-too-small]",
    )
    (finding,) = make_plan(spec).refusals
    assert finding.code == code
    assert "can not be accepted" in finding.hint


def test_an_accepted_error_stays_in_plan_and_lock_and_others_still_refuse(write_spec):
    keys = {"catalog": SMALL, "max_epochs": "4", "batch": "10 sequences", "budget": "{steps: 1000, tokens: 1T}"}
    plan = make_plan(write_spec(RARE, accept="[over-epochs]", **keys))
    (accepted,) = found(plan, FindingCode.OVER_EPOCHS)
    assert accepted.accepted
    assert [finding.code for finding in plan.refusals] == ["budget-mismatch"]

    lock = make_lock(make_plan(write_spec(RARE, accept="[budget-mismatch, over-epochs, tokenizer-differs]", **keys)))
    assert [finding.code for finding in lock.accepted] == ["budget-mismatch", "over-epochs"]
    assert lock.accepted[1].facts["epochs"] == {"decimal": "9.99", "ratio": "999/100"}


def test_token_counts_of_another_tokenizer_are_refused_for_domains_that_are_weighed(write_spec):
    catalog = "domain,tokens,tokenizer\nA,16000,llama3\nB,16000,gpt2\nC,16000,bytes\n"
    plan = make_plan(write_spec("{phase: p, weights: {A: 0.5, B: 0.5, C: 0}}", catalog=catalog, tokenizer="llama3"))
    (finding,) = plan.refusals
    assert finding.code is FindingCode.TOKENIZER_DIFFERS
    assert finding.facts == {"tokenizer": "llama3", "counted_with": "gpt2", "domains": ["B"]}
    assert finding.place.path == "tokenizer"


def test_without_a_tokenizer_in_the_spec_the_catalogs_counts_must_agree(write_spec):
    catalog = "domain,tokens,tokenizer\nA,16000,llama3\nB,16000,gpt2\n"
    assert [f.code for f in make_plan(write_spec(RARE, catalog=catalog)).refusals] == ["tokenizer-differs"]
    alone = make_plan(write_spec("{phase: p, weights: {A: 1}}", catalog=catalog))
    assert not alone.refusals
    assert alone.tokenizer == "llama3"


def test_a_phase_that_forgets_one_of_200_domains_is_told_its_name(write_spec):
    names = [f"d{i:03d}" for i in range(200)]
    catalog = "domain,tokens\n" + "".join(f"{name},100000\n" for name in names)
    every = ", ".join(f"{name}: 0.5%" for name in names)
    without = ", ".join(f"{name}: {'1%' if name == 'd000' else '0.5%'}" for name in names if name != "d117")
    plan = make_plan(
        write_spec(
            f"{{phase: one, share: 50%, weights: {{{every}}}}}",
            f"{{phase: two, weights: {{{without}}}}}",
            catalog=catalog,
        )
    )
    (warning,) = found(plan, FindingCode.DOMAIN_MISSING_IN_PHASE)
    assert warning.level is Level.WARNING
    assert warning.facts == {"phase": "two", "domains": ["d117"]}
    assert "'d117'" in warning.message


def test_a_domain_that_a_condition_leaves_out_is_not_forgotten(write_spec):
    plan = make_plan(
        write_spec(
            "{phase: one, share: 50%, weights: uniform}",
            "{phase: two, weights: [{where: \"domain = 'A'\", share: 1, within: uniform}]}",
            catalog=SMALL,
        )
    )
    assert not found(plan, FindingCode.DOMAIN_MISSING_IN_PHASE)


def test_domains_that_no_phase_weighs_are_named_with_their_tokens(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {A: 1}}", catalog=SMALL))
    (warning,) = found(plan, FindingCode.DOMAIN_UNUSED)
    assert warning.facts["domains"] == ["B"]
    assert "16,000 tokens" in warning.message


@pytest.mark.parametrize(
    ("one", "other"),
    [("08", "8"), ("Web", "web"), ("c4-en", "c4_en"), ("ｗeb", "web"), ("part007", "part7"), ("we\u200bb", "web")],
)
def test_names_that_look_alike_are_two_domains_and_a_warning(write_spec, one, other):
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog=f"domain,tokens\n{one},1000\n{other},2000\n"))
    (warning,) = found(plan, FindingCode.NAMES_ALIKE)
    assert sorted(warning.facts["domains"]) == sorted([one, other])
    assert len(plan.domains) == 2


@pytest.mark.parametrize(("one", "other"), [("08", "80"), ("web", "web2"), ("c1q0", "c10"), ("10", "1")])
def test_names_that_differ_to_the_eye_are_no_warning(write_spec, one, other):
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog=f"domain,tokens\n{one},1000\n{other},2000\n"))
    assert not found(plan, FindingCode.NAMES_ALIKE)


def test_text_left_unread_at_a_change_of_length_is_counted(write_spec):
    spec = write_spec(
        "{phase: short, steps: 90, weights: uniform}",
        "{phase: long, sequence_length: 64, weights: uniform}",
        shuffle="{block: 256 tokens, window: 2 blocks}",
    )
    plan = make_plan(spec)
    (note,) = found(plan, FindingCode.TOKENS_SKIPPED)
    handoff = plan.schedule.handoffs()[1]
    assert note.facts["tokens"] == sum(handoff.tokens_skipped) > 0
    assert note.facts["first_step"] == 90
    assert note.place.path == "phases[1].sequence_length"


def test_findings_come_errors_first_and_every_code_has_a_level(write_spec):
    assert set(LEVELS) == set(FindingCode)
    plan = make_plan(write_spec("{phase: p, weights: {A: 1, B: 0}}", catalog=SMALL, max_epochs="0.1"))
    levels = [finding.level for finding in plan.findings]
    assert levels == sorted(levels, key=list(Level).index)
    assert levels[0] is Level.ERROR
    assert levels[-1] is Level.NOTE


def test_a_finding_for_programs_has_exact_figures(write_spec):
    spec = write_spec(RARE, catalog=SMALL, max_epochs="4", batch="10 sequences", budget="1000 steps")
    (finding,) = make_plan(spec).refusals
    row = finding_json(finding)
    assert (row["code"], row["level"], row["accepted"]) == ("over-epochs", "error", False)
    assert row["facts"]["epochs"] == {"decimal": "9.99", "ratio": "999/100"}
    assert row["facts"]["tokens_missing"] == 95_840
    assert row["place"]["line"] == 8
