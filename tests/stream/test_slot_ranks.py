"""Slots shared out among ranks, and the rank that a slot is read by."""

import pytest

from mixture.stream import rank_slots, slot_rank


@pytest.mark.parametrize("batch", [1, 2, 7, 12, 256])
@pytest.mark.parametrize("world_size", [1, 2, 3, 8, 12, 300])
def test_a_slot_is_read_by_the_rank_among_whose_slots_it_is(batch, world_size):
    readers = {slot: rank for rank in range(world_size) for slot in rank_slots(batch, rank, world_size)}
    assert [slot_rank(batch, slot, world_size) for slot in range(batch)] == [readers[slot] for slot in range(batch)]
