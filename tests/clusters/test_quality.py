"""The score of a text, and the cut-offs between levels."""

from __future__ import annotations

import base64
import sysconfig
from collections import Counter
from pathlib import Path

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


def test_a_text_scores_the_same_each_time_from_0_to_1() -> None:
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:80]:
        text = path.read_text(encoding="utf-8")
        assert 0 <= score(measured(text)) <= 1
        assert score(measured(text)) == score(measured(text))


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
