"""JSON from outside is read strictly, and what is wrong is said in one way."""

from __future__ import annotations

import math

import pytest

from mixture.json_text import JsonError, finite, parse_json


def test_values_are_those_of_json():
    assert parse_json('{"a": [1, 2.5, null, "é"]}'.encode()) == {"a": [1, 2.5, None, "é"]}
    assert parse_json("1e999") == math.inf
    assert [str(parse_json(word)) for word in ("NaN", "Infinity", "-Infinity")] == ["nan", "inf", "-inf"]
    assert parse_json("[1, -2.5e3]", number=finite) == [1, -2500.0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "the key 'c' is in an object twice"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        (b"\xef\xbb\xbf1", "Unexpected UTF-8 BOM (decode using utf-8-sig)"),
        ('"a"'.encode("utf-16"), "byte 0 is not UTF-8"),
        ("[" * 100_000, "objects and lists are nested too deeply"),
        ("9" * 5000, "Exceeds the limit"),
        ("", "Expecting value"),
    ],
)
def test_what_is_not_strict_json_is_refused(data: bytes | str, reason: str):
    with pytest.raises(JsonError) as caught:
        parse_json(data)
    assert caught.value.reason.startswith(reason)
    assert caught.value.key == ("c" if "twice" in reason else None)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_may_be_refused(word: str):
    with pytest.raises(JsonError, match=f"{word} is not a number"):
        parse_json(f'{{"a": [{word}]}}', number=finite)


def test_the_place_of_what_breaks_the_grammar_is_said():
    with pytest.raises(JsonError) as caught:
        parse_json('{"a": 1,\n "b" 2}')
    assert (caught.value.line, caught.value.column) == (2, 6)
