"""Runs keep a log that is only added to, numbered without gaps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mixture.api.database import NextLock, Repository, RepositoryError

DIGEST = "ab" * 32


def create(repository, name=None):
    return repository.create_run(mixture="demo", digest=DIGEST, name=name, by="trainer").run


def report(repository, run, step, *, loss=None, key=None):
    return repository.add_progress(run.id, step=step, loss=loss, key=key, by="trainer")


def test_a_run_is_registered_and_found(repository):
    run = create(repository, "first try")
    assert repository.run(run.id) == run
    assert (run.name, run.mixture, run.digest, run.last_seq, run.last) == ("first try", "demo", DIGEST, 0, None)
    assert repository.progress(run.id, limit=10) == []


def test_reports_are_numbered_from_one_in_order(repository):
    run, other = create(repository), create(repository)
    losses = {"web": 2.25, "code": 1e-300, "ü 'x'": 0.1 + 0.2}
    for step, loss in [(10, None), (20, losses), (15, {})]:  # back to a checkpoint: what came last holds
        assert report(repository, run, step, loss=loss).added
    report(repository, other, 7)
    entries = repository.progress(run.id, limit=10)
    assert [(entry.seq, entry.step, entry.loss) for entry in entries] == [(1, 10, None), (2, 20, losses), (3, 15, {})]
    assert [entry.seq for entry in repository.progress(run.id, after=1, limit=1)] == [2]
    assert repository.run(run.id).last == entries[-1]
    assert repository.last_seqs([run.id, other.id, "none"]) == {run.id: 3, other.id: 1}


def test_a_report_with_a_key_that_is_sent_again_is_the_one_that_is_there(repository):
    run = create(repository)
    first = report(repository, run, 10, loss={"web": 2.5}, key="attempt 1")
    again = report(repository, run, 10, loss={"web": 2.5}, key="attempt 1")
    assert (first.added, again.added) == (True, False)
    assert first.entry == again.entry
    assert report(repository, run, 20, key="attempt 1").added, "a key goes with a step"
    assert report(repository, run, 10, loss={"web": 2.4}, key="attempt 2").added, "and a step with a key"
    assert report(repository, run, 10).added
    assert report(repository, run, 10).added, "without a key nothing is taken for the same"
    with pytest.raises(RepositoryError, match="another loss") as caught:
        report(repository, run, 10, loss={"web": 2.6}, key="attempt 1")
    assert caught.value.code == "progress-conflict"
    assert [entry.seq for entry in repository.progress(run.id, limit=10)] == [1, 2, 3, 4, 5]


def test_a_run_that_is_not_there_is_named(repository):
    for ask in (
        lambda: repository.run("nothing"),
        lambda: repository.progress("nothing", limit=1),
        lambda: repository.add_progress("nothing", step=1, loss=None, key=None, by="x"),
    ):
        with pytest.raises(RepositoryError, match="'nothing'") as caught:
            ask()
        assert caught.value.code == "unknown-run"


@pytest.mark.parametrize("run_id", ["", "\0", "a\0b", "'; --", "ü" * 16, "F" * 16, "0" * 17, "0" * 16])
def test_what_is_no_id_of_a_run_is_an_unknown_run_in_every_database(repository, run_id):
    for ask in (
        lambda: repository.run(run_id),
        lambda: repository.progress(run_id, limit=1),
        lambda: repository.add_progress(run_id, step=1, loss=None, key=None, by="x"),
    ):
        with pytest.raises(RepositoryError) as caught:
            ask()
        assert caught.value.code == "unknown-run"


def test_runs_are_listed_newest_first_in_pages(repository):
    runs = [create(repository, f"run {i}") for i in range(5)]
    report(repository, runs[2], 3)
    found, before = [], None
    while page := repository.runs(before=before, limit=2):
        found += page
        before = page[-1].number
    assert [run.name for run in found] == [f"run {i}" for i in (4, 3, 2, 1, 0)]
    assert [run.last and run.last.step for run in found] == [None, None, 3, None, None]


def test_reports_at_once_from_two_copies_lose_nothing_and_leave_no_gap(repository, database_url, tmp_path):
    other = Repository.open(tmp_path / "data", database_url)
    runs = [create(repository), create(repository)]

    def send(number):
        # every report is sent twice, through different copies, as a client does that did not hear the answer
        for mine in (repository, other):
            report(mine, runs[number % 2], number // 2, loss={"web": number / 3}, key="k")

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(send, range(200)))
    for i, run in enumerate(runs):
        entries = other.progress(run.id, limit=1000)
        assert [entry.seq for entry in entries] == list(range(1, 101))
        assert {entry.step: entry.loss["web"] for entry in entries} == {n // 2: n / 3 for n in range(i, 200, 2)}
    other.close()


def test_a_reader_who_follows_the_log_misses_nothing_that_is_written_meanwhile(repository):
    run = create(repository)
    with ThreadPoolExecutor(8) as threads:
        writers = [threads.submit(report, repository, run, step) for step in range(100)]
        seen = []
        while len(seen) < 100:
            seen += [entry.seq for entry in repository.progress(run.id, after=len(seen), limit=7)]
            assert seen == list(range(1, len(seen) + 1))
        for writer in writers:
            writer.result()


def test_of_many_who_register_one_key_at_once_one_does(repository):
    def register(_):
        return repository.create_run(mixture=f"demo@sha256:{DIGEST}", digest=DIGEST, name="a", by="trainer", key="job")

    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(register, range(24)))
    assert [one.is_new for one in done].count(True) == 1
    assert len({one.run.id for one in done}) == len(repository.runs(limit=100)) == 1


def test_a_run_goes_on_under_another_lock_from_a_report_on(repository):
    run, next_digest = create(repository), "cd" * 32
    lock = NextLock(next_digest, f"demo@sha256:{next_digest}", before=DIGEST, parts_at=20)
    report(repository, run, 20)
    done = repository.add_progress(run.id, step=25, loss=None, key="k", by="trainer", lock=lock)
    assert (done.entry.lock, done.entry.lock_before) == (next_digest, DIGEST)
    assert report(repository, run, 25, key="k").entry == done.entry
    report(repository, run, 30)
    found = repository.run(run.id)
    assert (found.digest, found.mixture) == (next_digest, f"demo@sha256:{next_digest}")
    assert repository.lock_changes(run.id, limit=10) == [done.entry]
    assert repository.lock_changes(run.id, limit=0) == []


def test_a_lock_is_not_taken_where_the_run_has_read_further_or_reads_another_one(repository):
    run, far = create(repository), NextLock("cd" * 32, "demo", before=DIGEST, parts_at=19)
    report(repository, run, 20)
    stale = NextLock("cd" * 32, "demo", before="ef" * 32, parts_at=100)
    for lock, code in ((far, "history-differs"), (stale, "run-conflict")):
        with pytest.raises(RepositoryError) as refused:
            repository.add_progress(run.id, step=21, loss=None, key=None, by="trainer", lock=lock)
        assert refused.value.code == code
    assert repository.run(run.id).digest == DIGEST
    assert [entry.seq for entry in repository.progress(run.id, limit=10)] == [1]


def test_a_page_of_reports_is_bounded_by_their_losses_and_the_next_goes_on(repository, monkeypatch):
    monkeypatch.setattr("mixture.api.database.runs.PAGE_BYTES", 1000)
    run = create(repository)
    for step in range(40):
        report(repository, run, step, loss={f"domain {i}": float(step) for i in range(10 if step < 20 else 100)})
    pages = []
    while page := repository.progress(run.id, after=pages[-1][-1] if pages else 0, limit=1000):
        pages.append([entry.seq for entry in page])
    assert [seq for page in pages for seq in page] == list(range(1, 41)), "none is left out"
    assert [len(page) for page in pages[:3]] == [4, 4, 4], "so many fill a page"
    assert [len(page) for page in pages[-20:]] == [1] * 20, "one that fills it alone is there"
    assert [len(repository.progress(run.id, after=40 - n, limit=1000)) for n in (1, 0)] == [1, 0]
    assert [entry.seq for entry in repository.newest_progress(run.id, limit=1000)] == [40]
    assert [entry.seq for entry in repository.newest_progress(run.id, limit=0)] == []


def test_a_page_of_runs_is_bounded_by_the_losses_of_their_last_reports(repository, monkeypatch):
    monkeypatch.setattr("mixture.api.database.runs.PAGE_BYTES", 1000)
    runs = [create(repository) for _ in range(7)]
    for run in runs[1:]:
        report(repository, run, 1, loss={f"domain {i}": 1.0 for i in range(20)})
    listed, before, sizes = [], None, []
    while page := repository.runs(before=before, limit=100):
        listed += [run.id for run in page]
        before = page[-1].number
        sizes.append(len(page))
    assert listed == [run.id for run in reversed(runs)]
    assert sizes == [2, 2, 2, 1]


def test_runs_of_a_mixture_are_told_from_those_of_one_in_other_capitals(repository):
    names = ["demo", "Demo", "DEMO", "demo2", "de%o", "de_o", "dem"]
    for name in names:
        repository.create_run(mixture=f"{name}@sha256:{DIGEST}", digest=DIGEST, name=None, by="trainer")
    for name in names:
        for asked in (name, f"{name}@sha256:{DIGEST}"):
            for found in (repository.runs(mixture=asked, limit=100), repository.runs_ever_of(asked, limit=100)):
                assert [run.mixture.partition("@")[0] for run in found] == [name], asked
    assert repository.runs(mixture="dEMO", limit=100) == []
