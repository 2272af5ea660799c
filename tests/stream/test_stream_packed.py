"""Streams of packed rows: a spec and a lock over them, states, losses that leave padding out, what was read."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from stream_helpers import DOMAINS, bytes_of, lock_over, make_store

from mixture.data.derived import pack_store
from mixture.data.layout import PADDING
from mixture.data.store import Store, open_store
from mixture.errors import StoreError
from mixture.lock import Lock
from mixture.stream import Batch, open_stream, read_so_far, trace_step

LENGTH = 256
PHASES = "  - {phase: all, weights: {code: 30%, notes: 10%, web: 60%}}"
KEYS = {"sequence_length": str(LENGTH), "batch": "6 sequences", "budget": "60 steps"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("source") / "made", DOMAINS)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, source: Store) -> Store:
    out = tmp_path_factory.mktemp("packed") / "store"
    pack_store(source, out, sequence_length=LENGTH)
    return open_store(out)


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Lock:
    return lock_over(store, tmp_path_factory.mktemp("lock") / "spec", PHASES, **KEYS)


def table_of(store: Store, folder: Path) -> str:
    """The store's domains as a table, which does not know that their rows are packed: a plan can not refuse it."""
    lines = [f"{name},{domain.tokens}\n" for name, domain in store.domains.items()]
    (folder / "cells.csv").write_text("".join(["domain,tokens\n", *lines]), encoding="utf-8")
    return str(folder / "cells.csv")


def rows_with_documents(batch: Batch, store: Store, names: tuple[str, ...]) -> list[list[tuple[int, int]]]:
    """By row, from the table of documents: where each of its documents begins and ends."""
    found = []
    for d, first in zip(batch.domain.tolist(), batch.first_token.tolist(), strict=True):
        rows = store.documents(names[d], first, LENGTH).to_pylist()
        found.append([(row["first_token"] - first, row["first_token"] - first + row["tokens"]) for row in rows])
    return found


def test_every_row_is_a_packed_row_and_only_its_padding_is_of_no_document(store, lock):
    with open_stream(lock, store) as stream:
        for batch in stream:
            assert (batch.first_token % LENGTH == 0).all()
            filled = batch.padding()
            for row, documents in enumerate(rows_with_documents(batch, store, stream.domains)):
                last = documents[-1][1]
                assert documents[0][0] == 0
                assert [end for _, end in documents[:-1]] == [begin for begin, _ in documents[1:]]
                assert np.flatnonzero(filled[row]).tolist() == list(range(last, LENGTH))
                assert (batch.input_ids[row, last:] == store.end_of_document).all()


@pytest.mark.parametrize("next_token", [False, True])
@pytest.mark.parametrize("across_documents", [False, True])
def test_no_loss_is_of_padding_or_of_what_follows_it(store, lock, next_token, across_documents):
    with open_stream(lock, store, next_token=next_token) as stream:
        seen = 0
        for batch in islice(stream, 20):
            taken = batch.loss_mask(across_documents=across_documents)
            for row, documents in enumerate(rows_with_documents(batch, store, stream.domains)):
                last = documents[-1][1]
                seen += last < LENGTH
                starts = {begin for begin, _ in documents}
                for i in range(LENGTH):
                    label = i + 1 if next_token else i
                    is_learned = 0 < label < last and (across_documents or label not in starts)
                    if label == LENGTH and last == LENGTH:  # a full row's next is the first token of another text
                        is_learned = across_documents
                    assert taken[row, i] == is_learned, (row, i, documents)
    assert seen


def test_attention_stays_within_documents_and_segments_sum_to_the_row(store, lock):
    with open_stream(lock, store) as stream:
        for batch in islice(stream, 10):
            ids, places = batch.document_ids(), batch.position_ids()
            bounds, longest = batch.cu_seqlens()
            assert bounds[-1] == len(batch) * LENGTH
            assert (np.diff(bounds) > 0).all()
            assert longest == np.diff(bounds).max()
            for row, documents in enumerate(rows_with_documents(batch, store, stream.domains)):
                for number, (begin, end) in enumerate(documents):
                    assert (ids[row, begin:end] == number).all()
                    assert places[row, begin:end].tolist() == list(range(end - begin))
                assert (ids[row, documents[-1][1] :] == len(documents)).all()


def test_a_resumed_stream_goes_on_with_the_same_rows(store, lock, source, tmp_path):
    with open_stream(lock, store) as stream:
        whole = [bytes_of([batch]) for batch in stream]
    for step in (1, 17, 42):
        with open_stream(lock, store) as begun:
            for _ in range(step):
                next(begun)
            state = begun.state_dict()
        resumed = open_stream(lock, store)
        resumed.load_state_dict(state)
        assert [bytes_of([batch]) for batch in resumed] == whole[step:]


def test_a_state_does_not_go_on_over_rows_of_another_length(source, tmp_path):
    pack_store(source, tmp_path / "other", sequence_length=2 * LENGTH)
    other = open_store(tmp_path / "other")
    with pytest.raises(StoreError) as caught:
        open_stream(lock_over(other, tmp_path / "spec", PHASES, **KEYS, catalog=table_of(other, tmp_path)), other)
    assert caught.value.code == "packed-length-differs"
    assert f"packed to {2 * LENGTH} tokens" in str(caught.value)
    assert (caught.value.facts["found"], caught.value.facts["expected"]) == (2 * LENGTH, LENGTH)


def test_a_phase_of_another_length_is_refused_by_the_step_it_begins_at(store, tmp_path):
    phases = (
        "  - {phase: first, until: step 40, weights: {web: 100%}}\n"
        f"  - {{phase: long, sequence_length: {2 * LENGTH}, weights: {{web: 100%}}}}"
    )
    with pytest.raises(StoreError, match="from step 40 on") as caught:
        open_stream(lock_over(store, tmp_path / "spec", phases, **KEYS, catalog=table_of(store, tmp_path)), store)
    assert caught.value.code == "packed-length-differs"


def test_a_trace_names_the_documents_and_leaves_padding_out(store, lock):
    for step in (0, 31):
        for one in trace_step(lock, store, step):
            rows = store.documents(one.domain, one.first_token, one.tokens).to_pylist()
            assert [(part.document.id, part.from_token, part.to_token) for part in one.documents] == [
                (row["id"], 0, row["tokens"]) for row in rows
            ]


def test_what_was_read_is_of_documents_without_padding(store, lock):
    with open_stream(lock, store) as stream:
        tokens = dict.fromkeys(stream.domains, 0)
        for batch in islice(stream, 30):
            held = (~batch.padding()).sum(axis=1)
            for d, count in zip(batch.domain.tolist(), held.tolist(), strict=True):
                tokens[stream.domains[d]] += count
    read = read_so_far(lock, store, 30)
    assert {one.value: one.tokens_with_repeats for one in read.values} == tokens


def test_batches_of_packed_rows_have_documents_without_being_asked(store, source, lock, tmp_path):
    with open_stream(lock, store) as stream:
        spans = next(stream).spans
    assert spans is not None
    assert PADDING in spans.document
    plain = lock_over(source, tmp_path / "spec", PHASES, **KEYS)
    with open_stream(plain, source) as stream:
        assert next(stream).spans is None
