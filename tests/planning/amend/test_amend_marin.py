"""The context of a real run grows: 4,096 to 16,384 to 65,536 tokens, as two amendments."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from lock_of_run import lock_of_run
from schedule.making import ROOT, to_fields

from mixture.lock import Amendment, Lock, read_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import parse_spec
from mixture.schedule import WHOLE, Batch, Domain, Schedule, ScheduleData, Segment

FOLDER = ROOT / "mixtures" / "marin-535b-a23b"
HANDOFFS = ((216_000, 16_384, 2_816), (380_000, 65_536, 704))


@pytest.fixture(scope="module")
def locks() -> list[Lock]:
    """The run, and the run after each of the amendments."""
    text = (FOLDER / "mixture.yaml").read_text()
    held = [read_lock(FOLDER / "mixture.lock.json")]
    for step, length, batch in HANDOFFS:
        changed = text.replace("sequence_length: 4096", f"sequence_length: {length}")
        changed = changed.replace("batch: 11264 sequences", f"batch: {batch} sequences")
        spec = parse_spec(changed.encode(), path=FOLDER / "mixture.yaml")
        held.append(make_lock(make_plan(spec, amends=Amendment(held[-1], step, consumed_step=step))))
    return held


def test_what_was_read_is_the_same_in_all_and_the_run_as_long(locks: list[Lock]) -> None:
    first, longer, longest = (lock.schedule() for lock in locks)
    assert first.history(216_000) == longer.history(216_000) == longest.history(216_000)
    assert longer.history(380_000) == longest.history(380_000)
    tokens = [int(schedule.tokens(schedule.steps).sum()) for schedule in (first, longer, longest)]
    assert tokens == [18_005_144_633_344] * 3
    phases = {one.name: one.first_step for one in locks[-1].phases}
    assert phases == {
        "initial": 0, "main": 108_000, "main@216000": 216_000, "cooldown": 312_192, "cooldown@380000": 380_000,
    }  # fmt: skip


def test_tokens_left_out_at_the_handoffs_are_the_oracles_and_a_fiftieth_of_a_percent(
    locks: list[Lock], oracle: ModuleType
) -> None:
    theirs = oracle.Schedule(to_fields(locks[-1].data))
    ours = locks[-1].schedule()
    assert [(one.first_step, list(one.tokens_skipped)) for one in ours.handoffs()] == [
        (step, list(tokens)) for step, tokens in theirs.skipped
    ]
    skipped = sum(sum(one.tokens_skipped) for one in ours.handoffs())
    assert skipped == 3_447_943_168
    assert 0.00018 < skipped / 18_005_144_633_344 < 0.0002
    at = [216_000, 216_001, 312_191, 379_999, 380_000, 390_250]
    positions = [ours.positions_before(step) + 17 for step in at]
    found = ours.at(positions)
    assert found.first_token.tolist() == [theirs.at(position)["first_token"] for position in positions]


def test_no_token_is_read_twice_in_an_epoch_of_a_small_copy_of_the_run(locks: list[Lock]) -> None:
    data = _small_copy(locks[-1].data)
    schedule = Schedule(data)
    rows = schedule.rows(0, schedule.num_sequences)
    unit = min(segment.sequence_length for segment in data.segments)
    parts = rows.tokens // unit
    row = np.repeat(np.arange(len(rows)), parts)
    place = rows.first_token[row] // unit + np.arange(row.size) - np.repeat(np.cumsum(parts) - parts, parts)
    read = np.stack([rows.domain[row].astype(np.int64), rows.epoch[row], place])
    assert np.unique(read, axis=1).shape[1] == read.shape[1]
    assert rows.epoch.max() >= 3
    assert lock_of_run(data).schedule().steps == 390


def _small_copy(data: ScheduleData) -> ScheduleData:
    """Lengths and blocks a 256th, steps a thousandth, batches a 64th; domains so that their epochs stay."""
    scale = 256 * 1_000 * 64
    steps = [segment.first_step // 1_000 for segment in data.segments] + [390]
    segments = tuple(
        Segment(first, end - first, segment.sequence_length // 256, segment.weights)
        for segment, first, end in zip(data.segments, steps, steps[1:], strict=False)
    )
    assert all(sum(segment.weights) == WHOLE for segment in segments)
    return ScheduleData(
        seed=data.seed,
        block_tokens=data.block_tokens // 256,
        window_blocks=4,
        domains=tuple(Domain(domain.name, max(domain.tokens // scale, 300)) for domain in data.domains),
        segments=segments,
        batches=tuple(Batch(one.first_step // 1_000, one.sequences // 64) for one in data.batches),
    )
