"""Text that was taken down: what a stream hides of it, from which step on, and which states go on."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from stream_helpers import rows_of, with_masks

from mixture.data.store import Store
from mixture.errors import StreamError
from mixture.json_text import digest
from mixture.lock import Lock
from mixture.lock.lock import Mask
from mixture.stream import Batch, arrow_schema, open_stream, to_arrow
from mixture.stream.masks import Masks

WEB = Mask(20, "web", 100, 900)
TWO_LENGTHS = """
  - phase: first
    until: step 17
    weights: {code: 30%, notes: 10%, web: 60%}
  - phase: second
    sequence_length: 128
    weights: {code: 50%, notes: 10%, web: 40%}
"""


def random_masks(lock: Lock, rng: random.Random, pieces: int) -> list[Mask]:
    """Disjoint ranges of every domain, some side by side, one up to its end, from steps in no order."""
    found = []
    for domain in lock.data.domains:
        cuts = sorted(rng.sample(range(1, domain.tokens), 2 * pieces))
        cuts[-1] = domain.tokens
        ranges = list(zip(cuts[::2], cuts[1::2], strict=True))
        ranges.append((ranges[0][0] - 1, ranges[0][0]))
        found += [Mask(rng.randrange(30), domain.name, first, end - first) for first, end in ranges]
    return found


def down(lock: Lock, step: int, name: str, token: int) -> bool:
    return any(
        mask.domain == name and mask.first_step <= step and mask.first_token <= token < mask.end for mask in lock.masks
    )


def brute(lock: Lock, batch: Batch) -> list[list[bool]]:
    """Token by token, what the lock says."""
    names = lock.schedule().names
    width = batch.input_ids.shape[1]
    return [
        [down(lock, batch.step, names[d], first + i) for i in range(width)]
        for d, first in zip(batch.domain.tolist(), batch.first_token.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("next_token", [False, True])
def test_what_masks_hide_is_what_they_say_token_by_token_and_nothing_else_changes(
    store: Store, make, seed: int, next_token: bool
) -> None:
    plain = make(TWO_LENGTHS, steps=40)
    lock = with_masks(plain, *random_masks(plain, random.Random(seed), 1 + 6 * seed))
    hidden = 0
    streams = (open_stream(one, store, next_token=next_token, documents=True) for one in (plain, lock))
    for before, after in zip(*streams, strict=True):
        expected = np.array(brute(lock, after))
        assert after.masked is not None
        assert after.masked.dtype == np.bool_
        assert np.array_equal(after.masked, expected)
        assert np.array_equal(
            after.input_ids, np.where(expected, store.end_of_document, before.input_ids).astype(store.dtype)
        )
        for column in ("domain", "position", "epoch", "first_token"):
            assert np.array_equal(getattr(before, column), getattr(after, column))
        assert before.spans is not None
        assert after.spans is not None
        assert np.array_equal(before.spans.end, after.spans.end)
        hidden += np.count_nonzero(expected)
    assert hidden


def test_behind_a_domain_s_last_token_the_next_token_of_a_row_is_no_mask_s(make) -> None:
    plain = make()
    domains = plain.data.domains
    ends = [Mask(0, domain.name, domain.tokens - 30, 30) for domain in domains]
    lock = with_masks(plain, *ends, *(Mask(0, domain.name, 0, 40) for domain in domains))
    first_token = np.array([domain.tokens - 64 for domain in domains])
    ids = np.ones((3, 65), np.uint16)
    masked = Masks(lock).hide(0, np.arange(3), first_token, ids, 0)
    assert masked.tolist() == [[False] * 34 + [True] * 30 + [False]] * 3
    assert np.array_equal(ids, ~masked)


def test_before_their_step_masks_hide_nothing_and_a_lock_without_any_says_none(store: Store, make) -> None:
    plain = make()
    lock = with_masks(plain, Mask(20, "web", 0, plain.data.domains[2].tokens))
    web = plain.schedule().names.index("web")
    for before, after in zip(open_stream(plain, store), open_stream(lock, store), strict=True):
        assert before.masked is None
        assert after.masked is not None
        expected = (after.domain == web) & (after.step >= 20)
        assert np.array_equal(after.masked, np.broadcast_to(expected[:, None], after.masked.shape))
        assert after.step >= 20 or np.array_equal(before.input_ids, after.input_ids)


def test_a_stream_opened_at_any_step_and_rank_hides_the_same(store: Store, make) -> None:
    plain = make()
    lock = with_masks(plain, *random_masks(plain, random.Random(7), 5))
    whole = rows_of(open_stream(lock, store))
    ranks = [open_stream(lock, store, rank, 4, first_step=25) for rank in range(4)]
    later = rows_of(batch for stream in ranks for batch in stream)
    assert later == {position: row for position, row in whole.items() if position in later}


def test_a_range_is_shown_in_parts_that_say_since_when_text_is_down(make) -> None:
    lock = with_masks(
        make(), Mask(3, "web", 10, 5), Mask(5, "web", 15, 5), Mask(9, "web", 30, 5), Mask(0, "code", 0, 9)
    )
    masks = Masks(lock)
    assert list(masks.parts(2, "web", 0, 20)) == [(0, 20, None)]
    assert list(masks.parts(8, "web", 0, 40)) == [(0, 10, None), (10, 15, 3), (15, 20, 5), (20, 40, None)]
    assert list(masks.parts(9, "web", 12, 20)) == [(0, 3, 3), (3, 8, 5), (8, 18, None), (18, 20, 9)]
    assert list(masks.parts(9, "notes", 12, 20)) == [(0, 20, None)]


def test_ranges_of_different_lengths_are_counted(make) -> None:
    lock = with_masks(
        make(), Mask(3, "web", 10, 5), Mask(5, "web", 15, 5), Mask(9, "web", 30, 5), Mask(0, "code", 0, 9)
    )
    first, tokens = np.array([0, 12, 40, 0, 14]), np.array([12, 30, 9, 40, 0])
    for step, expected in ((2, [0] * 5), (3, [2, 3, 0, 5, 0]), (5, [2, 8, 0, 10, 0]), (9, [2, 13, 0, 15, 0])):
        assert Masks(lock).count(step, "web", first, tokens).tolist() == expected
    assert Masks(lock).count(9, "no domain of the lock", first, tokens).tolist() == [0] * 5


def test_arrow_has_the_masks_of_a_lock_that_has_some_and_no_column_else(store: Store, make) -> None:
    plain = make()
    for lock in (plain, with_masks(plain, Mask(20, "web", 100, 9000))):
        stream = open_stream(lock, store, first_step=25, next_token=True)
        batch = next(stream)
        table = pa.Table.from_batches(list(to_arrow(batch, stream.domains)))
        assert table.schema == arrow_schema(store.dtype, masked=lock is not plain)
        assert ("masked" in table.column_names) == (lock is not plain)
        if lock is not plain:
            assert batch.masked is not None
            assert batch.masked.any()
            assert table["masked"].to_pylist() == batch.masked.tolist()


def saved(lock: Lock, store: Store, step: int) -> dict[str, object]:
    state: dict[str, object] = json.loads(json.dumps(open_stream(lock, store, first_step=step).state_dict()))
    return state


def test_a_state_of_before_the_masks_goes_on_under_them_and_one_of_after_does_not(store: Store, make) -> None:
    plain = make()
    lock = with_masks(plain, WEB)
    for step in (0, 1, 19, 20):
        assert saved(lock, store, step) == saved(plain, store, step)
        for kept, now in ((plain, lock), (lock, plain)):
            stream = open_stream(now, store)
            stream.load_state_dict(saved(kept, store, step))
            assert next(stream).step == step
    for step in (21, 40):
        for kept, now in ((plain, lock), (lock, plain)):
            with pytest.raises(StreamError, match="masks are not those") as caught:
                open_stream(now, store).load_state_dict(saved(kept, store, step))
            assert caught.value.code == "content-differs"
            assert "accept_content" in str(caught.value.hint)
        stream = open_stream(lock, store)
        stream.load_state_dict(saved(lock, store, step))


def test_masks_of_later_steps_leave_a_state_what_it_was(store: Store, make) -> None:
    once = with_masks(make(), WEB)
    twice = with_masks(once, WEB, Mask(30, "code", 5, 60))
    for step, goes_on in ((25, True), (30, True), (31, False)):
        stream = open_stream(twice, store)
        if goes_on:
            stream.load_state_dict(saved(once, store, step))
            continue
        with pytest.raises(StreamError, match="masks"):
            stream.load_state_dict(saved(once, store, step))


def test_other_masks_are_accepted_for_a_reason_that_stays(store: Store, make) -> None:
    plain = make()
    lock = with_masks(plain, WEB)
    stream = open_stream(lock, store, accept_content="the letter came late")
    stream.load_state_dict(saved(plain, store, 30))
    next(stream)
    state = stream.state_dict()
    assert state["accepted"] == [
        {"step": 30, "content": saved(plain, store, 30)["content"], "reason": "the letter came late"}
    ]
    again = open_stream(lock, store)
    again.load_state_dict(state)
    assert again.state_dict() == state


def test_content_is_spelled_as_it_is_said_to_be(store: Store, make) -> None:
    plain = make()
    lock = with_masks(plain, Mask(30, "code", 5, 60), WEB)
    contents = [[name, store.domains[name].content] for name in ("code", "notes", "web")]
    one = digest([[20, "web", 100, 900]])
    both = digest([[20, "web", 100, 900], [30, "code", 5, 60]])
    for step, masks in ((20, None), (21, one), (30, one), (31, both), (40, both)):
        state = saved(lock, store, step)
        assert state.get("masks") == masks
        assert state["content"] == "tokens:" + digest(contents + ([[masks]] if masks else []))
        assert ("masks" in state) == (masks is not None)
        assert saved(plain, store, step)["content"] == "tokens:" + digest(contents)


def test_ten_thousand_masks_hide_what_they_say(store: Store, make) -> None:
    plain = make()
    web = plain.data.domains[2].tokens
    lock = with_masks(plain, *(Mask(i % 25, "web", 2 * i, 1) for i in range(web // 2)))

    def alternating() -> Iterator[bool]:
        for batch in open_stream(lock, store, first_step=25):
            assert batch.masked is not None
            for d, first, row in zip(batch.domain, batch.first_token, batch.masked, strict=True):
                tokens = np.arange(first, first + len(row))
                yield np.array_equal(row, (tokens % 2 == 0) & (tokens < web // 2 * 2) if d == 2 else np.zeros(64, bool))

    assert all(alternating())
