"""What stretches of a run are made of: sums over the rows that the run reads, by any columns."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from mixture_folder import write_mixture

from mixture.lock import Lock
from mixture.planning.catalog import Catalog, read_catalog
from mixture.planning.plan.composition import at_phases, composition, evenly, group

SPEC = """\
mixture: small
catalog: cells.csv
seed: 3
sequence_length: 64
batch: 24 sequences
budget: 90 steps
shuffle: {block: 1024 tokens, window: 4 blocks}
phases:
  - phase: short
    until: step 41
    weights: {a: 50%, b: 30%, c: 20%}
  - phase: long
    sequence_length: 256
    batch: 10 sequences
    until: step 61
    weights: {a: 10%, b: 90%, c: 0}
  - phase: again
    weights: {a: 60%, b: 20%, c: 20%}
"""
CELLS = """\
domain,kind,level,tokens,max_epochs
a,web,1,700003,
b,web,2,90000,4.5
c,,2,100000,
held,notes,2,0,
kept@validation,web,1,5000,
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lock, Catalog]:
    folder = tmp_path_factory.mktemp("composition") / "small"
    return write_mixture(folder, SPEC, cells=CELLS), read_catalog(folder / "cells.csv")


def counted(lock: Lock, catalog: Catalog, columns: tuple[str, ...], stretch: range) -> dict[tuple, tuple[int, int]]:
    """Sequences and tokens of groups, counted row by row."""
    schedule = lock.schedule()
    first, end = schedule.positions_before(stretch.start), schedule.positions_before(stretch.stop)
    found: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])
    rows = schedule.rows(first, end - first)
    for domain, tokens in zip(rows.domain.tolist(), rows.tokens.tolist(), strict=True):
        cells = catalog.table.slice(catalog.index(schedule.names[domain]), 1).to_pylist()[0]
        one = found[tuple(cells[name] for name in columns)]
        one[0] += 1
        one[1] += tokens
    return {key: (sequences, tokens) for key, (sequences, tokens) in found.items()}


@pytest.mark.parametrize("columns", [("domain",), ("kind",), ("level",), ("kind", "level"), ("max_epochs",), ()])
def test_figures_are_those_of_the_rows_that_are_read(made, columns: tuple[str, ...]):
    lock, catalog = made
    rng = random.Random(repr(columns))
    ends = [sorted((rng.randrange(90), rng.randrange(90))) for _ in range(20)]
    stretches = [range(0, 90), range(89, 90), range(0, 1), *(range(a, b + 1) for a, b in ends)]
    groups = group(lock, catalog, columns)
    for stretch in stretches:
        rows = composition(lock, groups, [stretch]).rows()
        counts = counted(lock, catalog, columns, stretch)
        so_far = counted(lock, catalog, columns, range(0, stretch.stop))
        whole = sum(tokens for _, tokens in counts.values())
        assert [tuple(row[name] for name in columns) for row in rows] == list(groups.keys)
        for row, size in zip(rows, groups.tokens, strict=True):
            key = tuple(row[name] for name in columns)
            assert (row["sequences"], row["tokens"]) == counts.get(key, (0, 0))
            assert row["weight"] == row["tokens"] / whole
            assert row["tokens_so_far"] == so_far.get(key, (0, 0))[1]
            assert row["epochs"] == (row["tokens"] / size if size else None)
            assert row["epochs_so_far"] == (row["tokens_so_far"] / size if size else None)
        assert sum(row["weight"] for row in rows) == pytest.approx(1)


def test_groups_come_in_order_with_null_last_and_without_held_out_domains(made):
    groups = group(*made, ("kind", "level"))
    assert groups.keys == (("notes", 2), ("web", 1), ("web", 2), (None, 2))
    assert (groups.domains, groups.tokens) == ((1, 1, 1, 1), (0, 700_003, 90_000, 100_000))


def test_a_domain_without_tokens_has_no_epochs(made):
    (row,) = composition(*made[:1], group(*made, ("kind",), rows=[3]), [range(0, 90)]).rows()
    assert (row["kind"], row["tokens"], row["weight"], row["epochs"]) == ("notes", 0, 0.0, None)


def test_of_no_domains_there_are_no_groups_or_one_of_nothing(made):
    assert composition(made[0], group(*made, ("kind",), rows=()), [range(0, 5)]).rows() == []
    (row,) = composition(made[0], group(*made, (), rows=()), [range(0, 5)]).rows()
    assert (row["domains"], row["sequences"], row["tokens"], row["epochs"]) == (0, 0, 0, None)


def test_a_weight_is_a_share_of_all_that_is_read_whatever_is_chosen(made):
    stretch = [range(10, 30)]
    every = {row["domain"]: row for row in composition(made[0], group(*made, ("domain",)), stretch).rows()}
    some = composition(made[0], group(*made, ("domain",), rows=(0, 2)), stretch).rows()
    assert some == [every["a"], every["c"]]


def test_sums_of_other_figures_by_domain_are_made_the_same_way(made):
    groups = group(*made, ("level",))
    assert groups.keys == ((1,), (2,))
    assert groups.sums(np.array([2**60, 3, 2**60 + 1, 7])) == [2**60, 2**60 + 11]


@pytest.mark.parametrize(("steps", "points"), [(90, 1), (90, 7), (90, 90), (90, 400), (1, 5)])
def test_parts_are_even_and_leave_nothing_out(steps: int, points: int):
    parts = evenly(range(5, 5 + steps), points)
    assert [step for part in parts for step in part] == list(range(5, 5 + steps))
    assert len(parts) == min(points, steps)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_stretch_is_cut_where_phases_begin(made):
    lock, _ = made
    assert at_phases(lock, range(0, 90)) == [range(0, 41), range(41, 61), range(61, 90)]
    assert at_phases(lock, range(41, 70)) == [range(41, 61), range(61, 70)]
    assert at_phases(lock, range(50, 51)) == [range(50, 51)]
    rows = composition(lock, group(*made, ()), [range(0, 41), range(40, 42), range(89, 90)]).rows()
    assert [row["phase"] for row in rows] == ["short", None, "again"]
    assert [(row["first_step"], row["last_step"]) for row in rows] == [(0, 40), (40, 41), (89, 89)]


def test_many_stretches_are_the_single_ones_one_after_the_other(made):
    groups, parts = group(*made, ("kind", "level")), evenly(range(0, 90), 13)
    joined = [row for part in parts for row in composition(made[0], groups, [part]).rows()]
    assert composition(made[0], groups, parts).rows() == joined
    overlapping = [range(0, 50), range(20, 30), range(20, 90)]
    assert composition(made[0], groups, overlapping).rows() == [
        row for part in overlapping for row in composition(made[0], groups, [part]).rows()
    ]


def test_a_table_holds_the_rows(made):
    found = composition(made[0], group(*made, ("kind", "max_epochs")), [range(0, 90)])
    assert found.table().to_pylist() == found.rows()
