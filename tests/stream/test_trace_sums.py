"""What was read before a step, by domain, attribute or label, against every row of the run token by token."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from schedule.making import make_run
from stream_helpers import lock_over
from traced_store import LABELS, lock_of, traced_store

from mixture.data.store import Store, open_store, write_holes
from mixture.errors import ScheduleError, StoreError
from mixture.lock import Lock, read_lock
from mixture.lock.lock import Mask
from mixture.schedule import Domain, ScheduleData
from mixture.stream import ReadSoFar, read_so_far

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ["domain", "license", "source", "kind", "quality"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return traced_store(tmp_path_factory.mktemp("traced") / "made", {"code": 60, "held": 20, "web": 150}, most_words=60)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Lock:
    phases = "  - {phase: all, weights: {code: 40%, held: 10%, web: 50%}}"
    keys = {"sequence_length": "64", "batch": "8 sequences", "budget": "10 steps"}
    return lock_over(store, tmp_path_factory.mktemp("lock") / "spec", phases, **keys)


def by_brute_force(lock: Lock, store: Store, step: int, by: str) -> dict[object, tuple[int, ...]]:
    """(documents, tokens, with repeats, masked) by value, from every token of every row."""
    schedule = lock.schedule()
    rows = schedule.rows(0, schedule.positions_before(step))
    steps, _ = schedule.steps_and_slots(rows.position)
    sums: Counter[tuple[object, int]] = Counter()
    for d, name in enumerate(schedule.names):
        domain = store.domains[name]
        times, hidden = np.zeros(domain.tokens, np.int64), np.zeros(domain.tokens, np.int64)
        masks = [mask for mask in lock.masks if mask.domain == name]
        of = rows.domain == d
        for first, length, at in zip(rows.first_token[of].tolist(), rows.tokens[of].tolist(), steps[of], strict=True):
            here = np.zeros(domain.tokens, bool)
            here[first : first + length] = True
            down = np.zeros(domain.tokens, bool)
            for mask in masks:
                if mask.first_step <= at:
                    down[mask.first_token : mask.end] = True
            times += here & ~down
            hidden += here & down
        for row in store.documents(name, 0, domain.tokens).to_pylist():
            value = name if by == "domain" else row[by] if by in row else LABELS[name][by]
            part = slice(row["first_token"], row["first_token"] + row["tokens"])
            figures = (times[part].any(), (times[part] > 0).sum(), times[part].sum(), hidden[part].sum())
            for i, figure in enumerate(figures):
                sums[value, i] += int(figure)
    values = {value: tuple(sums[value, i] for i in range(4)) for value, _ in sums}
    return {value: figures for value, figures in values.items() if any(figures)}


def figures_of(found: ReadSoFar) -> dict[object, tuple[int, ...]]:
    assert len({one.value for one in found.values}) == len(found.values)
    return {
        one.value: (one.documents, one.tokens, one.tokens_with_repeats, one.tokens_masked) for one in found.values
    }  # fmt: skip


def check(lock: Lock, store: Store, step: int) -> None:
    for by in COLUMNS:
        found = read_so_far(lock, store, step, by=by)
        assert (found.step, found.by) == (step, by)
        assert figures_of(found) == by_brute_force(lock, store, step, by)
        total = found.total
        assert total.tokens_with_repeats + total.tokens_masked == int(lock.schedule().tokens(step).sum())
        assert [one.tokens_with_repeats for one in found.values] == sorted(
            (one.tokens_with_repeats for one in found.values), reverse=True
        )


def run_of(window: int) -> ScheduleData:
    """Lengths that change there and back, pools, a skip, and several epochs of each domain."""
    domains = (Domain("code", 0, 9_000), Domain("held", 0), Domain("web", 0, 3_500))
    segments = [(20, 64, [3, 0, 1]), (15, 64, [3, 0, 1], 100), (25, 128, [1, 1, 1]), (20, 64, [1, 2, 4])]
    return make_run(domains, segments, ((0, 12), (41, 5)), block=256, window=window)


@pytest.mark.parametrize("step", [0, 1, 7, 19, 20, 21, 35, 42, 59, 60, 61, 79, 80])
def test_what_was_read_is_exact_with_pools_lengths_skips_and_several_epochs(store: Store, plain: Lock, step: int):
    check(lock_of(plain, run_of(64)), store, step)


@pytest.mark.parametrize("step", [3, 30, 55, 80])
def test_what_was_read_is_exact_with_windows_of_one_block(store: Store, plain: Lock, step: int):
    check(lock_of(plain, run_of(1)), store, step)


@pytest.mark.parametrize("seed", range(4))
def test_what_was_taken_down_counts_until_it_was(store: Store, plain: Lock, seed: int):
    rng = random.Random(seed)
    masks = []
    for name, domain in store.domains.items():
        bounds = sorted(rng.sample(range(domain.tokens + 1), 12))
        masks += [
            Mask(rng.choice([0, 11, 40, 70]), name, a, b - a) for a, b in zip(bounds[::2], bounds[1::2], strict=True)
        ]
    masks.sort(key=lambda mask: mask.first_step)
    lock = lock_of(plain, run_of(8), *masks)
    for step in (1, 30, 41, 80):
        check(lock, store, step)


def test_the_end_of_a_domain_that_no_sequence_covers_is_never_read(store: Store, plain: Lock):
    domains = [Domain(name, 0) for name in ("code", "held", "web")]
    lock = lock_of(plain, make_run(domains, [(400, 128, [1, 1, 1])], block=128))
    found = figures_of(read_so_far(lock, store, 400))
    for name, domain in store.domains.items():
        assert found[name][1] == domain.tokens // 128 * 128 < domain.tokens


def test_a_column_that_there_is_not_is_refused_with_the_nearest(store: Store, plain: Lock):
    with pytest.raises(StoreError, match="did you mean 'license'") as raised:
        read_so_far(plain, store, 5, by="licence")
    assert raised.value.code == "unknown-column"
    with pytest.raises(StoreError, match="there are domain, license, source, tokenizer, kind, quality"):
        read_so_far(plain, store, 5, by="zzz")
    with pytest.raises(ScheduleError):
        read_so_far(plain, store, 11)


@pytest.mark.long
def test_a_run_of_19_trillion_tokens_is_summed(tmp_path: Path):
    lock = read_lock(ROOT / "mixtures" / "marin-535b-a23b" / "mixture.lock.json")
    write_holes(tmp_path / "store", {d.name: d.tokens for d in lock.data.domains}, tokenizer=lock.tokenizer or "")
    store = open_store(tmp_path / "store")
    schedule = lock.schedule()
    found = read_so_far(lock, store, 2_000)
    expected = dict(zip(schedule.names, schedule.tokens(2_000).tolist(), strict=True))
    assert {one.value: one.tokens_with_repeats for one in found.values} == {k: v for k, v in expected.items() if v}
    sizes = {domain.name: domain.tokens for domain in lock.data.domains}
    for one in found.values:
        assert one.tokens == min(one.tokens_with_repeats, sizes[str(one.value)] // 4_096 * 4_096)
