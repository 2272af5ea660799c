"""What batches hold: the tokens that the schedule names, with their documents and the token that follows."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from stream_helpers import DOMAINS, lock_over, make_store, rows_of

from mixture.data.store import Store, open_store
from mixture.errors import StoreError, StreamError
from mixture.lock import Lock
from mixture.stream import arrow_schema, open_stream, to_arrow


def test_every_row_holds_the_tokens_that_the_schedule_names(store: Store, make) -> None:
    lock = make()
    schedule = lock.schedule()
    for batch in open_stream(lock, store):
        rows = schedule.rows(schedule.positions_before(batch.step), schedule.batch_of(batch.step))
        assert batch.position.tolist() == rows.position.tolist()
        assert batch.first_token.tolist() == rows.first_token.tolist()
        assert batch.epoch.tolist() == rows.epoch.tolist()
        for i, row in enumerate(batch.input_ids):
            name = schedule.names[batch.domain[i]]
            assert row.tolist() == store.read(name, int(rows.first_token[i]), 64).tolist()


def test_rows_have_the_stores_type_and_can_be_written_to(store: Store, make) -> None:
    batch = next(open_stream(make(), store))
    assert batch.input_ids.dtype == store.dtype == np.uint16
    assert batch.input_ids.shape == (24, 64)
    batch.input_ids[0, 0] = 7


def test_documents_of_a_row_sum_to_its_length_and_none_is_empty(store: Store, make) -> None:
    for batch in open_stream(make(), store, documents=True):
        spans = batch.spans
        assert spans is not None
        for i in range(len(batch)):
            ends = spans.end[spans.offsets[i] : spans.offsets[i + 1]].tolist()
            lengths = np.diff([0, *ends])
            assert lengths.sum() == 64
            assert (lengths > 0).all()
            # A document ends where its end-of-document stands, and nowhere else.
            ended = np.flatnonzero(batch.input_ids[i] == store.end_of_document) + 1
            assert ended.tolist() == (ends if ends[-1] in ended else ends[:-1])


def test_thirteen_tokens_make_three_rows_of_four_and_with_the_next_token_rows_five_wide(tmp_path: Path) -> None:
    over = make_store(tmp_path / "thirteen", {"d": {"only": "abcdefghijkl"}})
    assert over.domains["d"].tokens == 13
    lock = _one_domain_lock(tmp_path, over)
    plain = rows_of(open_stream(lock, over))
    wide = rows_of(open_stream(lock, over, next_token=True))
    assert sorted(plain.values()) == [tuple(b"abcd"), tuple(b"efgh"), tuple(b"ijkl")]
    assert sorted(wide.values()) == [tuple(b"abcde"), tuple(b"efghi"), (*b"ijkl", 256)]


def test_behind_the_very_last_token_of_a_domain_stands_the_end_of_a_document(tmp_path: Path) -> None:
    over = make_store(tmp_path / "twelve", {"d": {"only": "abcdefghijk"}})
    assert over.domains["d"].tokens == 12
    wide = rows_of(open_stream(_one_domain_lock(tmp_path, over), over, next_token=True))
    assert sorted(wide.values())[-1] == (*b"ijk", 256, 256)


def _one_domain_lock(tmp_path: Path, over: Store) -> Lock:
    phases = "  - {phase: all, weights: uniform}"
    return lock_over(over, tmp_path / "spec", phases, sequence_length="4", batch="1 sequences", budget="3 steps")


def test_batches_survive_the_way_through_arrow(store: Store, make) -> None:
    stream = open_stream(make(), store)
    sink = io.BytesIO()
    batches = [next(stream) for _ in range(3)]
    with pa.ipc.new_stream(sink, arrow_schema(store.dtype)) as writer:
        for batch in batches:
            for record in to_arrow(batch, stream.domains):
                writer.write_batch(record)
    table = pa.ipc.open_stream(sink.getvalue()).read_all()
    assert table["position"].to_pylist() == list(range(72))
    assert table["step"].to_pylist() == [0] * 24 + [1] * 24 + [2] * 24
    assert table["domain"].to_pylist() == [stream.domains[d] for batch in batches for d in batch.domain]
    assert table["input_ids"].to_pylist() == [row.tolist() for batch in batches for row in batch.input_ids]


def test_a_store_without_a_domain_of_the_lock_is_refused_before_the_first_batch(tmp_path: Path, make) -> None:
    poor = make_store(tmp_path / "poor", {name: DOMAINS[name] for name in ("code", "web")})
    with pytest.raises(StoreError, match="notes") as caught:
        open_stream(make(), poor)
    assert caught.value.code == "domain-not-in-store"


def test_a_store_with_other_numbers_of_tokens_is_refused_with_both_figures(tmp_path: Path, store: Store, make) -> None:
    less = dict(list(DOMAINS["web"].items())[:-1])
    other = make_store(tmp_path / "other", DOMAINS | {"web": less})
    with pytest.raises(StoreError) as caught:
        open_stream(make(), other)
    assert caught.value.code == "tokens-differ"
    assert f"{other.domains['web'].tokens:,}" in str(caught.value)
    assert f"{store.domains['web'].tokens:,}" in str(caught.value)


def test_a_store_made_with_another_tokenizer_is_refused(store: Store, make) -> None:
    with pytest.raises(StoreError) as caught:
        open_stream(replace(make(), tokenizer="llama"), store)
    assert caught.value.code == "tokenizer-differs"


def test_a_file_that_fails_in_mid_run_is_an_error_each_time_and_never_the_end(tmp_path: Path, make) -> None:
    over = make_store(tmp_path / "cut", DOMAINS)
    stream = open_stream(make(over=over), open_store(over.path))
    for file in (over.path / "tokens").rglob("*.arrow"):
        with file.open("r+b") as opened:
            opened.truncate(100)
    for _ in range(2):
        with pytest.raises(StoreError):
            next(stream)
    assert stream.step == 0


def test_there_is_no_rank_outside_of_the_world(store: Store, make) -> None:
    for rank, world_size in ((4, 4), (-1, 4), (0, 0)):
        with pytest.raises(StreamError) as caught:
            open_stream(make(), store, rank, world_size)
        assert caught.value.code == "rank-invalid"
