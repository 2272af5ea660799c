"""When domains pass numbers of epochs, and what was read up to a step: against counting row by row."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from mixture_folder import write_mixture

from mixture.errors import CatalogError, ScheduleError
from mixture.lock import Lock
from mixture.planning.amend import amend
from mixture.planning.catalog import read_catalog
from mixture.planning.plan import crossings
from mixture.planning.plan.composition import group, group_domains, group_tokens

SPEC = """\
mixture: small
catalog: cells.csv
seed: 3
sequence_length: 64
batch: 24 sequences
budget: 90 steps
shuffle: {block: 1024 tokens, window: 4 blocks}
phases:
  - {phase: short, until: step 41, weights: {a: 50%, b: 30%, c: 20%}}
  - {phase: long, sequence_length: 256, batch: 10 sequences, until: step 61, weights: {a: 10%, b: 90%, c: 0}}
  - {phase: again, weights: {a: 60%, b: 20%, c: 20%}}
"""
CELLS = """\
domain,license,tokens
a,mit,9000
b,,15000
c,mit,12800
held,mit,0
"""
EPOCHS = [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5), Fraction(10**30)]


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Lock:
    return write_mixture(tmp_path_factory.mktemp("crossings") / "small", SPEC, cells=CELLS)


def counted(lock: Lock, name: str, epochs: Fraction) -> int | None:
    """The first step after which more is drawn, looked at one by one."""
    d, schedule = lock.schedule().domain_index(name), lock.schedule()
    passed = (s for s in range(schedule.steps) if schedule.tokens(s + 1)[d] > epochs * lock.data.domains[d].held)
    return next(passed, None) if lock.data.domains[d].held else None


def test_the_step_is_the_first_after_which_more_is_drawn(lock: Lock):
    for one in (lock, amend(lock, 30, {"a": Fraction(1, 10), "b": Fraction(9, 10)}), amend(lock, 30, skip_steps=3)):
        found = crossings(one, EPOCHS)
        assert [(row.domain, row.epochs) for row in found] == [(d, n) for d in "abc" for n in EPOCHS] + [
            ("held", n) for n in EPOCHS
        ]
        assert [row.step for row in found] == [counted(one, row.domain, row.epochs) for row in found]
        assert any(row.step is None for row in found)
        assert {row.phase for row in found} >= {"short", None}
        for row in found:
            phase = None if row.step is None else one.phase_of(row.step)
            assert row.phase == (phase and phase.name)


def test_a_domain_that_is_read_exactly_so_often_does_not_pass(tmp_path: Path):
    spec = SPEC[: SPEC.index("phases")] + "phases: [{phase: all, weights: {a: 50%, b: 50%}}]\n"
    exact = write_mixture(tmp_path / "exact", spec, cells=f"domain,tokens\na,{64 * 12 * 30}\nb,{64 * 12 * 90}\n")
    found = crossings(exact, [Fraction(1), Fraction(3)])
    assert [(row.domain, row.epochs_in_run, row.step) for row in found] == [
        ("a", 3, 30), ("a", 3, None), ("b", 1, None), ("b", 1, None),
    ]  # fmt: skip


def test_domains_are_chosen_by_name(lock: Lock):
    assert [row.domain for row in crossings(lock, [Fraction(1)], ["c", "a"])] == ["c", "a"]
    with pytest.raises(ScheduleError) as caught:
        crossings(lock, [Fraction(1)], ["heldd"])
    assert (caught.value.code, "held" in str(caught.value)) == ("unknown-domain", True)


def test_what_was_read_and_what_is_to_come(lock: Lock, tmp_path: Path):
    (tmp_path / "cells.csv").write_text(CELLS, encoding="utf-8")
    catalog, schedule = read_catalog(tmp_path / "cells.csv"), lock.schedule()
    for step in (0, 41, 50, 90):
        before, whole = schedule.tokens(step).tolist(), schedule.tokens(90).tolist()
        by_name = {one.key: one for one in group_tokens(lock, group_domains(lock), step)}
        assert list(by_name) == [("a",), ("b",), ("c",), ("held",)]
        assert [one.tokens_so_far for one in by_name.values()] == before
        assert [one.tokens_so_far + one.tokens_to_come for one in by_name.values()] == whole
        mit, none = group_tokens(lock, group(lock, catalog, ["license"]), step)
        assert (mit.key, none.key) == (("mit",), (None,))
        assert (mit.tokens_so_far, mit.tokens_to_come) == (
            before[0] + before[2],
            sum(whole) - whole[1] - sum(before) + before[1],
        )
        assert mit.epochs == Fraction(whole[0] + whole[2], 9000 + 12800)
        for a, b, part, all_of in zip(
            mit.weights, none.weights, (before, None, whole), (before, None, whole), strict=True
        ):
            assert (a is None and b is None) or a + b == 1
            if part is not None and sum(all_of):
                assert a == Fraction(part[0] + part[2], sum(all_of))
    assert mit.weights[1] is None


def test_an_amended_run_may_have_domains_that_left_the_catalog(lock: Lock, tmp_path: Path):
    (tmp_path / "cells.csv").write_text(CELLS.replace("c,mit,12800\n", ""), encoding="utf-8")
    catalog = read_catalog(tmp_path / "cells.csv")
    with pytest.raises(CatalogError) as caught:
        group(lock, catalog, ["license"])
    assert caught.value.code == "unknown-domain"
    amended = amend(lock, 50, {"a": 1})
    for columns, keys in ((["license"], [("mit",), (None,)]), ([], [()])):
        groups = group(amended, catalog, columns)
        assert groups.keys == tuple(keys)
        assert sum(groups.domains) == 4
        rows = group_tokens(amended, groups, 90)
        assert sum(one.tokens_so_far for one in rows) == int(amended.schedule().tokens(90).sum())
