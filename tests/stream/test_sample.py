"""Samples: shares exact to one sequence, spread over the run, and the very rows that the run reads."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from stream_helpers import DOMAINS, make_store, rows_of

from mixture.errors import StoreError, StreamError
from mixture.lock import Lock, LockPhase, Mask, read_lock
from mixture.planning.amend import amend
from mixture.stream import choose_sample, open_stream, write_sample

LENGTHS = """
  - phase: short
    until: 50%
    weights: {code: 30%, notes: 10%, web: 60%}
  - phase: long
    sequence_length: 128
    batch: 10 sequences
    weights: {code: 50%, web: 50%}
"""
MARIN = Path(__file__).parents[2] / "mixtures" / "marin-535b-a23b" / "mixture.lock.json"


def off_by(sample) -> float:
    """How far, in sequences, any count is from its share: of a domain in a phase, of a phase, of a domain."""
    share = len(sample.rows) / sample.drawn.sum()
    exact = sample.drawn * share
    sums = [(sample.sequences.sum(axis=axis), exact.sum(axis=axis)) for axis in (0, 1)]
    return max(float(np.abs(a - b).max()) for a, b in [(sample.sequences, exact), *sums])


@pytest.mark.parametrize("tokens", [64, 640, 4_000, 30_000, 61_440])
def test_every_share_is_exact_to_one_sequence(make, tokens):
    sample = choose_sample(make(steps=40), tokens)
    assert sample.tokens == tokens // 64 * 64
    assert off_by(sample) < 1
    assert len(set(sample.rows.position.tolist())) == len(sample.rows)
    counted = np.zeros_like(sample.sequences)
    np.add.at(counted, (sample.phase, sample.rows.domain), 1)
    assert np.array_equal(counted, sample.sequences)


def test_the_sample_of_all_tokens_is_the_run(make):
    lock = make(LENGTHS, steps=60)
    schedule = lock.schedule()
    tokens = int(schedule.tokens(schedule.steps).sum())
    assert choose_sample(lock, tokens).rows.position.tolist() == list(range(schedule.num_sequences))
    with pytest.raises(StreamError, match=f"{tokens:,} tokens, and {tokens + 1:,} are asked for") as refused:
        choose_sample(lock, tokens + 1)
    assert refused.value.code == "sample-too-large"


def test_phases_of_other_lengths_have_their_shares_too(make):
    lock = make(LENGTHS, steps=60)
    sample = choose_sample(lock, 20_000)
    assert off_by(sample) < 1
    assert set(sample.rows.tokens.tolist()) == {64, 128}
    assert abs(sample.tokens - 20_000) <= 64 + 128


def test_a_phase_of_two_lengths_has_the_tokens_that_it_reads(make):
    lock = make(LENGTHS, steps=60)
    one = replace(lock, phases=(LockPhase("all", 0, 60),))
    tokens = int(lock.schedule().tokens(60).sum())
    assert choose_sample(one, tokens).rows.position.tolist() == list(range(lock.schedule().num_sequences))


def test_only_a_phase_is_sampled_where_it_is_named(make):
    lock = make(steps=40)
    sample = choose_sample(lock, 8_000, phase="second")
    assert set(sample.step.tolist()) <= set(range(17, 40))
    assert off_by(sample) < 1
    assert "notes" not in {lock.schedule().names[d] for d in sample.rows.domain}
    with pytest.raises(StreamError, match="did you mean 'second'") as refused:
        choose_sample(lock, 8_000, phase="secnd")
    assert refused.value.code == "unknown-phase"
    with pytest.raises(StreamError, match="phase 'first' reads"):
        choose_sample(lock, 50_000, phase="first")


def test_less_than_a_sequence_is_refused(make):
    with pytest.raises(StreamError) as refused:
        choose_sample(make(), 63)
    assert refused.value.code == "sample-too-small"


def test_the_sequences_of_a_domain_are_spread_over_each_phase(make):
    lock = make(steps=400)
    sample = choose_sample(lock, 60_000)
    for p, phase in enumerate(sample.phases):
        for d in np.flatnonzero(sample.sequences[p] >= 8).tolist():
            steps = sample.step[(sample.phase == p) & (sample.rows.domain == d)] - phase.first_step
            n = steps.size
            # Each n-th part of the phase has its own.
            wanted = (np.arange(n) + 0.5) * phase.steps / n
            assert np.abs(np.sort(steps) - wanted).max() <= 1 + phase.steps / n


def test_a_sample_of_the_large_run_is_exact_in_all_its_domains():
    sample = choose_sample(read_lock(MARIN), 10_000_000)
    assert len(sample.rows) == 2441
    assert off_by(sample) < 1
    rows = sample.lock.schedule().at(sample.rows.position[::100].tolist())
    assert rows.first_token.tolist() == sample.rows.first_token[::100].tolist()


@pytest.fixture
def written(tmp_path):
    def of(lock: Lock, store, tokens: int, **options: bool) -> list[dict]:
        path = tmp_path / "sample.parquet"
        write_sample(choose_sample(lock, tokens), store, path, **options)
        assert [one.name for one in tmp_path.glob("*.parquet*")] == ["sample.parquet"]
        return pq.read_table(path).to_pylist()

    return of


def test_a_file_holds_what_the_run_reads_at_its_positions(make, store, written):
    lock = make(LENGTHS, steps=60)
    read = rows_of(open_stream(lock, store))
    found = written(lock, store, 40_000, with_text=True)
    assert [row["position"] for row in found] == sorted(row["position"] for row in found)
    schedule = lock.schedule()
    for row in found:
        assert tuple(row["input_ids"]) == read[row["position"]]
        assert row["tokens"] == len(row["input_ids"])
        assert row["step"] == schedule.step_of(row["position"])
        assert row["phase"] == lock.phase_of(row["step"]).name
        ids = bytes(token for token in row["input_ids"] if token < 256)
        assert row["text"] == ids.decode(errors="replace")
        at = schedule.at([row["position"]])
        assert (row["domain"], row["epoch"]) == (schedule.names[at.domain[0]], at.epoch[0])
        assert row["first_token"] == at.first_token[0]


def test_the_same_lock_and_tokens_give_the_same_file(make, store, tmp_path):
    lock = make(steps=40)
    for name in ("a", "b"):
        write_sample(choose_sample(lock, 9_999), store, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    about = pq.read_metadata(tmp_path / "a").metadata
    assert about[b"mixture.lock"].decode() == lock.digest


def test_rows_go_out_in_groups_and_progress_is_told(make, store, tmp_path, monkeypatch):
    monkeypatch.setattr("mixture.stream.sample.file.GROUP_TOKENS", 640)
    told: list[tuple[int, int]] = []
    write_sample(choose_sample(make(steps=40), 6_400), store, tmp_path / "f", progress=lambda *now: told.append(now))
    assert told == [(n, 100) for n in range(10, 101, 10)]
    assert pq.read_metadata(tmp_path / "f").num_row_groups == 10


def test_text_that_was_taken_down_is_not_in_a_sample(make, store, written):
    lock = make(steps=40)
    down = Mask(first_step=39, domain="web", first_token=0, tokens=2_000)
    masked = amend(lock, 39, masks=[down])
    plain, hidden = (written(one, store, 61_440) for one in (lock, masked))
    changed = 0
    for before, after in zip(plain, hidden, strict=True):
        for i, (a, b) in enumerate(zip(before["input_ids"], after["input_ids"], strict=True)):
            is_down = before["domain"] == "web" and before["first_token"] + i < 2_000
            assert b == (store.end_of_document if is_down else a)
            changed += is_down
    assert changed


def test_an_amended_run_is_sampled_as_what_it_became(make, store, written):
    lock = amend(make(steps=60), 25, {"web": Fraction(1, 10), "code": Fraction(9, 10)})
    lock = amend(lock, 40, skip_steps=3)
    sample = choose_sample(lock, 20_000)
    assert [phase.name for phase in sample.phases] == [phase.name for phase in lock.phases]
    assert off_by(sample) < 1
    read = rows_of(open_stream(lock, store))
    assert all(tuple(row["input_ids"]) == read[row["position"]] for row in written(lock, store, 20_000))


def test_another_store_is_refused_and_nothing_written(make, tmp_path):
    other = make_store(tmp_path / "other", {**DOMAINS, "web": {"one": "text " * 4000}})
    with pytest.raises(StoreError):
        write_sample(choose_sample(make(), 640), other, tmp_path / "sample.parquet")
    assert not (tmp_path / "sample.parquet").exists()


def test_a_place_that_can_not_be_written_is_refused(make, store, tmp_path):
    with pytest.raises(StreamError) as refused:
        write_sample(choose_sample(make(), 640), store, tmp_path / "none" / "sample.parquet")
    assert refused.value.code == "file-not-written"


def test_duckdb_and_datasets_read_it(make, store, tmp_path):
    import duckdb
    from datasets import load_dataset

    path = tmp_path / "sample.parquet"
    write_sample(choose_sample(make(), 6_400), store, path, with_text=True)
    found = duckdb.sql(f"select count(*), sum(len(input_ids)), sum(tokens) from '{path}'").fetchall()
    assert found == [(100, 6_400, 6_400)]
    rows = load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows.num_rows == 100
    assert rows[0]["input_ids"] == pq.read_table(path).to_pylist()[0]["input_ids"]
