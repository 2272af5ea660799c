"""One kind of finding in many domains is one message; programs and locks have them all. What is proposed would fit."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from mixture.errors import PlanError
from mixture.lock import Amendment
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import FindingCode

RUN = {"batch": "64 sequences", "budget": "1000 steps", "max_epochs": "2"}
MANY = "domain,tokens,quality\n" + "".join(f"d{i:02},{2000 + 137 * i},{i % 5}\n" for i in range(40))


def over(plan):
    return [finding for finding in plan.findings if finding.code is FindingCode.OVER_EPOCHS]


def test_many_domains_are_one_message_with_the_count_the_worst_and_the_total(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog=MANY, **RUN))
    every, (summary,) = over(plan), [one for one in plan.summaries if one.code is FindingCode.OVER_EPOCHS]
    assert len(every) == 40
    total, worst = (
        sum(one.facts["tokens_missing"] for one in every),
        max(every, key=lambda one: one.facts["tokens_missing"]),
    )
    assert summary.message.startswith(
        f"40 of 40 domains are read more often than allowed, {total:,} tokens too many in all: 'd00' "
    )
    assert worst.facts["domain"] == "d00"
    assert summary.place == worst.place
    assert len(re.findall(r"'d\d\d'", summary.message)) == 5
    assert summary.message.endswith("; and 35 more")
    assert "--json` lists all 40" in summary.hint
    with pytest.raises(PlanError) as caught:
        make_lock(plan)
    assert (caught.value.message, caught.value.code) == (summary.message, "over-epochs")
    assert len(caught.value.facts["findings"]) == 40


def test_locks_keep_every_accepted_finding(write_spec):
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog=MANY, accept="[over-epochs]", **RUN))
    assert len(make_lock(plan).accepted) == 40
    (summary,) = [one for one in plan.summaries if one.code is FindingCode.OVER_EPOCHS]
    assert (summary.accepted, summary.refuses) == (True, False)


def test_few_are_said_one_by_one(write_spec):
    few = "".join(MANY.splitlines(keepends=True)[:6])
    plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog=few, **RUN))
    assert len(over(plan)) == 5
    assert plan.summaries == plan.findings


def test_other_kinds_are_summed_up_too(write_spec):
    small = "domain,tokens\nbig,100000000\n" + "".join(f"s{i},{i + 1}\n" for i in range(8))
    empty = "domain,tokens\nbig,100000000\n" + "".join(f"s{i},0\n" for i in range(8))
    for catalog, code, words in (
        (
            small,
            "domain-too-small",
            "8 of 9 domains have not one whole sequence and are weighed: 's0' with 1 token for",
        ),
        (
            empty,
            "domain-empty",
            "8 of 9 domains have no tokens and are weighed: 's0', 's1', 's2', 's3', 's4' and 3 more",
        ),
    ):
        plan = make_plan(write_spec("{phase: p, weights: uniform}", catalog=catalog, **RUN))
        (summary,) = [one for one in plan.summaries if one.refuses]
        assert summary.code == code
        assert summary.message.startswith(words)
    phases = [f"{{phase: p{i}, steps: {i + 1}, weights: {{code: 99.99%, web: 0.01%}}}}" for i in range(7)]
    plan = make_plan(write_spec(*phases, "{phase: rest, weights: uniform}", budget="1000 steps", batch="8 sequences"))
    (summary,) = [one for one in plan.summaries if one.code is FindingCode.DRAWS_NOTHING]
    assert summary.message.startswith("7 times: domain 'web': no sequence in the ")
    assert summary.message.endswith("; and 2 more")


@pytest.mark.parametrize(
    ("weights", "cause"),
    [
        ("{a: 50%, b: 50%}", "lower its weight, raise its `max_epochs.domains`"),
        ("{table: catalog.csv, column: share}", "lower its weight in column 'share', raise"),
        ("{unimax: {max_epochs: 100}}", "lower `unimax.max_epochs`, raise"),
        ("{curve: {by: quality, max_factor: 90}}", "lower `max_factor` of the curve, raise"),
        ("{curve: {by: quality, p: 2, lambda: 1}}", "lower its weight, give the curve `max_factor`, raise"),
        ("[{where: domain = 'a', share: 50%, within: uniform}, {where: domain = 'b', share: 50%, within: uniform}]",
         "lower the share of its group, `where: domain = 'a'`, raise"),
        ("[{replay: first, share: 90%}, {where: domain = 'b', share: 10%, within: uniform}]",
         "lower the share of `replay: first`, raise"),
    ],
)  # fmt: skip
def test_the_hint_names_the_key_that_is_the_cause(write_spec, weights, cause):
    catalog = "domain,tokens,share,quality\na,9000,0.5,2\nb,300000,0.5,1\n"
    first = "{phase: first, steps: 1, weights: {a: 50%, b: 50%}}"
    plan = make_plan(
        write_spec(
            first,
            f"{{phase: late, weights: {weights}}}",
            catalog=catalog,
            **RUN | {"max_epochs": "{default: 1000, domains: {a: 2}}"},
        )
    )
    (finding,) = over(plan)
    assert finding.facts["domain"] == "a"
    assert finding.hint.startswith(cause)


def test_the_hint_names_the_limit_that_counts(write_spec):
    weights, own = "{phase: p, weights: {a: 50%, b: 50%}}", {"batch": RUN["batch"], "budget": RUN["budget"]}
    in_catalog = "domain,tokens,max_epochs\na,9000,2\nb,90000000,\n"
    plan = make_plan(write_spec(weights, catalog=in_catalog, **own))
    assert "raise its `max_epochs` in the catalog" in over(plan)[0].hint
    plan = make_plan(write_spec(weights, catalog=in_catalog, max_epochs="{default: 9, domains: {a: 1}}", **own))
    assert "raise its `max_epochs.domains`" in over(plan)[0].hint


def test_what_the_message_proposes_fits(write_spec):
    """The share of the phase, and the tokens, each by itself; where no share of one phase is enough, none is named."""
    catalog = "domain,tokens\na,9000\nb,90000000\n"
    plan = make_plan(write_spec("{phase: p, weights: {a: 30%, b: 70%}}", catalog=catalog, **RUN))
    message = over(plan)[0].message
    share = Fraction(re.search(r"; ([0-9.]+)% of phase 'p' in place of 30%", message)[1]) / 100
    more = int(re.search(r"or ([0-9,]+) more tokens", message)[1].replace(",", ""))
    lower = f"{{phase: p, weights: {{a: {float(share):.6f}, b: {1 - float(share):.6f}}}}}"
    assert not over(make_plan(write_spec(lower, catalog=catalog, **RUN)))
    larger = catalog.replace("9000\n", f"{9000 + more}\n", 1)
    assert not over(make_plan(write_spec("{phase: p, weights: {a: 30%, b: 70%}}", catalog=larger, **RUN)))
    halves = [f"{{phase: {name}, share: 50%, weights: {{a: 30%, b: 70%}}}}" for name in "pq"]
    (finding,) = over(make_plan(write_spec(*halves, catalog=catalog, **RUN)))
    assert " of phase " not in finding.message
    assert "more tokens of it would fit" in finding.message


def test_a_domain_that_an_amended_run_has_read_is_not_to_grow(write_spec):
    """Its tokens may not change any more: that would be refused."""
    catalog, keys = "domain,tokens\na,90000\nb,90000000\n", {"batch": "64 sequences", "max_epochs": "2"}
    phase = "{phase: p, weights: {a: 30%, b: 70%}}"
    lock = make_lock(make_plan(write_spec(phase, catalog=catalog, budget="300 steps", **keys)))
    longer = write_spec(phase, catalog=catalog, budget="1000 steps", **keys)
    plan = make_plan(longer, amends=Amendment(lock, 200))
    (finding,) = over(plan)
    assert finding.hint == "lower its weight, or raise `max_epochs`"
    assert "more tokens of it" not in finding.message
    share = re.search(r"; ([0-9.]+)% of phase 'p' in place of 30% would fit$", finding.message)[1]
    weights = f"{{phase: p, weights: {{a: {float(share) / 100:.6f}, b: {1 - float(share) / 100:.6f}}}}}"
    lower = write_spec(weights, catalog=catalog, budget="1000 steps", **keys)
    assert not over(make_plan(lower, amends=Amendment(lock, 200)))
