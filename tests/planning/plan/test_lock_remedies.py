"""What is recommended where spec and catalog no longer give a lock is not refused."""

from __future__ import annotations

import re

import pytest

from mixture.errors import LockError
from mixture.lock import Amendment
from mixture.planning.plan import check_lock, make_lock, make_plan

CATALOG = "domain,tokens\ncode,20000\nweb,100000\n"
ONE, TWO = "{phase: one, steps: 60, weights: {code: 50%, web: 50%}}", "{phase: two, weights: {code: 20%, web: 80%}}"
OTHER = TWO.replace("20%", "30%").replace("80%", "70%")
KEYS = {"catalog": CATALOG, "budget": "100 steps", "max_epochs": "1"}


def remedy(lock, spec, **options):
    with pytest.raises(LockError) as caught:
        check_lock(lock, spec, **options)
    return caught.value.hint


def amended(write_spec):
    lock = make_lock(make_plan(write_spec(ONE, TWO, **KEYS)))
    spec = write_spec(ONE, OTHER, **KEYS)
    return make_lock(make_plan(spec, amends=Amendment(lock, 70)))


def test_a_lock_is_made_again_where_its_plan_is_not_refused(write_spec):
    lock = make_lock(make_plan(write_spec(ONE, TWO, **KEYS)))
    spec = write_spec(ONE, OTHER, **KEYS)
    assert remedy(lock, spec).startswith("lock again, or ")
    make_lock(make_plan(spec))
    for keys in ({"max_epochs": "0.1"}, {"catalog": CATALOG.replace("20000", "2000")}):
        spec = write_spec(ONE, OTHER, **KEYS | keys)
        assert make_plan(spec).refusals
        assert "lock again" not in remedy(lock, spec)
    larger = write_spec(ONE, TWO, **KEYS | {"catalog": CATALOG.replace("20000", "30000")})
    assert remedy(lock, larger).startswith("lock again, or go back to the catalog")


def test_an_amended_lock_is_amended_again(write_spec):
    lock = amended(write_spec)
    for spec in (write_spec(ONE, TWO, **KEYS), write_spec(ONE, OTHER, **KEYS | {"max_epochs": "2"})):
        hint = remedy(lock, spec)
        assert "lock again" not in hint
        step = int(re.search(r"`mixture amend LOCK SPEC --step (\d+)`", hint)[1])
        for at in (step, step + 10):
            make_lock(make_plan(spec, amends=Amendment(lock, at)))
    refused = remedy(lock, write_spec(ONE, TWO, **KEYS | {"max_epochs": "0.1"}))
    assert "mixture amend" not in refused
    text = remedy(lock, write_spec(ONE, OTHER, **KEYS), content={"code": "sha256:1"})
    assert "mixture amend" in text, "the lock fixes no text yet"


def test_a_rung_is_made_again_with_its_ladder(write_spec):
    plan = make_plan(write_spec(ONE, TWO, **KEYS | {"max_epochs": "10"}), pools={"code": 10000})
    hint = remedy(make_lock(plan), write_spec(ONE, OTHER, **KEYS | {"max_epochs": "10"}))
    assert hint.startswith("make the ladder again")
