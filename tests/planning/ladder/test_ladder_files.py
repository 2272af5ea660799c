"""Files of a rung: a spec that gives its lock, wherever the folder lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixture.errors import LockError, PlanError
from mixture.lock import lock_text, read_lock
from mixture.planning.ladder import make_ladder, parse_rung, write_rung
from mixture.planning.plan import check_lock, make_lock, make_plan
from mixture.planning.spec import Spec, read_spec

MIXTURES = Path(__file__).parents[3] / "mixtures"
PHASES = (
    "{phase: first, share: 1/3, weights: {table: catalog.csv, column: w}}   # a third",
    "{phase: second, until: 80%, batch: 64 tokens, weights: proportional}",
    "{phase: last, share: 20%, weights: [{where: tokens > 80000, share: 60%, within: {table: catalog.csv, column: w}},"
    " {where: tokens < 80000, share: 40%, within: uniform}]}",
)
CATALOG = "domain,tokens,w\na,100000,0.7\nb,70000,0.2\nc,900,0.1\n"


@pytest.fixture
def spec(write_spec) -> Spec:
    return write_spec(*PHASES, catalog=CATALOG, budget="160_000 tokens", mixture="a/b c")


def test_a_rungs_spec_gives_its_lock_with_and_without_pools(spec, tmp_path):
    sizes = [parse_rung("20K:4"), parse_rung("50_000:16")]
    for folder, simulate in (("plain", False), ("deep/er", True)):
        for rung in make_ladder(spec, sizes, simulate_epochs=simulate):
            path, lock = write_rung(rung, tmp_path / folder)
            assert path == tmp_path / folder / f"a_b_c-{rung.size.label}.yaml"
            assert lock == path.with_suffix(".lock.json")
            again, known = read_spec(path), read_lock(lock)
            assert again.mixture == f"a/b c-{rung.size.label}"
            assert "# a third" in path.read_text()
            check_lock(known, again)
            assert {d.name: d.pool_tokens for d in known.data.domains if d.pool_tokens} == rung.pools
            assert lock_text(known) == lock_text(rung.lock())
            if not simulate:
                assert make_lock(make_plan(again)) == known


def test_the_spec_says_parts_of_the_run_exactly_and_is_short_where_a_percentage_is(spec, tmp_path):
    (rung,) = make_ladder(spec, [parse_rung("20K:4")])
    text = write_rung(rung, tmp_path / "rungs")[0].read_text()
    assert "phase: first, until: 1/3," in text
    assert "phase: second, until: 80%, batch: 32 tokens," in text
    assert "phase: last, until: 100%," in text
    assert "table: ../catalog.csv" in text
    assert text.startswith("# A rung of 20K:4 of ../mixture.yaml")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in MIXTURES.glob("*/mixture.yaml")))
def test_rungs_of_every_mixture_of_the_repository_are_what_their_specs_give(name, tmp_path):
    spec = read_spec(MIXTURES / name / "mixture.yaml")
    tokens = make_plan(spec).tokens
    for part in (3, 50):
        (rung,) = make_ladder(spec, [parse_rung(str(tokens // part))], simulate_epochs=True)
        if rung.plan.refusals:
            assert {finding.code for finding in rung.plan.refusals} == {"domain-too-small"}
            continue
        path, lock = write_rung(rung, tmp_path)
        check_lock(read_lock(lock), read_spec(path))


def test_the_full_run_is_written_as_the_specs_own_lock(spec, tmp_path):
    (rung,) = make_ladder(spec, [parse_rung("160K")], simulate_epochs=True)
    path, lock = write_rung(rung, tmp_path / "rungs")
    assert read_lock(lock) == make_lock(make_plan(spec)) == make_lock(make_plan(read_spec(path)))


def test_a_pool_that_was_changed_by_hand_is_not_what_checking_lets_through(spec, tmp_path):
    (rung,) = make_ladder(spec, [parse_rung("20K")], simulate_epochs=True)
    path, lock = write_rung(rung, tmp_path)
    text = lock.read_text()
    pool = rung.pools["a"]
    lock.write_text(text.replace(f'"pool_tokens": {pool}', f'"pool_tokens": {pool - 16}', 1))
    with pytest.raises(LockError) as refused:
        read_lock(lock)
    assert refused.value.code == "lock-digest"
    lock.write_text(text)
    path.write_text(path.read_text().replace("1/3", "1/4"))
    with pytest.raises(LockError, match="the end of phase 'first'"):
        check_lock(read_lock(lock), read_spec(path))


def test_a_spec_that_was_changed_since_the_ladder_was_made_is_refused_and_nothing_written(spec, tmp_path):
    (rung,) = make_ladder(spec, [parse_rung("20K")])
    spec.path.write_text(spec.path.read_text() + "seed: 5\n")
    with pytest.raises(PlanError) as refused:
        write_rung(rung, tmp_path / "rungs")
    assert refused.value.code == "spec-changed"
    assert list((tmp_path / "rungs").iterdir()) == []


def test_a_folder_that_can_not_be_is_refused(spec, tmp_path):
    (rung,) = make_ladder(spec, [parse_rung("20K")])
    (tmp_path / "file").write_text("")
    with pytest.raises(PlanError) as refused:
        write_rung(rung, tmp_path / "file")
    assert refused.value.code == "file-not-written"


@pytest.mark.parametrize("accept", [None, "[draws-nothing]", "[never-read]"])
def test_a_rung_that_is_too_short_for_a_domain_accepts_that_in_its_own_spec(write_spec, tmp_path, accept):
    keys = {"catalog": "domain,tokens\nrare,5000\nweb,900000\n", "budget": "1000 steps"}
    keys |= {} if accept is None else {"accept": accept}
    spec = write_spec("{phase: a, weights: {rare: 0.1%, web: 99.9%}}", **keys)
    rungs = make_ladder(spec, [parse_rung("1K"), parse_rung("100K"), parse_rung("128K")], simulate_epochs=True)
    assert [one.domains[0].tokens_drawn > 0 for one in rungs] == [False, True, True]
    assert not any(one.plan.refusals for one in rungs)
    for rung in rungs:
        path, lock = write_rung(rung, tmp_path / "rungs")
        known = check_lock(read_lock(lock), read_spec(path)).spec.accept
        added = ["never-read"] if rung.size.label == "1K" and accept != "[never-read]" else []
        assert known == (*spec.accept, *added)
        assert ("accept: " in path.read_text(encoding="utf-8")) == bool(known)


def test_a_rung_accepts_nothing_that_the_full_run_is_refused_for(write_spec):
    catalog = "domain,tokens\nrare,5000\nweb,900000\n"
    spec = write_spec("{phase: a, weights: {rare: 0.0001%, web: 99.9999%}}", catalog=catalog, budget="1000 steps")
    assert [one.code for one in make_plan(spec).refusals] == ["never-read"]
    (rung,) = make_ladder(spec, [parse_rung("1K")])
    assert [one.code for one in rung.plan.refusals] == ["never-read"]
