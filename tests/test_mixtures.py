"""The mixtures of this repository: each lock is what its spec gives, each README says what the plan says."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from mixture.lock import read_lock
from mixture.planning.catalog import Overview, check_overview, read_column, read_overview
from mixture.planning.plan import Plan, check_lock, make_plan
from mixture.planning.spec import Groups, WhereGroup, read_spec

MIXTURES = Path(__file__).parents[1] / "mixtures"
NAMES = sorted(path.parent.name for path in MIXTURES.glob("*/mixture.yaml"))
WITH_OVERVIEW = ["marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics"]


@cache
def plan_of(name: str) -> Plan:
    spec = read_spec(MIXTURES / name / "mixture.yaml")
    return make_plan(spec)


def epochs(plan: Plan) -> dict[str, Fraction]:
    return {domain.name: domain.epochs for domain in plan.domains if domain.epochs is not None}


def test_all_six_are_here():
    assert NAMES == [
        "demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_is_what_spec_and_catalog_give(name):
    folder = MIXTURES / name
    check_lock(read_lock(folder / "mixture.lock.json"), read_spec(folder / "mixture.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_names_the_findings_of_the_plan_and_no_others(name):
    readme = (MIXTURES / name / "README.md").read_text(encoding="utf-8")
    findings = readme.split("## What the plan finds")[1]
    assert set(re.findall(r"^- `([a-z-]+)`", findings, re.MULTILINE)) == {
        str(finding.code) for finding in plan_of(name).findings
    }


def test_marin_reads_less_than_was_announced_and_accepts_that_by_name():
    plan = plan_of("marin-535b-a23b")
    assert (plan.steps, plan.tokens) == (390_251, 18_005_144_633_344)
    assert plan.catalog.tokens == 23_106_103_007_622
    assert [phase.laid.first_step for phase in plan.phases] == [0, 108_000, 312_192]
    mismatch = next(finding for finding in plan.findings if finding.code == "budget-mismatch")
    assert "18,005,144,633,344" in mismatch.message
    assert "18,750,000,000,000" in mismatch.message
    assert read_lock(MIXTURES / "marin-535b-a23b" / "mixture.lock.json").accepted


def test_marin_s_published_weights_are_used_as_published():
    table = MIXTURES / "marin-535b-a23b" / "cells.csv"
    assert sum(read_column(table, "initial").values()) == Fraction("0.9999999999999989237388914")
    for column in ("main", "cooldown"):
        for weight in read_column(table, column).values():
            assert abs(weight * 49_152 - round(weight * 49_152)) < Fraction(1, 10**10)
    weights = {name for name, weight in read_column(table, "main").items() if weight == 0}
    assert weights == {name for name, weight in read_column(table, "cooldown").items() if weight == 0} == {"c22q0"}


def test_marin_s_epochs_are_those_of_its_readme():
    read = epochs(plan_of("marin-535b-a23b"))
    assert {name: f"{float(read[name]):.2f}" for name in ("c27q0", "c13q0", "c08q0", "c28q4")} == {
        "c27q0": "6.74",
        "c13q0": "6.74",
        "c08q0": "3.15",
        "c28q4": "3.08",
    }
    assert sum(value > 1 for value in read.values()) == 45
    assert next(domain.tokens_drawn for domain in plan_of("marin-535b-a23b").domains if domain.name == "c22q0") == 4096


def test_the_announced_mixture_is_of_15t_and_3_75t():
    plan = plan_of("marin-announced-80-20")
    assert plan.steps == 406_395
    assert [phase.laid.first_step for phase in plan.phases] == [0, 325_116]
    step = 11_264 * 4_096
    assert 18_750_000_000_000 - plan.tokens == 14_085_120 < step
    read = epochs(plan)
    assert max(read, key=lambda name: read[name]) == "c12q4"
    assert sum(value > 1 for value in read.values()) == 53


def test_olmo_s_stages_have_their_lengths_batches_and_repetitions():
    plan = plan_of("olmo-3-7b")
    assert [phase.laid.first_step for phase in plan.phases] == [0, 1_413_822, 1_461_506]
    assert plan.steps == 1_473_427
    assert [(phase.laid.sequence_length, phase.laid.batch_tokens) for phase in plan.phases] == [
        (8_192, 4_194_304),
        (8_192, 2_097_152),
        (65_536, 4_194_304),
    ]
    read = epochs(plan)
    assert [f"{float(read[name]):.2f}" for name in ("pre-finemath-3-plus", "pre-stackedu-rebalanced", "pre-arxiv")] == [
        "4.46",
        "2.99",
        "2.37",
    ]
    repeated = [value for name, value in read.items() if name.startswith("mid-") and value > 1]
    assert len(repeated) == 8
    assert Fraction(1003, 1000) < min(repeated) <= max(repeated) < Fraction(1333, 1000)


def test_the_replay_in_olmo_s_long_context_has_33_of_49_95_parts():
    plan = plan_of("olmo-3-7b")
    weights = plan.data.segments[2].weights
    replayed = sum(
        weight for weight, domain in zip(weights, plan.domains, strict=True) if domain.name.startswith("mid-")
    )
    assert abs(Fraction(replayed, 10**15) - Fraction(3300, 4995)) < Fraction(1, 10**13)


def test_olmo_2_s_repeats_are_those_of_a_mix_that_is_not_read_to_its_end():
    plan = plan_of("olmo-2-dolmino")
    assert [(phase.laid.first_step, phase.laid.steps) for phase in plan.phases] == [(0, 721_901), (721_901, 11_921)]
    assert plan.phases[0].laid.tokens == 6_055_744_503_808
    assert plan.phases[1].laid.tokens == 100_000_595_968
    read = epochs(plan)
    table = plan.catalog.table.select(["domain", "tokens", "repeats"]).to_pylist()
    listed = {row["domain"]: row["repeats"] for row in table if row["repeats"] is not None}
    total = sum(row["tokens"] * row["repeats"] for row in table if row["repeats"] is not None)
    assert total == 112_944_080_000
    sizes = {row["domain"]: row["tokens"] for row in table}
    for name, repeats in listed.items():
        asked = Fraction(repeats * plan.phases[1].laid.tokens, total)
        assert abs(read[name] - asked) < Fraction(4 * 4096, sizes[name])
    assert [f"{float(read[name]):.2f}" for name in ("mid-tinygsm-mind-2students", "mid-wikipedia", "pre-dclm")] == [
        "2.66",
        "1.77",
        "1.55",
    ]


def test_olmo_3_s_topics_have_the_published_shares_to_a_millionth():
    plan = plan_of("olmo-3-topics")
    topics = plan.catalog.table["topic"].to_pylist()
    planned: dict[str, Fraction] = {}
    drawn: dict[str, int] = {}
    for topic, share, domain in zip(topics, plan.phases[0].shares, plan.domains, strict=True):
        planned[topic] = planned.get(topic, Fraction(0)) + share
        drawn[topic] = drawn.get(topic, 0) + domain.tokens_drawn
    weights = plan.spec.phases[0].weights
    assert isinstance(weights, Groups)
    asked = {group.where.split("'")[1]: group.share for group in weights.groups if isinstance(group, WhereGroup)}
    assert planned == asked
    assert len(asked) == 24
    assert all(abs(Fraction(drawn[topic], plan.tokens) - share) < Fraction(1, 10**6) for topic, share in asked.items())
    assert f"{float(asked['science_math_and_technology']):.10f}" == "0.2102541084"


def test_olmo_3_s_better_buckets_are_read_more_often_up_to_seven_times():
    plan = plan_of("olmo-3-topics")
    table = plan.catalog.table.select(["topic", "quality"]).to_pylist()
    phase = plan.phases[0]
    factors: dict[str, list[tuple[int, Fraction]]] = {}
    for row, share, domain in zip(table, phase.shares, plan.domains, strict=True):
        factor = share * phase.laid.tokens / domain.tokens
        factors.setdefault(row["topic"], []).append((row["quality"], factor))
    for buckets in factors.values():
        growing = [factor for _, factor in sorted(buckets)]
        assert growing == sorted(growing)
        assert growing[0] == 0 < growing[-1] <= 7
    best = {topic: max(buckets)[1] for topic, buckets in factors.items()}
    at_bound = {topic for topic, factor in best.items() if factor > Fraction(6999, 1000)}
    assert at_bound == {"science_math_and_technology", "software_development"}
    assert f"{float(best['health']):.3f}" == "3.076"
    assert sum(share == 0 for share in phase.shares) == 186


def test_the_demo_has_groups_a_replay_and_a_longer_context():
    plan = plan_of("demo")
    assert [(phase.laid.first_step, phase.laid.sequence_length) for phase in plan.phases] == [(0, 2048), (15_259, 4096)]
    assert plan.tokens == 19_999_490_048
    assert f"{float(epochs(plan)['math']):.2f}" == "1.43"


def overview_of(name: str) -> Overview:
    return read_overview(MIXTURES / name / "overview.json")


@pytest.mark.parametrize("name", WITH_OVERVIEW)
def test_an_overview_has_the_rows_of_its_catalog_with_their_sums(name):
    catalog, overview = plan_of(name).catalog, overview_of(name)
    path = MIXTURES / name / "overview.json"
    check_overview(overview, path, domains=catalog.names, columns=catalog.table.column_names)
    cells = catalog.table.select([overview.rows, "tokens", *(["documents"] if name == "olmo-3-7b" else [])]).to_pylist()
    for cluster in overview.clusters:
        inside = [cell for cell in cells if cell[overview.rows] == cluster.id]
        assert cluster.tokens == sum(cell["tokens"] for cell in inside)
        assert cluster.documents == (sum(cell["documents"] for cell in inside) if name == "olmo-3-7b" else None)
    assert [cluster.id for cluster in overview.clusters] == sorted({cell[overview.rows] for cell in cells})


@pytest.mark.parametrize("name", WITH_OVERVIEW[:2])
def test_marin_s_forty_clusters_have_five_levels_and_their_published_titles(name):
    table, overview = plan_of(name).catalog.table, overview_of(name)
    titles = dict(zip(table["cluster"].to_pylist(), table["title"].to_pylist(), strict=True))
    assert {cluster.id: cluster.title for cluster in overview.clusters} == titles
    assert len(titles) == overview.made.k == 40
    assert sorted(set(table["quality"].to_pylist())) == [0, 1, 2, 3, 4]
    assert sum(cluster.tokens or 0 for cluster in overview.clusters) == 23_106_103_007_622
    assert "marin-community/marin" in overview.made.method


@pytest.mark.parametrize(
    ("name", "axes", "clusters", "sources"),
    [
        ("olmo-2-dolmino", ("kind", "stage"), 7, ("allenai/OLMo-core", "2501.00656")),
        ("olmo-3-7b", ("kind", "stage"), 9, ("allenai/dolma3", "2512.13961")),
        ("olmo-3-topics", ("topic", "quality"), 24, ("allenai/dolma3", "WebOrganizer")),
    ],
)
def test_olmo_s_sources_are_a_map(name, axes, clusters, sources):
    overview = overview_of(name)
    assert (overview.rows, overview.columns, len(overview.clusters)) == (*axes, clusters)
    for source in sources:
        assert source in overview.made.notes
