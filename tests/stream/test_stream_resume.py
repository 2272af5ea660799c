"""Saving and going on: at every step, on other ranks, under other locks and on other stores."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from stream_helpers import DOMAINS, make_store, rows_of

from mixture.data.store import Store
from mixture.errors import StoreError, StreamError
from mixture.stream import open_stream

THREE_BATCHES = """
  - phase: a
    until: step 7
    weights: {code: 30%, notes: 10%, web: 60%}
  - phase: b
    until: step 13
    batch: 48 sequences
    weights: {code: 30%, notes: 10%, web: 60%}
  - phase: c
    batch: 24 sequences
    sequence_length: 128
    weights: {code: 50%, web: 50%}
"""
WEB_COMES_LATER = """
  - phase: first
    until: step 17
    weights: {code: 60%, notes: 40%}
  - phase: second
    weights: {code: 50%, web: 50%}
"""


def test_resumed_at_every_step_a_stream_reads_what_an_uninterrupted_one_does(store: Store, make) -> None:
    lock = make(THREE_BATCHES, steps=20)
    whole = rows_of(open_stream(lock, store))
    for step in range(21):
        first = open_stream(lock, store)
        read = rows_of(next(first) for _ in range(step))
        state = json.loads(json.dumps(first.state_dict()))
        second = open_stream(lock, store)
        second.load_state_dict(state)
        assert second.state_dict() == state
        assert read | rows_of(second) == whole


def test_five_saves_at_random_steps_across_epochs_join_to_one_run(store: Store, make) -> None:
    lock = make(steps=200)
    schedule = lock.schedule()
    assert schedule.rows(0, schedule.num_sequences).epoch.max() >= 2
    whole = rows_of(open_stream(lock, store))
    rng = random.Random(5)
    joined: dict[int, tuple[int, ...]] = {}
    state = None
    for end in [*sorted(rng.sample(range(1, 200), 5)), 200]:
        stream = open_stream(lock, store)
        if state is not None:
            stream.load_state_dict(state)
        joined |= rows_of(next(stream) for _ in range(end - stream.step))
        state = stream.state_dict()
    assert joined == whole


def test_eight_ranks_then_six_then_one_read_the_same_24_sequences_a_step(store: Store, make) -> None:
    lock = make(steps=300)
    one = rows_of(open_stream(lock, store))
    read: dict[int, tuple[int, ...]] = {}
    state = open_stream(lock, store).state_dict()
    for world_size in (8, 6, 1):
        streams = [open_stream(lock, store, rank, world_size) for rank in range(world_size)]
        states = []
        for stream in streams:
            stream.load_state_dict(state)
            batches = [next(stream) for _ in range(100)]
            assert {len(batch) for batch in batches} == {24 // world_size}
            read |= rows_of(batches)
            states.append(stream.state_dict())
        assert all(own == states[0] for own in states)
        state = states[0]
    assert read == one


def test_ranks_follow_batches_that_grow_and_shrink_again(store: Store, make) -> None:
    lock = make(THREE_BATCHES, steps=20)
    whole = rows_of(open_stream(lock, store))
    for world_size in (2, 3, 8):
        ranks = [open_stream(lock, store, rank, world_size) for rank in range(world_size)]
        assert rows_of(batch for stream in ranks for batch in stream) == whole


def test_a_step_that_was_begun_and_not_finished_is_read_again_on_all_ranks(store: Store, make) -> None:
    lock = make()
    streams = [open_stream(lock, store, rank, 4) for rank in range(4)]
    for stream in streams:
        for _ in range(5):
            next(stream)
    saved = streams[0].state_dict()
    next(streams[0])
    next(streams[1])  # two ranks went into step 5 before the job was stopped
    resumed = [open_stream(lock, store, rank, 4) for rank in range(4)]
    for stream in resumed:
        stream.load_state_dict(saved)
    batches = [next(stream) for stream in resumed]
    assert {batch.step for batch in batches} == {5}
    assert rows_of(batches) == rows_of([next(open_stream(lock, store, first_step=5))])


def test_a_state_is_not_loaded_after_the_first_batch(store: Store, make) -> None:
    stream = open_stream(make(), store)
    state = stream.state_dict()
    next(stream)
    with pytest.raises(StreamError) as caught:
        stream.load_state_dict(state)
    assert caught.value.code == "stream-started"


def test_a_state_of_another_run_is_refused_saying_between_which_steps_they_part(store: Store, make) -> None:
    first = open_stream(make(), store)
    for _ in range(30):
        next(first)
    changed = """
  - phase: first
    until: step 17
    weights: {code: 30%, notes: 10%, web: 60%}
  - phase: second
    weights: {code: 51%, notes: 0, web: 49%}
"""
    second = open_stream(make(changed), store)
    with pytest.raises(StreamError, match="part between step 17 and step 30") as caught:
        second.load_state_dict(first.state_dict())
    assert caught.value.code == "history-differs"


def test_a_run_made_longer_goes_on_from_its_state(store: Store, make) -> None:
    short, long = make(steps=40), make(steps=80)
    first = open_stream(short, store)
    read = rows_of(next(first) for _ in range(25))
    second = open_stream(long, store)
    second.load_state_dict(first.state_dict())
    assert read | rows_of(second) == rows_of(open_stream(long, store))
    shorter = open_stream(make(steps=20), store)
    with pytest.raises(StreamError, match="ends at step 20"):
        shorter.load_state_dict(first.state_dict())


def test_states_are_the_same_for_all_world_sizes_and_small(store: Store, make) -> None:
    lock = make()
    states = []
    for world_size in (1, 2, 24):
        stream = open_stream(lock, store, world_size - 1, world_size)
        for _ in range(20):
            next(stream)
        states.append(json.dumps(stream.state_dict()))
    assert len(set(states)) == 1
    assert len(states[0]) < 1000
    assert set(json.loads(states[0])) == {"step", "history", "content", "boundaries"}


def test_a_state_keeps_the_history_at_each_boundary_before_its_step(store: Store, make) -> None:
    lock = make(THREE_BATCHES, steps=20)
    for step, begun in ((0, []), (1, [0]), (7, [0]), (8, [0, 7]), (13, [0, 7]), (20, [0, 7, 13])):
        state = open_stream(lock, store, first_step=step).state_dict()
        assert state["boundaries"] == [[start, lock.schedule().history(start)] for start in begun]
        assert state["history"] == lock.schedule().history(step)


def test_content_that_was_not_read_before_a_step_is_no_part_of_its_state(tmp_path: Path, store: Store, make) -> None:
    text = DOMAINS["web"]["web-3"]
    changed = make_store(tmp_path / "changed", DOMAINS | {"web": DOMAINS["web"] | {"web-3": text.swapcase()}})
    lock = replace(make(WEB_COMES_LATER), content={})  # as of a lock made from a table
    for step, is_told in ((17, True), (18, False)):
        state = open_stream(lock, store, first_step=step).state_dict()
        other = open_stream(lock, changed)
        if is_told:
            other.load_state_dict(state)
            assert other.state_dict() == state
        else:
            with pytest.raises(StreamError) as caught:
                other.load_state_dict(state)
            assert caught.value.code == "content-differs"


def test_the_same_documents_with_one_changed_do_not_go_on_unless_told_why(tmp_path: Path, store: Store, make) -> None:
    text = DOMAINS["web"]["web-3"]
    changed = make_store(tmp_path / "changed", DOMAINS | {"web": DOMAINS["web"] | {"web-3": text.swapcase()}})
    assert changed.domains["web"].tokens == store.domains["web"].tokens
    lock, other = make(), make(over=changed)
    first = open_stream(lock, store)
    for _ in range(4):
        next(first)
    with pytest.raises(StreamError) as caught:
        open_stream(other, changed).load_state_dict(first.state_dict())
    assert caught.value.code == "content-differs"
    told = open_stream(other, changed, accept_content="one document was corrected")
    told.load_state_dict(first.state_dict())
    next(told)
    state = told.state_dict()
    assert [kept["reason"] for kept in state["accepted"]] == ["one document was corrected"]
    again = open_stream(other, changed)
    again.load_state_dict(state)
    assert again.state_dict() == state


def test_the_reason_for_other_content_is_kept_before_any_of_it_has_been_read(
    tmp_path: Path, store: Store, make
) -> None:
    text = DOMAINS["web"]["web-3"]
    changed = make_store(tmp_path / "changed", DOMAINS | {"web": DOMAINS["web"] | {"web-3": text.swapcase()}})
    lock = make(WEB_COMES_LATER)
    with pytest.raises(StoreError) as caught:
        open_stream(lock, changed)
    assert (caught.value.code, caught.value.facts["domain"]) == ("content-differs", "web")
    first = open_stream(lock, store)
    for _ in range(5):
        next(first)
    state = first.state_dict()
    for _ in range(3):  # however often it is resumed
        told = open_stream(lock, changed, accept_content="one document was corrected")
        told.load_state_dict(state)
        next(told)
        state = told.state_dict()
        assert [(kept["step"], kept["reason"]) for kept in state["accepted"]] == [(5, "one document was corrected")]


def test_a_world_size_that_does_not_divide_the_batch_is_refused_with_those_that_do(store: Store, make) -> None:
    with pytest.raises(StreamError, match="4 or 6") as caught:
        open_stream(make(), store, 0, 5)
    assert caught.value.code == "batch-not-divisible"


def test_only_batches_that_are_still_to_come_have_to_be_divisible(store: Store, make) -> None:
    lock = make(THREE_BATCHES.replace("batch: 24", "batch: 32"), steps=20)  # 24 sequences, then 48, then 32
    state = open_stream(lock, store, first_step=13).state_dict()
    assert len(next(open_stream(lock, store, 31, 32, first_step=13))) == 1
    for step, world_size in ((12, 32), (0, 16), (0, 32), (7, 12)):
        with pytest.raises(StreamError) as caught:
            open_stream(lock, store, 0, world_size, first_step=step)
        assert caught.value.code == "batch-not-divisible"
    for step, world_size in ((7, 16), (0, 8)):
        open_stream(lock, store, 0, world_size, first_step=step)
    late = open_stream(lock, store, 0, 32, first_step=13)
    late.load_state_dict(state)
    with pytest.raises(StreamError):
        late.load_state_dict(open_stream(lock, store, first_step=12).state_dict())


def test_uneven_ranks_have_as_many_steps_and_together_exactly_the_sequences(store: Store, make) -> None:
    lock = make()
    whole = rows_of(open_stream(lock, store))
    for world_size in (5, 7, 30):
        ranks = [list(open_stream(lock, store, rank, world_size, uneven=True)) for rank in range(world_size)]
        assert {len(batches) for batches in ranks} == {40}
        assert rows_of(batch for batches in ranks for batch in batches) == whole
        sizes = {len(batch) for batches in ranks for batch in batches}
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        {"step": 3},
        {"step": -1, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": []},
        {"step": True, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": []},
        {"step": 1, "history": "x", "content": "tokens:" + "0" * 64, "boundaries": []},
        {"step": 1, "history": "0" * 64, "content": "0" * 64, "boundaries": []},
        {"step": 1, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": [[1]]},
        {"step": 1, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": [["1", "0" * 64]]},
        {"step": 1, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": [[-1, "0" * 64]]},
        {"step": 1, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": [[0, "a"]]},
        {"step": 1, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": {}},
        {"step": 1, "history": "0" * 64, "content": "tokens:" + "0" * 64, "boundaries": [], "rank": 3},
    ],
)
def test_what_is_no_state_is_refused_as_such(store: Store, make, state: object) -> None:
    with pytest.raises(StreamError) as caught:
        open_stream(make(), store).load_state_dict(state)
    assert caught.value.code == "state-invalid"


def test_behind_the_last_step_there_is_nothing_and_it_stays_so(store: Store, make) -> None:
    stream = open_stream(make(), store, first_step=39)
    next(stream)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(stream)
    assert stream.state_dict()["step"] == 40
