"""The score of a text, and the cut-offs between levels."""

from __future__ import annotations

import base64
from collections import Counter

import pytest

from mixture.clusters.quality import FEATURES, Measured, cut_offs, level, score
from mixture.clusters.words import excerpt, words

PROSE = (
    "The committee met in the spring of that year to decide what should be done with the old mill, which had stood "
    "empty since the flood. Some of its members wanted to pull it down, for the roof was gone and the walls were not "
    "safe; others, who had worked there as children, would not hear of it. After a long evening they agreed to ask an "
    "engineer, and to let her judge how much of the building could be saved. She came in June, looked at every beam, "
    "and wrote a report that surprised them all: the foundations were sound, and the wheel could turn again by autumn."
)


def measured(text: str) -> Measured:
    part = excerpt(text)
    found = words(part)
    return Measured(part, found, Counter(found), len(text))


@pytest.mark.parametrize(
    "worse",
    [
        "the mill\n" * 60,
        base64.b64encode(PROSE.encode()).decode(),
        "404 not found 12 34 56 78 | 90 | -- ## 11.22.33.44 " * 10,
        "mill",
        "",
    ],
    ids=["one line again and again", "encoded data", "signs and numbers", "one word", "nothing"],
)
def test_prose_scores_above(worse: str) -> None:
    assert score(measured(PROSE)) > score(measured(worse)) + 0.1


# Without `compression`, which is as the machine's zlib has it.
VALUES = {
    PROSE: {"length": 0.458809, "alphabetic": 1, "stop_words": 1, "variety": 1, "repeated_lines": 1,
            "word_length": 0.943076},
    "the mill\n" * 60: {"length": 0.45298, "alphabetic": 0.90535, "stop_words": 1, "variety": 0, "repeated_lines": 0,
                       "word_length": 0.681818},
    "": {"length": 0, "alphabetic": 0, "stop_words": 0, "variety": 0, "repeated_lines": 1, "word_length": 0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "whole"),
    list(zip(VALUES, (0.936705, 0.461324, 0.166667), strict=True)),
    ids=["prose", "one line again and again", "nothing"],
)
def test_features_and_scores_are_what_they_were(text: str, whole: float) -> None:
    found = {feature.name: feature.value(measured(text)) for feature in FEATURES}
    assert 0 <= found.pop("compression") <= 1
    assert found == pytest.approx(VALUES[text], abs=1e-6)
    assert score(measured(text)) == pytest.approx(whole, abs=0.02)
    assert score(measured(text)) == round(score(measured(text)), 6)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_tells_some_text_from_another(feature) -> None:
    texts = [PROSE, "x = 1\n" * 200, base64.b64encode(bytes(range(256)) * 3).decode(), "", "ab " * 400]
    values = {feature.value(measured(text)) for text in texts}
    assert len(values) > 1
    assert all(0 <= value <= 1 for value in values)


def test_cut_offs_make_levels_of_like_size() -> None:
    scores = [number / 1000 for number in range(1000)]
    offs = cut_offs(scores, 5)
    assert offs == [0.2, 0.4, 0.6, 0.8]
    assert Counter(level(one, offs) for one in scores) == {0: 200, 1: 200, 2: 200, 3: 200, 4: 200}
    assert cut_offs(scores, 1) == []
