"""Lock files: readable, complete, canonical, and refused with a code and a place where they are damaged."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import pytest

from mixture.errors import LockError
from mixture.json_text import digest
from mixture.lock import read_lock, write_lock
from mixture.planning.plan import make_lock, make_plan

PHASES = (
    "{phase: one, share: 50%, weights: {code: 0.25, web: 0.75}}",
    "{phase: two, share: 25%, batch: 16 sequences, weights: {code: 0.25, web: 0.75}}",
    "{phase: three, sequence_length: 32, weights: {code: 1, web: 0}}",
)


@pytest.fixture
def lock(write_spec):
    plan = make_plan(
        write_spec(*PHASES, tokenizer="bytes", budget="{steps: 100, tokens: 1M}", accept="[budget-mismatch]")
    )
    return make_lock(plan, content={"code": "a" * 64})


@pytest.fixture
def path(lock, tmp_path):
    write_lock(lock, tmp_path / "mixture.lock.json")
    return tmp_path / "mixture.lock.json"


def refused(path):
    with pytest.raises(LockError) as caught:
        read_lock(path)
    assert caught.value.place.file == str(path)
    return caught.value


def rewrite(path, change):
    """Changes the fields of a lock and gives it the digest of what it then says."""
    value = json.loads(path.read_text())
    change(value)
    value.pop("digest", None)
    path.write_text(json.dumps(value | {"digest": digest(value)}))


def test_a_lock_that_was_written_reads_back_equal(lock, path):
    again = read_lock(path)
    assert again == lock
    assert again.data == lock.data
    assert again.content == {"code": "a" * 64}
    assert again.schedule() is again.schedule()
    assert again.schedule().rows(0, 800).sequence.tolist() == lock.schedule().rows(0, 800).sequence.tolist()


def test_a_review_sees_one_domain_segment_and_batch_a_line(path):
    lines = path.read_text().splitlines()
    assert [line for line in lines if '"name": "code"' in line] == [
        f'    {{"name": "code", "tokens": 1000000, "content": "{"a" * 64}"}},'
    ]
    assert sum('"weights"' in line for line in lines) == 2
    assert sum('"sequences"' in line for line in lines) == 3
    assert lines[2] == '  "features": [],'
    assert path.read_bytes().endswith(b"}\n")


def test_phases_that_are_one_segment_keep_their_names(lock):
    assert [(p.name, p.first_step, p.steps) for p in lock.phases] == [
        ("one", 0, 50),
        ("two", 50, 25),
        ("three", 75, 25),
    ]
    assert [(s.first_step, s.steps) for s in lock.data.segments] == [(0, 75), (75, 25)]


def test_white_space_does_not_matter(path, lock):
    path.write_text(json.dumps(json.loads(path.read_text()), indent=7, sort_keys=True))
    assert read_lock(path) == lock


def test_writing_over_a_lock_leaves_one_whole_file(path, lock):
    write_lock(lock, path)
    assert sorted(file.name for file in path.parent.iterdir() if "lock" in file.name) == [path.name]
    assert read_lock(path) == lock


def test_a_lock_that_can_not_be_written_leaves_what_was_there(lock, tmp_path):
    (tmp_path / "folder.json").mkdir()
    for target in (tmp_path / "folder.json", tmp_path / "missing" / "lock.json", "/", ".", "", "a\0b", "x" * 300):
        with pytest.raises(LockError) as caught:
            write_lock(lock, target)
        assert caught.value.code == "lock-not-written"
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(".tmp")]


def test_a_lock_cut_anywhere_is_refused(path):
    whole = path.read_bytes()
    for size in (0, 1, len(whole) // 3, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:size])
        assert refused(path).code == "lock-not-json"


def test_a_changed_figure_is_refused_by_the_digest(path):
    path.write_text(path.read_text().replace('"tokens": 1000000', '"tokens": 1000001', 1))
    error = refused(path)
    assert (error.code, error.place.path) == ("lock-digest", "digest")


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff\x13" * 100,
        b"\xef\xbb\xbf{}",
        b"not json",
        b'{"format": 1, "format": 1}',
        b'{"format": 1.0}',
        b'{"format": 1, "seed": NaN}',
        b'{"format": 1, "seed": -Infinity}',
        b'{"format": 1, "seed": 1e400}',
        b'{"format": 1, "seed": ' + b"9" * 5_000 + b"}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
    ],
    ids=["binary", "mark", "text", "twice", "float", "nan", "infinity", "exponent", "digits", "lists", "objects"],
)
def test_what_is_not_json_of_exact_integers_is_refused(path, data):
    path.write_bytes(data)
    assert refused(path).code == "lock-not-json"


@pytest.mark.parametrize(
    "text",
    [
        "mixture: x\nphases:\n  - {phase: a}\n",
        "# a run\nphases: []\nmixture : x\nformat: 1\n",
        '{"mixture": "x", "budget": 5, "phases": []}',
    ],
)
def test_a_spec_is_said_to_be_one(path, text):
    path.write_text(text)
    error = refused(path)
    assert (error.code, error.message) == ("not-a-lock", "this is a spec")
    assert "`mixture plan` shows it" in error.hint


@pytest.mark.parametrize("text", ["[]", "3", '"lock"', "null", "true"])
def test_json_that_is_not_an_object_is_refused(path, text):
    path.write_text(text)
    assert refused(path).code == "lock-field"


@pytest.mark.parametrize("found", [None, 0, 2, "1", True, [1]])
def test_another_format_is_refused(path, found):
    rewrite(path, lambda value: value.update(format=found))
    assert refused(path).code == "lock-format"


def test_a_lock_from_before_the_first_release_is_refused_by_name(path):
    rewrite(path, lambda value: value.pop("features"))
    error = refused(path)
    assert error.code == "lock-outdated"
    assert "before the first release" in error.message
    assert "lock the spec again" in error.hint


def test_a_lock_that_needs_features_is_refused_with_their_names(path):
    rewrite(path, lambda value: value.update(features=["images", "sound"]))
    error = refused(path)
    assert (error.code, error.place.path) == ("lock-feature", "features")
    assert "'images' and 'sound'" in error.message


@pytest.mark.parametrize("features", [{}, "images", 3, [3], False])
def test_features_that_are_no_list_of_names_are_refused(path, features):
    rewrite(path, lambda value: value.update(features=features))
    assert refused(path).code in ("lock-field", "lock-feature")


def test_every_field_is_needed_and_no_other_is_known(path):
    whole = json.loads(path.read_text())
    for key in whole.keys() - {"format", "features"}:
        path.write_text(json.dumps({k: v for k, v in whole.items() if k != key}))
        error = refused(path)
        assert (error.code, error.place.path) == ("lock-field", key)
    for holder in ("phases", "batches", "segments", "domains", "check", "accepted"):
        for key in whole[holder][0].keys() - {"content"}:
            changed = copy.deepcopy(whole)
            del changed[holder][0][key]
            path.write_text(json.dumps(changed))
            error = refused(path)
            assert (error.code, error.place.path) == ("lock-field", f"{holder}[0].{key}")
    rewrite(path, lambda value: value.update(comment="hello"))
    assert refused(path).code == "lock-field"


@pytest.mark.parametrize("bad", [-1, "7", True, None, [], {}, 1 << 70])
@pytest.mark.parametrize("field", ["seed", "block_tokens", "segments.steps", "domains.tokens", "batches.sequences"])
def test_wrong_types_and_ranges_are_refused_by_path(path, field, bad):
    holder, _, key = field.rpartition(".")

    def change(value):
        (value[holder][0] if holder else value)[key] = bad

    rewrite(path, change)
    error = refused(path)
    assert error.code == "lock-field"
    assert error.place.path == (f"{holder}[0].{key}" if holder else key)


def _split_segment(value):
    first = value["segments"][0]
    second = dict(first, first_step=40, steps=first["steps"] - 40)
    value["segments"][:1] = [dict(first, steps=40), second]


def _split_batch(value):
    value["batches"].insert(1, dict(value["batches"][0], first_step=10))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_split_segment, "lock-not-canonical"),
        (_split_batch, "lock-not-canonical"),
        (lambda value: value["segments"][1].update(skip=0), "lock-field"),
        (lambda value: value["segments"][1].update(skip=None), "lock-not-canonical"),
        (lambda value: value["segments"][1].update(steps=0), "lock-field"),
        (lambda value: value["segments"][1].update(skip=5), "lock-not-canonical"),
        (lambda value: value["segments"][1].update(first_step=76), "lock-not-canonical"),
        (lambda value: value["segments"][1].update(sequence_length=48), "lock-not-canonical"),
        (lambda value: value["segments"][1]["weights"].append(0), "lock-not-canonical"),
        (lambda value: value["segments"][1].update(weights=[10**15 - 1, 0]), "lock-not-canonical"),
        (lambda value: value["domains"][0].update(pool_tokens=1_000_000), "lock-not-canonical"),
        (lambda value: value["domains"][0].update(tokens=0), "lock-not-canonical"),
        (lambda value: value["domains"][1].update(name="code"), "lock-not-canonical"),
        (lambda value: value["domains"][1].update(name="a\u001fb"), "lock-field"),
        (lambda value: value["domains"][1].update(name="a\u2028b"), "lock-field"),
        (lambda value: value["phases"][1].update(first_step=51), "lock-not-canonical"),
        (lambda value: value["phases"][1].update(name="one"), "lock-not-canonical"),
        (lambda value: value["phases"].pop(), "lock-not-canonical"),
        (lambda value: value.update(seed=1), "lock-self-check"),
        (lambda value: value["check"].pop(), "lock-self-check"),
        (lambda value: value["check"][3].update(sequence=5), "lock-self-check"),
    ],
)
def test_a_lock_with_a_right_digest_that_is_not_canonical_or_not_its_own_order_is_refused(path, change, code):
    rewrite(path, change)
    assert refused(path).code == code


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"name": "web"', '"name": "\\ud800"', "lock-field"),
        (f'"content": "{"a" * 64}"', '"content": "\\udfff"', "lock-not-json"),
        ('"facts": {', '"facts": {"\\ud800": 1, ', "lock-not-json"),
        ('"facts": {', '"facts": {"note": "\\ud800", ', "lock-not-json"),
    ],
)
def test_half_a_character_is_refused_wherever_it_stands(path, old, new, code):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert refused(path).code == code


@pytest.mark.parametrize("name", ["web@validation", "web@sha256:0123"])
def test_a_lock_that_would_draw_from_held_out_text_is_refused_whoever_made_it(path, name):
    def change(value):
        value["domains"][1]["name"] = name
        for row in value["check"]:
            row["domain"] = row["domain"].replace("web", name)

    rewrite(path, change)
    error = refused(path)
    assert (error.code, error.place.path) == ("lock-field", "domains[1].name")
    assert "held out" in error.message


@pytest.mark.parametrize(
    ("change", "number"),
    [(lambda rows: rows[:3], 3), (lambda rows: [], 0), (lambda rows: [*rows, rows[-1]], 9)],
)
def test_a_lock_that_keeps_another_number_of_positions_is_told_the_numbers(path, change, number):
    rewrite(path, lambda value: value.update(check=change(value["check"])))
    error = refused(path)
    assert error.code == "lock-self-check"
    assert error.message == f"the lock keeps {number} positions, a lock of this run keeps 8"


def test_a_lock_whose_schedule_gives_another_row_is_told_both_rows(path, lock):
    kept = lock.check[3]
    rewrite(path, lambda value: value["check"][3].update(sequence=kept.sequence + 1))
    rows = [f"sequence {number}, at position {kept.position}" for number in (kept.sequence + 1, kept.sequence)]
    message = refused(path).message
    assert message.index(rows[0]) < message.index(rows[1])


def test_missing_files_and_folders_are_refused(tmp_path):
    assert refused(tmp_path / "none.json").code == "lock-missing"
    for path in (tmp_path, tmp_path / "a\0b", Path("/"), Path(), tmp_path / ("x" * 300)):
        assert refused(path).code == "lock-unreadable"


def test_a_file_too_large_to_be_a_lock_is_refused(tmp_path):
    with (tmp_path / "huge.json").open("wb") as file:
        os.truncate(file.fileno(), (1 << 28) + 1)
    assert refused(tmp_path / "huge.json").code == "lock-too-large"
