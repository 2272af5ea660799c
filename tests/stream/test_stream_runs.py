"""From source files to batches: shares are of tokens, and neither files, boundaries nor stops change what is read."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from stream_helpers import bytes_of, lock_over, make_store, write_documents

from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store
from mixture.errors import PlanError
from mixture.stream import open_stream


def test_half_the_tokens_come_from_documents_of_100_and_half_from_documents_of_1000(tmp_path: Path) -> None:
    short = {str(i): f"{i:09d}" * 11 for i in range(600)}  # with end-of-document, 100 tokens
    long = {str(i): f"{i:09d}" * 111 for i in range(60)}
    store = make_store(tmp_path / "made", {"web": short, "code": long})
    assert [store.documents(name, 0, 60_000)["tokens"][0].as_py() for name in ("web", "code")] == [100, 1_000]
    lock = lock_over(
        store,
        tmp_path / "spec",
        "  - {phase: all, weights: {web: 0.5, code: 0.5}}",
        sequence_length="50",
        batch="20 sequences",
        budget="100 steps",
        shuffle="{block: 1000 tokens}",
    )
    tokens, documents = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for batch in open_stream(lock, store):
        tokens += np.bincount(batch.domain, minlength=2) * 50
        ended = (batch.input_ids == store.end_of_document).sum(axis=1)
        documents += np.bincount(batch.domain, weights=ended, minlength=2).astype(np.int64)
    code, web = (lock.schedule().domain_index(name) for name in ("code", "web"))
    assert tokens.tolist() == [50_000, 50_000]
    assert documents[code] == pytest.approx(50, abs=2)
    assert documents[web] == pytest.approx(500, abs=10)


def test_the_same_weights_in_two_phases_are_streamed_byte_for_byte_alike_wherever_they_meet(store: Store, make) -> None:
    weights = "weights: {code: 30%, notes: 10%, web: 60%}"
    one = bytes_of(open_stream(make(f"  - {{phase: all, {weights}}}"), store))
    for boundary in ("80%", "90%", "step 17"):
        lock = make(f"  - {{phase: a, until: {boundary}, {weights}}}\n  - {{phase: b, {weights}}}")
        assert len(lock.phases) == 2
        assert bytes_of(open_stream(lock, store)) == one
    other = make("  - {phase: all, weights: {code: 30%, notes: 11%, web: 59%}}")
    assert bytes_of(open_stream(other, store)) != one


def test_after_a_larger_batch_a_phase_begins_at_the_sum_of_both_also_when_resumed(tmp_path: Path, store: Store) -> None:
    lock = lock_over(
        store,
        tmp_path / "spec",
        "  - {phase: small, until: step 100, weights: {code: 0.5, web: 0.5}}\n"
        "  - {phase: large, until: step 150, batch: 16 sequences, weights: {code: 0.5, web: 0.5}}\n"
        "  - {phase: other, batch: 16 sequences, weights: {code: 0.25, web: 0.75}}",
        sequence_length="16",
        batch="8 sequences",
        budget="200 steps",
    )
    whole = list(open_stream(lock, store))
    assert whole[150].position[0] == 1_600
    for stop in (99, 100, 101, 149, 150):
        first = open_stream(lock, store)
        for _ in range(stop):
            next(first)
        again = open_stream(lock, store)
        again.load_state_dict(json.loads(json.dumps(first.state_dict())))
        rest = list(again)
        assert rest[150 - stop].position[0] == 1_600
        assert bytes_of(rest) == bytes_of(whole[stop:])


@pytest.mark.parametrize("name", ["a", "m", "z"])
def test_a_domain_whose_texts_were_all_blank_may_have_weight_zero_and_no_other(tmp_path: Path, name: str) -> None:
    texts = {"c": {"1": "def f(): return 1\n" * 9}, "w": {"1": "words and more words " * 9}}
    store = make_store(tmp_path / "made", texts | {name: {"1": "  ", "2": ""}})
    assert store.domains[name].tokens == 0
    keys = {"sequence_length": "8", "batch": "6 sequences", "budget": "5 steps"}
    with pytest.raises(PlanError, match=f"domain '{name}' has no tokens and is weighed 33.33%") as caught:
        lock_over(store, tmp_path / "spec", "  - {phase: all, weights: uniform}", **keys)
    assert caught.value.code == "domain-empty"
    lock = lock_over(store, tmp_path / "spec", f"  - {{phase: all, weights: {{c: 0.5, w: 0.5, {name}: 0}}}}", **keys)
    read = list(open_stream(lock, store))
    assert len(read) == 5
    assert {lock.schedule().names[d] for batch in read for d in batch.domain.tolist()} == {"c", "w"}


def test_2_20_and_200_files_in_any_listing_are_one_lock_and_one_stream(tmp_path: Path) -> None:
    texts = {f"d{i}": f"document number {i}, " * (1 + i % 9) for i in range(400)}
    told = set()
    for num_files in (2, 20, 200):
        folder = tmp_path / str(num_files)
        (folder / "parts").mkdir(parents=True)
        names = list(texts)
        random.Random(num_files).shuffle(names)
        for n in range(num_files):
            write_documents(folder / "parts" / f"{n}.jsonl", {name: texts[name] for name in names[n::num_files]})
        listing = [f"parts/{n}.jsonl" for n in random.Random(-num_files).sample(range(num_files), num_files)]
        (folder / "sources.yaml").write_text(f"domains: {{web: {{files: {json.dumps(listing)}, id: id}}}}")
        ingest(folder / "sources.yaml", folder / "store", processes=1)
        store = open_store(folder / "store")
        phases = "  - {phase: all, weights: {web: 1}}"
        keys = {"sequence_length": "32", "batch": "8 sequences", "budget": "100 steps"}
        lock = lock_over(store, folder / "spec", phases, **keys)
        told.add((store.digest, lock.digest, bytes_of(open_stream(lock, store))))
    assert len(told) == 1


def test_a_document_of_130_000_tokens_is_streamed_whole(tmp_path: Path) -> None:
    text = "".join(chr(33 + i * i % 94) for i in range(129_999))
    store = make_store(tmp_path / "made", {"web": {"before": "short", "long": text, "after": "short too"}})
    lock = lock_over(
        store,
        tmp_path / "spec",
        "  - {phase: all, weights: {web: 1}}",
        sequence_length="16",
        batch="64 sequences",
        budget="130017 tokens",
        shuffle="{block: 4096 tokens}",
    )
    (long,) = store.document("long").to_pylist()
    assert long["tokens"] == 130_000
    held = np.full(store.domains["web"].tokens, -1)
    named: set[int] = set()
    for batch in open_stream(lock, store, documents=True):
        for first, row in zip(batch.first_token.tolist(), batch.input_ids, strict=True):
            held[first : first + 16] = row
        assert batch.spans is not None
        named |= set(batch.spans.document.tolist())
    assert held.min() >= 0
    part = held[long["first_token"] : long["first_token"] + 130_000]
    assert bytes(part[:-1].astype(np.uint8)).decode() == text
    assert part[-1] == store.end_of_document
    assert named == {0, 1, 2}
