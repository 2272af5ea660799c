"""What a step reads down to the parts of documents, and documents back to every place in the run."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from schedule.making import make_run
from stream_helpers import lock_over, with_masks
from traced_store import lock_of, places_of, traced_store

from mixture.data.store import Store, open_store, write_holes
from mixture.errors import ScheduleError, StoreError, StreamError
from mixture.lock import Lock, read_lock
from mixture.lock.lock import Mask
from mixture.schedule import Domain
from mixture.stream import open_stream, trace_documents, trace_step, trace_token

ROOT = Path(__file__).resolve().parents[2]
PHASES = """
  - phase: first
    until: step 150
    weights: {code: 40%, held: 0, web: 60%}
  - phase: second
    sequence_length: 128
    weights: {code: 70%, held: 0, web: 30%}
"""
KEYS = {"tokenizer": "bytes", "sequence_length": "64", "batch": "96 sequences", "budget": "260 steps"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return traced_store(tmp_path_factory.mktemp("traced") / "made", {"code": 5_000, "held": 10, "web": 7_000})


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Lock:
    return lock_over(store, tmp_path_factory.mktemp("lock") / "spec", PHASES, **KEYS)


def test_the_parts_of_documents_that_a_step_reads_are_the_tokens_that_its_ranks_get(store: Store, lock: Lock):
    for step, world_size in ((0, 1), (149, 4), (150, 3), (259, 1)):
        for rank in range(world_size):
            batch = next(open_stream(lock, store, rank, world_size, step))
            found = list(trace_step(lock, store, step, rank=rank, world_size=world_size))
            assert [one.position for one in found] == batch.position.tolist()
            assert [one.first_token for one in found] == batch.first_token.tolist()
            for one, ids in zip(found, batch.input_ids, strict=True):
                parts = [
                    store.read(
                        part.document.domain,
                        part.document.first_token + part.from_token,
                        part.to_token - part.from_token,
                    )
                    for part in one.documents
                ]
                assert np.concatenate(parts).tolist() == ids.tolist()
                assert min(part.to_token - part.from_token for part in one.documents) > 0


def test_a_traced_sequence_says_where_it_stands_and_what_its_documents_are(store: Store, lock: Lock):
    (one, *_) = trace_step(lock, store, 200, rank=1, world_size=2)
    schedule = lock.schedule()
    (position,) = schedule.at([one.position]).position.tolist()
    assert (position, one.slot) == (schedule.positions_before(200) + 48, 48)
    row = schedule.at([one.position])
    assert (one.draw, one.epoch, one.sequence) == (int(row.draw[0]), int(row.epoch[0]), int(row.sequence[0]))
    assert one.tokens == 128
    for part in one.documents:
        (there,) = [r for r in store.document(part.document.id).to_pylist() if r["domain"] == one.domain]
        assert part.document.attributes == {"license": there["license"], "source": there["source"]}
        assert (part.document.first_token, part.document.tokens) == (there["first_token"], there["tokens"])


@pytest.mark.long
def test_ten_thousand_random_documents_are_found_where_they_are(store: Store, lock: Lock):
    schedule = lock.schedule()
    places = places_of(schedule, store, schedule.rows(0, schedule.num_sequences))
    ids = [name for d in ("code", "held", "web") for name in store.documents_from(d, 0, 10_000)["id"].to_pylist()]
    chosen = random.Random(0).sample(sorted(set(ids)), 10_000)
    traces = trace_documents(lock, store, chosen)
    assert {trace.document.id for trace in traces if trace.document} == set(chosen)
    read = 0
    for trace in traces:
        found = [(one.position, one.from_token, one.to_token) for one in trace.reads()]
        assert found == places.get((trace.domain, trace.first_token), [])
        assert trace.times == len(found)
        read += len(found)
    assert read > 25_000


@pytest.mark.parametrize("step", [0, 130, 259])
def test_what_a_step_reads_is_traced_back_to_it(store: Store, lock: Lock, step: int):
    sequences = list(trace_step(lock, store, step))
    ids = {part.document.id for one in sequences for part in one.documents}
    back = {
        (trace.domain, trace.first_token, read.position, read.step, read.slot, read.from_token, read.to_token)
        for trace in trace_documents(lock, store, ids)
        for read in trace.reads()
        if read.step == step
    }
    forth = {
        (one.domain, part.document.first_token, one.position, step, one.slot, part.from_token, part.to_token)
        for one in sequences
        for part in one.documents
    }
    assert forth <= back
    assert {place for place in back if place[0] in ("code", "web")} == forth


def test_an_id_in_two_domains_is_traced_in_both_and_ids_come_in_the_order_asked(store: Store, lock: Lock):
    traces = trace_documents(lock, store, ["web/9", "code/0", "held/1", "web/9"])
    assert [(trace.domain, trace.document.id) for trace in traces if trace.document] == [
        ("web", "web/9"), ("code", "code/0"), ("web", "code/0"), ("held", "held/1"),
    ]  # fmt: skip
    assert (traces[-1].times, list(traces[-1].reads())) == (0, [])


@pytest.mark.parametrize("first_step", [0, 1, 149, 150, 200, 259, 260])
def test_what_is_still_to_come_is_what_is_read_from_the_step_on(store: Store, lock: Lock, first_step: int):
    ids = [f"web/{i}" for i in range(1, 200)]
    for trace, later in zip(
        trace_documents(lock, store, ids), trace_documents(lock, store, ids, first_step=first_step), strict=True
    ):
        to_come = [read for read in trace.reads() if read.step >= first_step]
        assert list(later.reads()) == to_come
        assert later.times == len(to_come)


def test_traces_are_right_with_pools_lengths_and_skips(store: Store, lock: Lock):
    domains = (Domain("code", 0, 60_000), Domain("held", 0), Domain("web", 0, 900))
    segments = [(40, 64, [3, 0, 1]), (30, 64, [3, 0, 1], 1_000), (50, 128, [1, 1, 1]), (40, 64, [1, 0, 1])]
    run = lock_of(lock, make_run(domains, segments, ((0, 24), (77, 10)), block=256, window=4))
    schedule = run.schedule()
    places = places_of(schedule, store, schedule.rows(0, schedule.num_sequences))
    assert {name for name, _ in places} == {"code", "held", "web"}
    by_id = {
        (name, row["first_token"]): row["id"]
        for name, domain in store.domains.items()
        for row in store.documents(name, 0, domain.tokens).to_pylist()
    }
    ids = sorted({by_id[place] for place in places})
    traced = {}
    for trace in trace_documents(run, store, ids):
        found = [(one.position, one.from_token, one.to_token) for one in trace.reads()]
        assert trace.times == len(found)
        if found:
            traced[trace.domain, trace.first_token] = found
    assert traced == places


def test_a_token_is_traced_without_a_store(lock: Lock):
    schedule = lock.schedule()
    for token in (0, 777, 20_000):
        trace = trace_token(lock, "web", token)
        assert [read.position for read in trace.reads()] == schedule.find("web", token)
        assert all(read.first_token <= token < read.first_token + read.tokens for read in trace.reads())
        later = trace_token(lock, "web", token, first_step=100)
        assert [read.step for read in later.reads()] == [r.step for r in trace.reads() if r.step >= 100]


def test_what_was_taken_down_is_said_of_each_read(store: Store, lock: Lock):
    (plain,) = trace_documents(lock, store, ["code/7"])
    half, since = plain.tokens // 2, list(plain.reads())[-1].step
    masked = lock_of(lock, lock.data, Mask(since, "code", plain.first_token, half))
    (trace,) = trace_documents(masked, store, ["code/7"])
    reads = list(trace.reads())
    for read in reads:
        hidden = max(0, min(read.to_token, half) - read.from_token) if read.step >= since else 0
        assert read.masked_tokens == hidden
    assert {read.masked_tokens > 0 for read in reads} == {True, False}
    assert [read.position for read in reads] == [read.position for read in plain.reads()]


def test_what_there_is_not_is_refused_with_what_is_near(store: Store, lock: Lock, tmp_path: Path):
    with pytest.raises(StoreError, match=r"no document 'web/12345', nor 1 more .*did you mean 'web/1245'") as raised:
        trace_documents(lock, store, ["web/5", "web/12345", "nothing"])
    assert raised.value.code == "unknown-document"
    for ask in (
        lambda: trace_step(lock, store, 260),
        lambda: trace_documents(lock, store, ["web/5"], first_step=261),
        lambda: trace_token(lock, "web", 5, first_step=-1),
    ):
        with pytest.raises(ScheduleError) as out:
            ask()
        assert out.value.code == "step-out-of-range"
    with pytest.raises(StreamError):
        trace_step(lock, store, 0, rank=2, world_size=2)
    other = traced_store(tmp_path / "other", {"code": 20, "held": 3, "web": 30})
    for ask in (lambda: trace_step(lock, other, 0), lambda: trace_documents(lock, other, ["web/5"])):
        with pytest.raises(StoreError) as differs:
            ask()
        assert differs.value.code == "tokens-differ"


@pytest.mark.long
def test_a_run_of_19_trillion_tokens_is_traced_both_ways(tmp_path: Path):
    lock = read_lock(ROOT / "mixtures" / "marin-535b-a23b" / "mixture.lock.json")
    sizes = {domain.name: domain.tokens for domain in lock.data.domains}
    write_holes(tmp_path / "store", sizes, tokenizer=lock.tokenizer or "")
    store = open_store(tmp_path / "store")
    schedule = lock.schedule()
    for step in (0, 100_000, schedule.steps - 1):
        for one in list(trace_step(lock, store, step, rank=3, world_size=1_408)):
            (part,) = one.documents
            assert (part.document.id, part.from_token) == (one.domain, one.first_token)
            trace = trace_token(lock, one.domain, one.first_token + 5)
            assert one.position in [read.position for read in trace.reads()]
    whole = trace_documents(lock, store, ["c26q4"], first_step=380_000)[0]
    drawn = schedule.counts(schedule.steps) - schedule.counts(380_000)
    assert whole.times == int(drawn[schedule.domain_index("c26q4")])
    assert next(whole.reads()).step >= 380_000


@pytest.mark.parametrize("first_step", [0, 40, 90, 149, 200, 259])
def test_places_of_which_nothing_is_read_are_those_where_the_stream_hides_all_text(
    store: Store, lock: Lock, first_step: int
):
    documents = {
        (row["domain"], row["id"]): row
        for row in store.documents_named(["web/7", "web/8", "web/9", "code/1", "code/2"]).to_pylist()
    }
    first, end = (documents["web", "web/8"][name] for name in ("first_token", "tokens"))
    code = documents["code", "code/1"]["first_token"]
    masks = (
        Mask(90, "web", documents["web", "web/7"]["first_token"], documents["web", "web/7"]["tokens"] - 1),
        Mask(40, "web", first, end // 2),
        Mask(150, "web", first + end // 2, end - 1 - end // 2),
        Mask(60, "code", code, 3),
    )
    masked = with_masks(lock, *masks)
    hidden = {
        position: row
        for batch in open_stream(masked, store)
        for position, row in zip(batch.position.tolist(), batch.masked, strict=True)
    }
    traces = trace_documents(masked, store, [identity for _, identity in documents], first_step=first_step)
    for trace in traces:
        reads, down = list(trace.reads()), 0
        for read in reads:
            text = read.to_token - (read.to_token == trace.tokens)
            at = trace.first_token - read.first_token
            here = hidden[read.position][at + read.from_token : at + text]
            if text > read.from_token:
                assert read.is_down == bool(here.all())
            down += read.is_down
            assert read.masked_tokens == int(here.sum())
        assert (trace.times_down, trace.times) == (down, len(reads))
        assert first_step >= 60 or down or trace.document.id in ("web/9", "code/1", "code/2"), "some of each is read"


def test_a_step_says_how_much_of_each_document_is_taken_down(store: Store, lock: Lock):
    first = next(one for one in trace_step(lock, store, 30) if one.domain == "web")
    part = first.documents[0]
    masked = with_masks(lock, Mask(30, "web", part.document.first_token, part.document.tokens - 1))
    batch = next(open_stream(masked, store, first_step=30))
    found = list(trace_step(masked, store, 30))
    assert [one.masked_tokens for one in found] == batch.masked.sum(axis=1).tolist()
    same = next(one for one in found if one.position == first.position)
    assert same.documents[0].is_down
    assert not any(part.is_down for one in trace_step(masked, store, 29) for part in one.documents)
