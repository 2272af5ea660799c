"""A plan's figures are those of its schedule: planned equals drawn."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from mixture.errors import PlanError, SpecError
from mixture.planning.plan import json_value, make_plan, plan_json
from mixture.units import decimal


def test_planned_equals_drawn_by_phase_and_domain(write_spec):
    spec = write_spec(
        "{phase: one, share: 37%, weights: {code: 0.3, web: 0.7}}",
        "{phase: two, share: 13%, batch: 5 sequences, weights: {code: 0.9, web: 0.1}}",
        "{phase: three, batch: 3 sequences, sequence_length: 32, weights: proportional}",
        catalog="domain,tokens\ncode,5000\nweb,20000\n",
    )
    plan = make_plan(spec)
    rows = plan.schedule.rows(0, plan.sequences)
    for phase in plan.phases:
        first = plan.schedule.positions_before(phase.laid.first_step)
        here = rows.domain[first : first + phase.laid.sequences]
        assert phase.sequences == tuple(np.bincount(here, minlength=2).tolist())
    drawn = [int(rows.tokens[rows.domain == d].sum()) for d in range(2)]
    assert [domain.tokens_drawn for domain in plan.domains] == drawn
    assert [domain.epochs for domain in plan.domains] == [Fraction(drawn[0], 5000), Fraction(drawn[1], 20000)]
    assert plan.tokens == sum(drawn)


def test_tokens_behind_the_last_whole_sequence_are_stated_and_read_by_no_epoch(write_spec):
    spec = write_spec(
        "{phase: short, steps: 9, weights: {code: 1}}",
        "{phase: long, sequence_length: 32, weights: {code: 1}}",
        catalog="domain,tokens\ncode,1023\n",
        batch="63 sequences",
        budget="10 steps",
    )
    plan = make_plan(spec)
    stated = [phase["domains"][0]["tokens_left_over"] for phase in plan_json(plan)["phases"]]
    assert stated == [1023 - 63 * 16, 1023 - 31 * 32] == [15, 31]
    for phase, left_over in zip(plan.phases, stated, strict=True):
        first, laid = plan.schedule.positions_before(phase.laid.first_step), phase.laid
        rows = plan.schedule.rows(first, laid.sequences)
        assert int((rows.first_token + rows.tokens).max()) == 1023 - left_over


def test_a_tiny_share_is_drawn_as_often_as_it_says_over_billions_of_sequences(write_spec):
    spec = write_spec(
        "{phase: p, weights: {a: 0.5, b: 0.4999999904, c: 9.6e-9}}",
        catalog="domain,tokens\na,60T\nb,60T\nc,60T\n",
        batch="3125 sequences",
        budget="1171875 steps",
    )
    plan = make_plan(spec)
    assert plan.sequences == 3_662_109_375
    assert abs(plan.phases[0].sequences[2] - 35) <= 1
    by_fifth = [int(plan.schedule.counts(plan.steps * i // 5)[2]) for i in range(6)]
    assert all(5 <= after - before <= 9 for before, after in pairwise(by_fifth))


@pytest.mark.parametrize(
    ("domains", "batch", "steps", "expected"),
    [(7, 1, 100, {13, 14, 15, 16}), (7, 10, 10, {13, 14, 15, 16}), (200, 11, 109, {5, 6, 7})],
)
def test_equal_weights_give_nearly_equal_counts(write_spec, domains, batch, steps, expected):
    rows = "".join(f"d{i:03d},1000000\n" for i in range(domains))
    spec = write_spec(
        "{phase: p, weights: uniform}",
        catalog="domain,tokens\n" + rows,
        batch=f"{batch} sequences",
        budget=f"{steps} steps",
    )
    counts = make_plan(spec).phases[0].sequences
    assert sum(counts) == batch * steps
    assert set(counts) <= expected


def test_shares_are_of_tokens_not_of_documents(write_spec):
    catalog = "domain,tokens,documents\nweb,100000,1000\ncode,100000,100\n"
    plan = make_plan(write_spec("{phase: p, weights: {web: 0.5, code: 0.5}}", catalog=catalog))
    assert [domain.tokens_drawn for domain in plan.domains] == [6_400, 6_400]


def test_when_shares_change_each_domain_goes_on_where_it_was(write_spec):
    spec = write_spec(
        "{phase: even, steps: 25, weights: {a: 0.5, b: 0.5}}",
        "{phase: uneven, steps: 75, weights: {a: 2K, b: 1K}}",
        catalog="domain,tokens\na,1000000\nb,1000000\n",
        batch="4 sequences",
    )
    plan = make_plan(spec)
    assert plan.phases[0].sequences == (50, 50)
    assert plan.phases[1].sequences == (200, 100)
    rows = plan.schedule.rows(100, 300)
    assert [int(rows.draw[rows.domain == d].min()) for d in range(2)] == [50, 50]
    assert [int(rows.draw[rows.domain == d].max()) for d in range(2)] == [249, 149]


def test_the_same_weights_in_two_phases_are_one_segment_wherever_the_boundary_is(write_spec):
    def data(boundary):
        return make_plan(
            write_spec(
                f"{{phase: one, until: {boundary}, weights: {{web: 0.5, code: 0.5}}}}",
                "{phase: two, weights: {code: 50%, web: 50%}}",
            )
        ).data

    assert data("80%") == data("90%")
    assert len(data("80%").segments) == 1


def test_a_longer_run_begins_with_the_shorter_one(write_spec):
    def plan(steps):
        return make_plan(write_spec("{phase: p, weights: {web: 0.7, code: 0.3}}", budget=f"{steps} steps"))

    short, long = plan(1_000), plan(2_000)
    a, b = short.schedule.rows(0, 8_000), long.schedule.rows(0, 8_000)
    assert (a.domain == b.domain).all()
    assert (a.sequence == b.sequence).all()
    assert short.schedule.history(1_000) == long.schedule.history(1_000)


def test_five_thousand_domains_are_planned(write_spec):
    names = [f"cluster{i:04d}" for i in range(5_000)]
    catalog = "domain,tokens\n" + "".join(f"{name},{10**9 + i}\n" for i, name in enumerate(names))
    weights = ", ".join(f"{name}: 0.02%" for name in names)
    plan = make_plan(
        write_spec(
            f"{{phase: one, share: 50%, weights: {{{weights}}}}}",
            "{phase: two, weights: proportional}",
            catalog=catalog,
            batch="1000 sequences",
            sequence_length="4096",
            budget="100000 steps",
        )
    )
    assert not plan.refusals
    assert set(plan.phases[0].sequences) == {10_000}


def test_the_plan_for_programs_holds_every_figure_exactly(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: {code: 1}}", max_epochs="1.5 epochs"))
    row = json.loads(json.dumps(plan_json(plan)))
    assert (row["steps"], row["sequences"], row["tokens"]) == (100, 800, 12_800)
    (phase,) = row["phases"]
    assert (phase["batch_sequences"], phase["batch_tokens"]) == (8, 128)
    assert phase["domains"][0] == {
        "domain": "code", "weight": {"decimal": "1", "ratio": "1/1"}, "sequences": 800, "tokens": 12_800,
        "weight_read": {"decimal": "1", "ratio": "1/1"}, "tokens_left_over": 0,
    }  # fmt: skip
    assert row["domains"][0]["epochs"] == {"decimal": "0.0128", "ratio": "8/625"}
    assert row["domains"][0]["max_epochs"] == {"decimal": "1.5", "ratio": "3/2"}
    assert [finding["code"] for finding in row["findings"]] == ["domain-unused", "longest-context"]
    assert row["lockable"]


def test_a_ratio_that_nobody_could_read_is_null_beside_its_decimal():
    assert json_value(Fraction(1, 10**600)) == {"decimal": decimal(Fraction(1, 10**600)), "ratio": f"1/{10**600}"}
    assert json_value(Fraction(10**700 + 1, 2 * 10**700)) == {"decimal": "0.5", "ratio": None}


def test_a_world_size_below_one_is_refused(write_spec):
    with pytest.raises(PlanError) as caught:
        make_plan(write_spec("{phase: p, weights: uniform}"), world_size=0)
    assert caught.value.code == "world-size-invalid"


def test_a_domain_larger_than_can_be_counted_is_refused_by_name(write_spec):
    spec = write_spec("{phase: p, weights: uniform}", catalog="domain,tokens\ncode,9223372036854775807\nweb,1000\n")
    with pytest.raises(SpecError) as caught:
        make_plan(spec)
    assert caught.value.facts["name"] == "code"
    assert "'code'" in caught.value.message
    assert caught.value.place.path == "catalog"
