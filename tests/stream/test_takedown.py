"""From a file of what is to be taken down to masks."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from stream_helpers import DOMAINS, lock_over, make_store, with_masks

from mixture.data.store import Store
from mixture.errors import AmendError, StoreError, StreamError
from mixture.lock.lock import Mask
from mixture.lock.masks import in_order, mask_faults
from mixture.planning.amend import amend
from mixture.stream import open_stream
from mixture.stream.trace.takedown import masks_of


def written(folder: Path, *lines: object) -> Path:
    file = folder / "down.txt"
    file.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines), encoding="utf-8")
    return file


def place_of(store: Store, identity: str) -> tuple[int, int]:
    (row,) = store.document(identity).to_pylist()
    return row["first_token"], row["tokens"]


def test_each_kind_of_line_takes_down_what_it_says_without_the_end_of_a_document(
    store: Store, make, tmp_path: Path
) -> None:
    lines = [
        "web-3",
        "",
        {"document": "code-7"},
        {"domain": "notes", "document": "notes-2"},
        {"domain": "web", "first_token": 0, "tokens": 2},
    ]
    lock = make()
    masks = masks_of(store, written(tmp_path, *lines), 25, lock)
    documents = [("code", "code-7"), ("notes", "notes-2"), ("web", "web-3")]
    places = [(domain, *place_of(store, identity)) for domain, identity in documents]
    expected = [Mask(25, domain, first, tokens - 1) for domain, first, tokens in places]
    assert masks == in_order(lock.data, [*expected, Mask(25, "web", 0, 2)])
    for mask, (domain, first, tokens) in zip(expected, places, strict=True):
        assert store.read(domain, first, tokens)[mask.tokens] == store.end_of_document


def test_no_token_of_a_document_that_was_taken_down_is_read_again(store: Store, make, tmp_path: Path) -> None:
    plain = make(steps=120)
    gone = random.Random(1).sample(sorted(DOMAINS["web"]), 20)
    lock = with_masks(plain, *masks_of(store, written(tmp_path, *gone), 40, plain))
    down = np.zeros(store.domains["web"].tokens, np.bool_)
    for identity in gone:
        first, tokens = place_of(store, identity)
        down[first : first + tokens - 1] = True
    assert [*mask_faults(lock.data, lock.masks)] == []
    read = 0
    for batch in open_stream(lock, store, first_step=40):
        assert batch.masked is not None
        for d, first, row in zip(batch.domain, batch.first_token, batch.masked, strict=True):
            expected = down[first : first + 64] if d == 2 else np.zeros(64, np.bool_)
            assert np.array_equal(row, expected)
            read += np.count_nonzero(expected)
    assert read


def test_a_checkpoint_of_the_step_of_a_takedown_goes_on_under_it_and_a_later_one_says_why_not(
    store: Store, make, tmp_path: Path
) -> None:
    plain = make()
    everything = [{"domain": one.name, "first_token": 0, "tokens": one.tokens} for one in plain.data.domains]
    lock = amend(plain, 20, masks=masks_of(store, written(tmp_path, *everything), 20, plain))
    stream = open_stream(lock, store)
    stream.load_state_dict(open_stream(plain, store, first_step=20).state_dict())
    first = next(stream)
    assert first.step == 20
    assert first.masked is not None
    assert first.masked.all()
    with pytest.raises(StreamError, match="masks are not those") as caught:
        open_stream(lock, store).load_state_dict(open_stream(plain, store, first_step=21).state_dict())
    assert caught.value.code == "content-differs"


def test_a_document_in_several_places_is_taken_down_in_all_or_in_the_domain_that_is_said(tmp_path: Path) -> None:
    text = "the same text in many places " * 3
    held = {"a": {"x": text, "one": "one " * 200}, "b": {"x": text, "two": "two " * 200}, "c": {"x": text}}
    store = make_store(tmp_path / "made", held)
    keys = {"tokenizer": "bytes", "sequence_length": "64", "batch": "4 sequences", "budget": "9 steps"}
    lock = lock_over(store, tmp_path / "spec", "  - phase: p\n    weights: {a: 50%, b: 50%}", **keys)
    everywhere = masks_of(store, written(tmp_path, "x"), 3, lock)
    known = [name for name in ("a", "b", "c") if name in lock.schedule().names]
    assert [mask.domain for mask in everywhere] == known
    assert {mask.tokens for mask in everywhere} == {len(text.encode())}
    assert [mask.domain for mask in masks_of(store, written(tmp_path, {"domain": "b", "document": "x"}), 3, lock)] == [
        "b"
    ]


def test_ranges_are_joined_and_what_is_down_already_is_left_out(store: Store, make, tmp_path: Path) -> None:
    lock = with_masks(make(), Mask(10, "web", 50, 10), Mask(12, "web", 70, 10))

    def down(first: int, tokens: int) -> dict[str, object]:
        return {"domain": "web", "first_token": first, "tokens": tokens}

    file = written(tmp_path, down(100, 10), down(45, 20), down(45, 20), down(60, 30), down(110, 5))
    masks = masks_of(store, file, 20, lock)
    assert masks == (Mask(20, "web", 45, 5), Mask(20, "web", 60, 10), Mask(20, "web", 80, 10), Mask(20, "web", 100, 15))
    assert [*mask_faults(lock.data, in_order(lock.data, lock.masks + masks))] == []
    assert masks_of(store, written(tmp_path, down(52, 3)), 20, lock) == ()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("web-3000", "unknown-document"),
        ("web-3 ", "unknown-document"),
        ({"document": "nowhere"}, "unknown-document"),
        ({"domain": "code", "document": "web-3"}, "unknown-document"),
        ({"domain": "wbe", "document": "web-3"}, "unknown-domain"),
        ({"domain": "wbe", "first_token": 1, "tokens": 1}, "unknown-domain"),
        ({"domain": "web", "first_token": 1, "tokens": 10**9}, "range-outside"),
        ({"domain": "web", "first_token": 1, "tokens": 0}, "mask-file-invalid"),
        ({"domain": "web", "first_token": -1, "tokens": 5}, "mask-file-invalid"),
        ({"domain": "web", "first_token": 1.5, "tokens": 5}, "mask-file-invalid"),
        ({"domain": "web", "tokens": 5}, "mask-file-invalid"),
        ({"domain": "web", "document": "web-3", "tokens": 5}, "mask-file-invalid"),
        ({"document": 7}, "mask-file-invalid"),
        ({}, "mask-file-invalid"),
        ("{web-3", "mask-file-invalid"),
        ('{"document": "web-3", "document": "web-4"}', "mask-file-invalid"),
        ({"domain": "web", "first_token": 0, "tokens": 200}, "mask-begins-later"),
    ],
)
def test_a_line_that_can_not_be_taken_down_is_named(
    store: Store, make, tmp_path: Path, line: object, code: str
) -> None:
    file = written(tmp_path, "web-3", "", line, "web-4")
    lock = with_masks(make(), Mask(35, "web", 100, 40))
    with pytest.raises(AmendError) as caught:
        masks_of(store, file, 20, lock)
    assert caught.value.code == code
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line) == (str(file), 3)


def test_a_file_that_is_none_is_named(store: Store, make, tmp_path: Path) -> None:
    with pytest.raises(AmendError) as caught:
        masks_of(store, tmp_path / "none", 20, make())
    assert caught.value.code == "mask-file-missing"
    (tmp_path / "latin").write_bytes(b"\xe9t\xe9\n")
    with pytest.raises(AmendError) as caught:
        masks_of(store, tmp_path / "latin", 20, make())
    assert caught.value.code == "mask-file-invalid"


def test_ids_of_windows_files_and_of_editors_that_mark_utf_8_are_read(store: Store, make, tmp_path: Path) -> None:
    (tmp_path / "down").write_bytes("\ufeffweb-3\r\nweb-4\r\n\r\n".encode())
    lock = make()
    assert masks_of(store, tmp_path / "down", 5, lock) == masks_of(store, written(tmp_path, "web-4", "web-3"), 5, lock)


def test_a_store_that_is_not_the_lock_s_resolves_nothing(store: Store, make, tmp_path: Path) -> None:
    other = make_store(tmp_path / "other", DOMAINS | {"web": {"web-3": "short"}})
    with pytest.raises(StoreError):
        masks_of(other, written(tmp_path, "web-3"), 20, make())
