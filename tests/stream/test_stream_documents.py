"""Documents of rows come from where documents were put, whatever tokens they hold and however far in they lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from data.makers import bare_store, write_tokens
from stream_helpers import lock_over

from mixture.data.store import open_store
from mixture.stream import open_stream

PHASES = "  - {phase: all, weights: {web: 1}}"


def test_documents_without_an_end_of_document_inside_still_end_where_they_end(tmp_path: Path) -> None:
    lengths = [1, 7, 8, 3, 16, 2, 11, 40, 8, 8]
    total = sum(lengths)
    folder = bare_store(tmp_path / "store", {"web": lengths})
    write_tokens(folder, [1 + i % 9 for i in range(total)])
    store = open_store(folder)
    lock = lock_over(store, tmp_path / "spec", PHASES, sequence_length="8", batch="1 sequences", budget="13 steps")
    owners = np.repeat(np.arange(len(lengths)), lengths)
    seen = 0
    for batch in open_stream(lock, store, documents=True):
        assert store.end_of_document not in batch.input_ids
        assert batch.spans is not None
        sizes = np.diff(batch.spans.end, prepend=0)
        assert sizes.min() > 0
        first = int(batch.first_token[0])
        assert np.repeat(batch.spans.document, sizes).tolist() == owners[first : first + 8].tolist()
        seen += 8
    assert seen == total


def test_ends_of_document_inside_of_a_document_do_not_end_it(tmp_path: Path) -> None:
    folder = bare_store(tmp_path / "store", {"web": [40, 24]})  # holes: every token is end-of-document
    store = open_store(folder)
    lock = lock_over(store, tmp_path / "spec", PHASES, sequence_length="16", batch="1 sequences", budget="4 steps")
    found = {}
    for batch in open_stream(lock, store, documents=True):
        assert batch.input_ids.tolist() == [[0] * 16]
        assert batch.spans is not None
        found[int(batch.first_token[0])] = list(
            zip(batch.spans.document.tolist(), batch.spans.end.tolist(), strict=True)
        )
    assert found == {0: [(0, 16)], 16: [(0, 16)], 32: [(0, 8), (1, 16)], 48: [(1, 16)]}


def test_a_document_that_begins_past_four_billion_tokens_is_streamed_right(tmp_path: Path) -> None:
    start = 2**32 + 5
    folder = bare_store(tmp_path / "store", {"web": [start, 3, 1000]})
    write_tokens(folder, [151_935, 70_000, 7], first_token=start)
    store = open_store(folder)
    lock = lock_over(
        store,
        tmp_path / "spec",
        PHASES,
        sequence_length="64",
        batch="1024 sequences",
        budget=f"{start + 1003} tokens",
    )
    schedule = lock.schedule()
    (position,) = schedule.find("web", start)
    step = schedule.step_of(position)
    batch = next(open_stream(lock, store, first_step=step, next_token=True, documents=True))
    row = position - schedule.positions_before(step)
    assert batch.first_token[row] == 2**32
    assert batch.input_ids[row].tolist() == [0] * 5 + [151_935, 70_000, 7] + [0] * 57
    assert batch.spans is not None
    part = slice(batch.spans.offsets[row], batch.spans.offsets[row + 1])
    assert batch.spans.document[part].tolist() == [0, 1, 2]
    assert batch.spans.end[part].tolist() == [5, 8, 64]
