"""Mixtures stay as they were published; a name is moved by whoever knows what it replaces, one at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from mixture.api.database import Change, Repository, RepositoryError, write_digest


def publish(repository, name, bundle, *, expected=None, if_new=False, by="someone"):
    return repository.publish(name, bundle, expected=expected, if_new=if_new, by=by)


def code_of(call, *arguments, **options):
    with pytest.raises(RepositoryError) as caught:
        call(*arguments, **options)
    return caught.value.code


def test_what_was_published_is_given_back_whole(repository, bundles):
    published = publish(repository, "demo", bundles[3])
    assert (published.change, published.digest, published.replaced) == (Change.CREATED, bundles[3].digest, None)
    assert repository.bundle(bundles[3].digest) == bundles[3]
    record = repository.get("demo")
    assert (record.digest, record.name, record.mixture, record.tokens) == (
        bundles[3].digest, "demo", "mixture 3", 2**62 + 3,
    )  # fmt: skip
    assert record.published.utcoffset().total_seconds() == 0


def test_publishing_the_same_again_changes_nothing(repository, bundles):
    publish(repository, "demo", bundles[0], by="first")
    for options in ({}, {"if_new": True}, {"expected": bundles[0].digest}, {"expected": bundles[1].digest}):
        again = publish(repository, "demo", bundles[0], by="second", **options)
        assert (again.change, again.replaced) == (Change.UNCHANGED, None)
    assert [(move.revision, move.by) for move in repository.name_history("demo", limit=10)] == [(1, "first")]
    assert repository.get("demo").by == "first"


def test_moving_a_name_needs_the_digest_that_it_replaces(repository, bundles):
    first, second, third = bundles[:3]
    publish(repository, "demo", first, by="ann")
    assert code_of(publish, repository, "demo", second) == "digest-required"
    assert code_of(publish, repository, "demo", second, expected=third.digest) == "name-conflict"
    assert code_of(publish, repository, "demo", second, if_new=True) == "name-conflict"
    assert code_of(publish, repository, "other", second, expected=first.digest) == "name-conflict"
    assert repository.get("demo").digest == first.digest
    assert code_of(repository.get, write_digest(second.digest)) == "unknown-mixture", "nothing of a refusal stays"
    moved = publish(repository, "demo", second, expected=first.digest, by="bob")
    assert (moved.change, moved.replaced) == (Change.MOVED, first.digest)
    back = publish(repository, "demo", first, expected=second.digest, by="cy")
    assert back.change is Change.MOVED
    history = repository.name_history("demo", limit=10)
    assert [(move.revision, move.from_digest, move.to_digest, move.by) for move in history] == [
        (1, None, first.digest, "ann"),
        (2, first.digest, second.digest, "bob"),
        (3, second.digest, first.digest, "cy"),
    ]
    assert [move.revision for move in repository.name_history("demo", after=1, limit=1)] == [2]
    assert repository.bundle(second.digest) == second, "what no name points to any more is still there"


def test_the_conflict_says_what_the_name_points_to(repository, bundles):
    publish(repository, "demo", bundles[0])
    with pytest.raises(RepositoryError, match=bundles[0].digest) as caught:
        publish(repository, "demo", bundles[1], expected=bundles[2].digest)
    assert caught.value.facts["current"] == write_digest(bundles[0].digest)


def test_a_digest_goes_with_the_names_that_pointed_to_it_and_with_no_other(repository, bundles):
    first, second = bundles[:2]
    publish(repository, "demo", first)
    publish(repository, "other", second)
    publish(repository, "demo", second, expected=first.digest)
    assert repository.get(f"demo@{write_digest(first.digest)}").digest == first.digest
    assert repository.get(f"demo@{write_digest(second.digest)}").digest == second.digest
    assert code_of(repository.get, f"other@{write_digest(first.digest)}") == "unknown-mixture"
    assert repository.get(write_digest(second.digest)).name == "demo", "the first in order of those that pointed to it"
    assert code_of(repository.get, "nothing") == "unknown-mixture"
    assert code_of(repository.name_history, "nothing", limit=10) == "unknown-mixture"
    assert code_of(repository.bundle, "0" * 64) == "unknown-mixture"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a@b", "-a", "a b", "é", "a\n", "a\0", "x" * 101, "demo.json", "demo.CSV", "a%2fb"]
)
def test_names_that_could_be_taken_for_something_else_are_refused(repository, bundles, name):
    assert code_of(publish, repository, name, bundles[0]) == "name-invalid"

    assert repository.names(limit=10) == []


@pytest.mark.parametrize("ref", ["", "demo@", "demo@sha256:", "demo@sha256:" + "A" * 64, "sha256:00", "a@sha256:b@c"])
def test_references_that_say_nothing_are_refused(repository, ref):
    assert code_of(repository.get, ref) == "ref-invalid"


def test_names_are_listed_by_code_points_and_in_pages_that_neither_skip_nor_repeat(repository, bundles):
    names = ["a", "B", "x", "a-b", "a.b", "ab", "Z", "z", "10", "9"]
    for name, bundle in zip(names, bundles, strict=True):
        publish(repository, name, bundle)
    found, after = [], None
    while page := repository.names(after=after, limit=3):
        found += [record.name for record in page]
        after = page[-1].name
    assert found == sorted(names)
    assert {record.name: record.digest for record in repository.names(limit=100)} == {
        name: bundle.digest for name, bundle in zip(names, bundles, strict=True)
    }


def test_of_many_who_create_a_name_at_once_one_wins(repository, bundles):
    def create(bundle):
        try:
            return publish(repository, "contested", bundle, if_new=True).change
        except RepositoryError as error:
            return error.code

    with ThreadPoolExecutor(10) as threads:
        outcomes = list(threads.map(create, bundles))
    assert sorted(outcomes) == sorted([Change.CREATED, *["name-conflict"] * 9])
    (move,) = repository.name_history("contested", limit=10)
    assert move.to_digest == bundles[outcomes.index(Change.CREATED)].digest


def test_of_many_who_move_a_name_at_once_each_digest_is_replaced_by_one(repository, bundles, database_url, tmp_path):
    """Two copies of the repository; everyone tries to move the name from what it last saw, until it was its turn."""
    other = Repository.open(tmp_path / "data", database_url)
    publish(repository, "contested", bundles[0])
    conflicts = []

    def move(number):
        mine = (repository, other)[number % 2]
        while True:
            seen = mine.get("contested").digest
            to = next(bundle for bundle in bundles[number:] + bundles if bundle.digest != seen)
            try:
                if publish(mine, "contested", to, expected=seen, by=f"{number}").change is Change.MOVED:
                    return
            except RepositoryError as error:
                conflicts.append(error.code)

    with ThreadPoolExecutor(10) as threads:
        list(threads.map(move, [i % 10 for i in range(60)]))
    history = repository.name_history("contested", limit=1000)
    assert [move.revision for move in history] == list(range(1, 62)), "every move is there, once"
    assert all(a.to_digest == b.from_digest for a, b in pairwise(history))
    assert other.get("contested").digest == history[-1].to_digest
    assert set(conflicts) == {"name-conflict"}, "they did meet, and nothing else went wrong"
    other.close()
