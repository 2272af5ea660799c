"""Quality from what can be measured of a text: features from 0 to 1, a score, and cut-offs between the levels."""

from __future__ import annotations

import math
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mixture.clusters.words import STOP_WORDS, excerpt, words

_WORDS_FOR_VARIETY = 400  # of more words, fewer are new
ABOUT = (
    "A feature is 1 inside its good range, 0 outside of its possible one, and linear between. The score is their "
    "weighted mean, rounded to six digits; level 0 is the lowest. The features are measured on at most 8,192 "
    "characters of a document, and know nothing of what it says. They prefer English prose: code, lists, tables and "
    "other languages score lower, however good they are."
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the features look at: a document's excerpt, its words, how often each is there, the whole's characters."""

    excerpt: str
    words: list[str]
    counted: Mapping[str, int]
    characters: int


def measure(text: str) -> Measured:
    """What the features look at of a document's text."""
    looked_at = excerpt(text)
    found = words(looked_at)
    return Measured(looked_at, found, Counter(found), len(text))


@dataclass(frozen=True, slots=True)
class Feature:
    """A figure of a document and the range (lowest possible, good from, good to, highest possible) that is good."""

    name: str
    about: str
    weight: int
    figure: Callable[[Measured], float]
    ramp: tuple[float, float, float, float]

    def value(self, measured: Measured) -> float:
        """From 0 to 1."""
        low, good, still_good, high = self.ramp
        figure = self.figure(measured)
        if figure < good:
            return max(0.0, (figure - low) / (good - low))
        if figure > still_good:
            return max(0.0, (high - figure) / (high - still_good))
        return 1.0


def _alphabetic(measured: Measured) -> float:
    in_words = sum(map(len, measured.words)) + measured.excerpt.count(" ")
    return in_words / max(1, len(measured.excerpt))


def _stop_words(measured: Measured) -> float:
    found = sum(measured.counted[word] for word in STOP_WORDS & measured.counted.keys())
    return found / max(1, len(measured.words))


def _variety(measured: Measured) -> float:
    looked_at = measured.words[:_WORDS_FOR_VARIETY]
    return len(set(looked_at)) / max(1, len(looked_at))


def _compression(measured: Measured) -> float:
    data = measured.excerpt.encode()
    return len(zlib.compress(data, 1)) / max(1, len(data))


def _repeated_lines(measured: Measured) -> float:
    lines = Counter(line for line in map(str.strip, measured.excerpt.splitlines()) if len(line) > 3)
    whole = sum(len(line) * count for line, count in lines.items())
    return sum(len(line) * (count - 1) for line, count in lines.items()) / max(1, whole)


def _word_length(measured: Measured) -> float:
    return sum(map(len, measured.words)) / max(1, len(measured.words))


def _length(measured: Measured) -> float:
    return math.log2(max(1, measured.characters))


# The good ranges are those of edited English prose, and narrow, so that few documents reach 1 in all of them.
FEATURES = (
    Feature("length", "log2 of characters, good from 14", 2, _length, (5, 14, 64, 65)),
    Feature("alphabetic", "share of characters in words, and spaces; good from 0.94", 3, _alphabetic,
            (0.4, 0.94, 1, 2)),
    Feature("stop_words", "share of words that are English stop words, good from 0.5", 4, _stop_words, (0, 0.5, 1, 2)),
    Feature("variety", "different words by words, of the first 400; good from 0.6", 2, _variety, (0.1, 0.6, 1, 2)),
    Feature("compression", "size after zlib by size before, good from 0.45 to 0.6", 3, _compression,
            (0.05, 0.45, 0.6, 1)),
    Feature("repeated_lines", "share of text in lines that stood before, good at 0", 3, _repeated_lines,
            (-2, -1, 0, 0.5)),
    Feature("word_length", "mean letters of a word, good from 4.2 to 5.6", 1, _word_length, (2, 4.2, 5.6, 12)),
)  # fmt: skip
_WHOLE = sum(feature.weight for feature in FEATURES)


def score(measured: Measured) -> float:
    """The weighted mean of the features, from 0 to 1."""
    return round(sum(feature.weight * feature.value(measured) for feature in FEATURES) / _WHOLE, 6)


def cut_offs(scores: Sequence[float], levels: int) -> list[float]:
    """The scores from which the levels above 0 begin, so that each has about as many of these documents."""
    ordered = sorted(scores)
    return [ordered[len(ordered) * level // levels] for level in range(1, levels)]


def level(score: float, cut_offs: Sequence[float]) -> int:
    """The level of a score, from 0."""
    return bisect_right(cut_offs, score)
