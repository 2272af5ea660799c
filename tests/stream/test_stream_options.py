"""What a stream's batches say of documents and losses over a real store, in which type ids are given, and any steps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from stream_helpers import DOMAINS, bytes_of, lock_over, make_store, with_masks, write_documents

from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store
from mixture.errors import ScheduleError, StreamError
from mixture.lock.lock import Mask
from mixture.stream import data_rank, open_stream
from mixture.testing import difference


def test_positions_labels_and_masks_follow_from_where_documents_are(store: Store, make) -> None:
    """Against each row's documents as the store's own tables have them."""
    lock = make(steps=20)
    crossed = 0
    for batch in open_stream(lock, store, documents=True, next_token=True):
        positions, documents = batch.position_ids(), batch.document_ids()
        taken = batch.loss_mask(across_documents=False)
        assert batch.length == 64
        assert batch.loss_mask().all()
        bounds, longest = batch.cu_seqlens()
        assert bounds[-1] == len(batch) * 64
        assert set(range(0, len(batch) * 64 + 1, 64)) <= set(bounds.tolist())
        assert longest == np.diff(bounds).max()
        for i, (d, first) in enumerate(zip(batch.domain.tolist(), batch.first_token.tolist(), strict=True)):
            name = lock.schedule().names[d]
            found = store.documents(name, first, 64)
            starts = found["first_token"].to_numpy()
            ends = starts + found["tokens"].to_numpy()
            tokens = first + np.arange(64)
            owner = np.searchsorted(ends, tokens, side="right")
            assert positions[i].tolist() == (tokens - np.maximum(starts[owner], first)).tolist()
            assert documents[i].tolist() == owner.tolist()
            # The label of a document's last token, which is its end-of-document, is another text's first one.
            assert np.array_equal(~taken[i], np.isin(tokens + 1, ends))
            assert (batch.input_ids[i, :64][~taken[i]] == store.end_of_document).all()
            crossed += int((~taken[i]).sum())
    assert crossed > 50


def test_the_label_behind_a_row_that_ends_with_a_document_is_another_documents(tmp_path: Path) -> None:
    """Documents of seven letters and their end fill rows of eight; at the domain's end nothing follows."""
    store = make_store(tmp_path / "made", {"a": {f"{i}": "abcdefg" for i in range(3)} | {"x": "a" * 12}})
    lock = lock_over(
        store, tmp_path / "m", "  - {phase: all, weights: {a: 1}}", tokenizer="bytes", sequence_length="4",
        batch="9 sequences", budget="1 steps", shuffle="{block: 4 tokens, window: 1 blocks}",
    )  # fmt: skip
    (batch,) = open_stream(lock, store, documents=True, next_token=True)
    assert batch.spans is not None
    ends = np.cumsum(store.documents("a", 0, store.domains["a"].tokens)["tokens"].to_numpy())
    assert np.array_equal(batch.spans.closed, np.isin(batch.first_token + 4, ends))
    assert 0 < batch.spans.closed.sum() < 9
    assert np.array_equal(~batch.loss_mask(across_documents=False)[:, 3], batch.spans.closed)


def test_no_loss_is_taken_of_what_is_taken_down(store: Store, make) -> None:
    lock = with_masks(make(steps=20), Mask(2, "web", 0, store.domains["web"].tokens))
    for batch in open_stream(lock, store, next_token=True):
        assert batch.masked is not None
        taken = batch.loss_mask()
        assert np.array_equal(taken, ~batch.masked[:, 1:])
        assert taken.all() == (batch.step < 2)


def test_without_the_next_token_a_rows_first_token_has_no_loss(store: Store, make) -> None:
    batch = next(open_stream(make(), store))
    taken = batch.loss_mask()
    assert taken.shape == (24, 64)
    assert not taken[:, 0].any()
    assert taken[:, 1:].all()


def test_what_needs_documents_says_so_where_they_were_not_asked_for(store: Store, make) -> None:
    batch = next(open_stream(make(), store))
    for asked in (batch.position_ids, batch.cu_seqlens, lambda: batch.loss_mask(across_documents=False)):
        with pytest.raises(StreamError) as caught:
            asked()
        assert caught.value.code == "documents-missing"


@pytest.mark.parametrize("dtype", ["uint32", "int32", "int64", np.uint64, "uint16"])
def test_ids_are_given_in_the_type_that_is_asked_for(store: Store, make, dtype) -> None:
    lock = make(steps=18)
    for batch, plain in zip(open_stream(lock, store, dtype=dtype), open_stream(lock, store), strict=True):
        assert batch.input_ids.dtype == np.dtype(dtype)
        assert np.array_equal(batch.input_ids, plain.input_ids)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "bool", "nothing", ">i8"])
def test_a_type_that_can_not_hold_every_id_is_refused_before_the_first_batch(store: Store, make, dtype) -> None:
    with pytest.raises(StreamError) as caught:
        open_stream(make(), store, dtype=dtype)
    assert caught.value.code == "dtype-unfit"


def test_ids_of_large_vocabularies_fit_int32_and_not_sixteen_bits(tmp_path: Path) -> None:
    write_documents(tmp_path / "web.jsonl", DOMAINS["web"])
    sources = "dtype: uint32\ndomains:\n  web: {files: [web.jsonl], text: text, id: id}\n"
    (tmp_path / "sources.yaml").write_text(sources, encoding="utf-8")
    ingest(tmp_path / "sources.yaml", tmp_path / "store", processes=1)
    store = open_store(tmp_path / "store")
    keys = {"tokenizer": "bytes", "sequence_length": "64", "batch": "24 sequences", "budget": "3 steps"}
    lock = lock_over(store, tmp_path / "m", "  - {phase: all, weights: {web: 1}}", **keys)
    batch = next(open_stream(lock, store, dtype="int32"))
    assert batch.input_ids.dtype == np.int32
    assert np.array_equal(batch.input_ids, next(open_stream(lock, store)).input_ids)
    with pytest.raises(StreamError, match="int64 and int32"):
        open_stream(lock, store, dtype="uint16")


def test_any_steps_are_read_without_moving_the_stream(store: Store, make) -> None:
    lock = make()
    whole = list(open_stream(lock, store, documents=True))
    stream = open_stream(lock, store, documents=True)
    next(stream)
    for steps in (range(40), range(3, 40, 7), range(39, 40), range(16, 19), range(5, 5), range(50, 40, 3)):
        found = list(stream.read(steps))
        assert [batch.step for batch in found] == list(steps)
        assert all(difference(whole[batch.step], batch) is None for batch in found)
    assert next(stream).step == 1
    for steps in (range(-1, 3), range(38, 41), range(5, 2, -1)):
        with pytest.raises(StreamError) as caught:
            stream.read(steps)
        assert caught.value.code == "steps-invalid"


def test_any_position_is_read_alone_as_in_its_step(store: Store, make) -> None:
    lock = make()
    stream = open_stream(lock, store, next_token=True, documents=True)
    whole = {batch.step: batch for batch in open_stream(lock, store, next_token=True, documents=True)}
    for position in (0, 23, 24, 500, 959, 7):
        row = stream.at(position)
        step, slot = divmod(position, 24)
        assert (row.step, row.position.tolist()) == (step, [position])
        assert np.array_equal(row.input_ids[0], whole[step].input_ids[slot])
    with pytest.raises(ScheduleError):
        stream.at(960)


def test_the_state_at_any_step_is_that_of_a_stream_that_came_to_it(store: Store, make) -> None:
    stream, other = open_stream(make(), store), open_stream(make(), store)
    for step in range(40):
        assert json.dumps(other.state_at(step)) == json.dumps(stream.state_dict())
        next(stream)
    assert other.step == 0


def test_replicas_read_the_same_rows_and_the_ranks_between_them_every_row_once(store: Store, make) -> None:
    """Eight processes as four data-parallel ranks of two replicas."""
    lock = make(steps=18)
    read = [list(open_stream(lock, store, *data_rank(rank, 8, 2))) for rank in range(8)]
    for even, odd in zip(read[::2], read[1::2], strict=True):
        assert bytes_of(even) == bytes_of(odd)
    for step in range(18):
        assert np.concatenate([rank[step].position for rank in read[::2]]).tolist() == list(
            range(24 * step, 24 * step + 24)
        )
    for asked, code in (((0, 8, 3), "replicas-invalid"), ((0, 8, 0), "replicas-invalid"), ((8, 8, 2), "rank-invalid")):
        with pytest.raises(StreamError) as caught:
            data_rank(*asked)
        assert caught.value.code == code
