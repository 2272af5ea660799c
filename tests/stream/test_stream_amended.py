"""Checkpoints and amendments: a run that changes five times goes on exactly, from any checkpoint that may."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from stream_helpers import DOMAINS, bytes_of, lock_over, make_store, rows_of

from mixture.data.store import Store
from mixture.errors import AmendError, StoreError, StreamError
from mixture.lock import Amendment, Lock, Mask
from mixture.planning.amend import amend
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import open_stream
from mixture.testing import check_ranks, check_resume

KEYS = {"sequence_length": "32", "batch": "12 sequences", "budget": "60 steps"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("text") / "made", DOMAINS)


@pytest.fixture(scope="module")
def locks(store: Store, tmp_path_factory: pytest.TempPathFactory) -> list[Lock]:
    """A run, and the run after each of five amendments, at steps 10, 20, 30, 40 and 50."""
    folder = tmp_path_factory.mktemp("specs")
    first = lock_over(store, folder / "0", "  - {phase: all, weights: proportional}", **KEYS)
    weights = amend(first, 10, {"code": "0.5", "web": "0.5"})
    skipped = amend(weights, 20, skip_steps=3, reason="the loss jumped")
    longer = _by_spec(skipped, store, folder / "3", 30, sequence_length="128", batch="4 sequences", budget="70 steps")
    masked = amend(longer, 40, masks=[Mask(40, "web", 0, 20_000)])
    return [first, weights, skipped, longer, masked, amend(masked, 50, {"notes": 1})]


def _by_spec(lock: Lock, store: Store, folder: Path, step: int, **keys: str) -> Lock:
    lock_over(store, folder, "  - {phase: all, weights: {code: 50%, web: 50%}}", **(KEYS | keys))
    content = {name: domain.content for name, domain in store.domains.items()}
    plan = make_plan(read_spec(folder / "mixture.yaml"), amends=Amendment(lock, step))
    return make_lock(plan, content=content)


def test_a_run_that_changes_five_times_is_the_one_that_its_last_lock_says(locks: list[Lock], store: Store) -> None:
    expected = rows_of(open_stream(locks[-1], store))
    found: dict[int, tuple[int, ...]] = {}
    state = None
    for lock, end in zip(locks, [10, 20, 30, 40, 50, 70], strict=True):
        stream = open_stream(lock, store)
        if state is not None:
            stream.load_state_dict(json.loads(json.dumps(state)))
        while stream.step < end:
            found |= rows_of([next(stream)])
        state = stream.state_dict()
    assert found == expected
    assert len(found) == 30 * 12 + 40 * 4


def test_every_amended_lock_resumes_at_every_step_on_any_number_of_ranks(locks: list[Lock], store: Store) -> None:
    for lock in locks:
        assert check_resume(partial(open_stream, lock, store)) == lock.schedule().steps + 1
        assert check_ranks(partial(open_stream, lock, store), [2, 4]) == lock.schedule().steps


def test_a_checkpoint_goes_on_under_a_lock_that_was_amended_at_or_after_its_step_and_under_no_other(
    locks: list[Lock], store: Store
) -> None:
    for i, lock in enumerate(locks):
        stream = open_stream(lock, store)
        states = [stream.state_dict()]
        for _ in stream:
            states.append(stream.state_dict())
        for j, other in enumerate(locks):
            low, high = sorted((i, j))
            parted = 10 * (low + 1) if low < high else lock.schedule().steps
            for state in states[::5]:
                fresh = open_stream(other, store)
                if state["step"] <= parted:
                    fresh.load_state_dict(state)
                    assert fresh.state_dict()["step"] == state["step"]
                    continue
                with pytest.raises(StreamError) as error:
                    fresh.load_state_dict(state)
                # Text that was taken down (from step 40 on) is no other order, but other content.
                is_masked_in_one = low == 3 and state["step"] <= (50 if high == 5 else 70)
                assert error.value.code == ("content-differs" if is_masked_in_one else "history-differs")


def test_text_that_was_read_can_not_be_another_one_after_an_amendment(
    locks: list[Lock], store: Store, tmp_path: Path
) -> None:
    changed = DOMAINS | {"web": DOMAINS["web"] | {"web-3": DOMAINS["web"]["web-3"].replace("web3", "3bew")}}
    other = make_store(tmp_path / "other", changed)
    assert [one.tokens for one in other.domains.values()] == [one.tokens for one in store.domains.values()]
    with pytest.raises(AmendError, match="the text of domain 'web' was read before step 30") as error:
        _by_spec(locks[0], other, tmp_path / "spec", 30)
    assert error.value.code == "content-differs"
    stream = open_stream(locks[0], store)
    next(stream)
    with pytest.raises(StoreError, match="web"):
        open_stream(locks[1], other)
    told = open_stream(locks[1], other, accept_content="web-3 was corrected")
    told.load_state_dict(stream.state_dict())
    assert told.state_dict()["accepted"][0]["reason"] == "web-3 was corrected"


def test_a_refusal_says_between_which_steps_checkpoint_and_lock_part(locks: list[Lock], store: Store) -> None:
    stream = open_stream(locks[3], store, first_step=0)
    for _ in range(45):
        next(stream)
    with pytest.raises(StreamError, match="part between step 20 and step 30") as error:
        open_stream(locks[1], store).load_state_dict(stream.state_dict())
    assert (error.value.facts["agreed"], error.value.facts["parted"]) == (20, 30)


def test_five_saves_at_any_steps_and_one_run_that_was_never_stopped_are_the_same_bytes(
    locks: list[Lock], store: Store
) -> None:
    lock = locks[-1]
    whole = bytes_of(open_stream(lock, store))
    parts, stream = [], open_stream(lock, store)
    for stop in (1, 19, 20, 43, 44):
        while stream.step < stop:
            parts.append(next(stream))
        state = json.loads(json.dumps(stream.state_dict()))
        stream = open_stream(lock, store, rank=0, world_size=1)
        stream.load_state_dict(state)
        assert stream.state_dict() == state
    parts += stream
    assert bytes_of(parts) == whole
