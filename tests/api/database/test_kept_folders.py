"""Mixtures of folders: kept by their digests, in the history of their names, beside what was published under them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mixture.api.database import Change, Repository, RepositoryError, Source, write_digest


def publish(repository, name, bundle, *, expected=None):
    return repository.publish(name, bundle, expected=expected, if_new=False, by="ann")


def moves(repository, name):
    return [
        (move.revision, move.from_digest, move.to_digest, move.by) for move in repository.name_history(name, limit=100)
    ]


def objects(repository):
    return {path.name for path in repository.objects.folder.rglob("*") if path.is_file()}


def test_each_mixture_that_a_folder_was_is_kept_and_in_the_history_of_its_name(repository, bundles):
    first, second = bundles[:2]
    for bundle in (first, first, second, first):
        assert repository.keep("demo", bundle) is None
    a, b = first.digest, second.digest
    assert moves(repository, "demo") == [(1, None, a, None), (2, a, b, None), (3, b, a, None)]
    for bundle in (first, second):
        record = repository.get(f"demo@{write_digest(bundle.digest)}")
        assert (record.name, record.source, record.digest) == ("demo", Source.BUILTIN, bundle.digest)
        assert repository.bundle(bundle.digest) == bundle
        assert repository.get(write_digest(bundle.digest)).name == "demo"


def test_a_name_that_only_folders_had_points_to_nothing_and_is_free(repository, bundles):
    repository.keep("demo", bundles[0])
    with pytest.raises(RepositoryError) as caught:
        repository.get("demo")
    assert caught.value.code == "unknown-mixture"
    assert repository.names(limit=10) == []
    with pytest.raises(RepositoryError) as caught:
        publish(repository, "demo", bundles[1], expected=bundles[0].digest)
    assert caught.value.code == "name-conflict"
    assert publish(repository, "demo", bundles[1]).change is Change.CREATED
    assert [move[0] for move in moves(repository, "demo")] == [1, 2]


def test_what_was_published_stays_under_a_folder_of_its_name_which_says_what_it_hides(repository, bundles):
    published, own, other = bundles[:3]
    publish(repository, "demo", published)
    assert repository.keep("demo", published) is None
    assert repository.keep("demo", own) == published.digest
    assert repository.keep("demo", own) == published.digest
    record = repository.get("demo")
    assert (record.digest, record.source, record.by) == (published.digest, Source.PUBLISHED, "ann")
    assert repository.get(f"demo@{write_digest(own.digest)}").source is Source.BUILTIN
    assert publish(repository, "demo", other, expected=published.digest).change is Change.MOVED
    assert [move[2] for move in moves(repository, "demo")] == [published.digest, own.digest, other.digest]
    assert [record.digest for record in repository.names(limit=10)] == [other.digest]


def test_a_mixture_from_a_folder_that_is_published_says_by_whom(repository, bundles):
    repository.keep("demo", bundles[0])
    publish(repository, "mine", bundles[0])
    record = repository.get("mine")
    assert (record.source, record.by) == (Source.PUBLISHED, "ann")
    assert repository.get(write_digest(bundles[0].digest)).name == "mine"


def test_copies_that_keep_the_same_folder_at_once_write_one_line(repository, bundles, database_url, tmp_path):
    other = Repository.open(tmp_path / "data", database_url)
    with ThreadPoolExecutor(8) as threads:
        for bundle in bundles[:3]:
            list(threads.map(lambda i, kept=bundle: (repository, other)[i % 2].keep("demo", kept), range(16)))
    assert [move[2] for move in moves(repository, "demo")] == [bundle.digest for bundle in bundles[:3]]
    other.close()


def test_what_is_refused_and_what_is_there_already_leaves_no_bytes(repository, bundles):
    publish(repository, "demo", bundles[0])
    before = objects(repository)
    for options in ({}, {"expected": bundles[2].digest}):
        with pytest.raises(RepositoryError):
            publish(repository, "demo", bundles[1], **options)
    reworded = replace(bundles[0], spec=b"the same, said otherwise")
    assert publish(repository, "demo", reworded).change is Change.UNCHANGED
    assert publish(repository, "other", reworded).change is Change.CREATED
    repository.keep("third", reworded)
    assert objects(repository) == before
    assert repository.bundle(bundles[0].digest) == bundles[0]


def test_publishing_again_mends_what_is_damaged(repository, bundles):
    publish(repository, "demo", bundles[0])
    for path in repository.objects.folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"damaged")
    publish(repository, "demo", bundles[0])
    assert repository.bundle(bundles[0].digest) == bundles[0]
