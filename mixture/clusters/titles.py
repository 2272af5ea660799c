"""Titles and top terms of clusters, by class-based TF-IDF: what many of its documents say and few of the others'.

(Grootendorst 2022: the share of a term in a class by its frequency over all classes.) Terms are counted once a
document, so that one long document does not name its cluster.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from mixture.clusters.words import CODE_WORDS, is_wide

TERMS = 12
_LEAST = 2  # documents that have a term
_CONTENT_WORDS = 4
_FEWEST_WORDS = 3
_CANDIDATES = 60
_SHORTEST = 3  # letters of a word
_NO_NAME = re.compile(r"\w{2,}([^e]ed|lly)")  # asked, founded, especially; not speed
_PAIR = 1.15  # a pair of words says more than its rarer word, where nearly as many documents have it


def ranked(phrases: Mapping[str, Mapping[str, int]], documents: Mapping[str, int]) -> dict[str, list[str]]:
    """For each cluster its terms, the most telling first; ties by term.

    phrases: by cluster, in how many of its documents each term stands; documents: how many were looked at
    """
    whole: Counter[str] = Counter()
    for counted in phrases.values():
        whole.update(counted)
    total = sum(documents.values())
    made = {}
    for cluster, counted in phrases.items():
        looked_at = max(1, documents.get(cluster, 0))
        least = min(_LEAST, looked_at)
        scores = {
            term: count / looked_at * math.log(1 + total / whole[term]) * (_PAIR if " " in term else 1)
            for term, count in counted.items()
            if count >= least and _tells(term)
        }
        made[cluster] = sorted(scores, key=lambda term: (-scores[term], term))[:_CANDIDATES]
    return made


def _tells(term: str) -> bool:
    """Whether a term can stand in a title: no mark of a format, no word that programs are built of."""
    if is_wide(term):
        return len(term) > 1
    return all(len(word) >= _SHORTEST and word not in CODE_WORDS for word in term.split())


def usual_forms(forms: Mapping[str, int], phrases: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """How words are written that have capitals inside: `sql` as `SQL`, where a third of its documents do so.

    forms: in how many documents a form stands
    """
    whole: Counter[str] = Counter()
    for counted in phrases.values():
        whole.update(counted)
    made = {}
    for form in sorted(forms, key=lambda form: (forms[form], form)):  # the most frequent form of a word comes last
        if 3 * forms[form] > whole[form.lower()] > 0:
            made[form.lower()] = form
    return made


def top_terms(terms: Sequence[str]) -> list[str]:
    """The most telling terms, none said twice."""
    return _apart(terms, TERMS)


def titles(
    terms: Mapping[str, Sequence[str]], order: Iterable[str], *, forms: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A title for each cluster, none of them twice; those that come first in the order choose first.

    forms: how a word is written, where not in lower case
    """
    taken: set[str] = set()
    made = {}
    for cluster in order:
        title = next(
            (title for title in _proposals(terms.get(cluster, ()), forms or {}) if title.casefold() not in taken), None
        )
        title = title or f"Other Documents, {cluster}"
        taken.add(title.casefold())
        made[cluster] = title
    return made


def _proposals(terms: Sequence[str], forms: Mapping[str, str]) -> Iterable[str]:
    """Titles of three to five words, the best first: two or three phrases, the later ones changed first.

    What has the ending of a past tense or an adverb, and so names nothing, comes after all that may be a name. Pairs
    may have it: United States.
    """
    apart = _apart(sorted(terms, key=lambda term: bool(_NO_NAME.fullmatch(term))), TERMS)
    for first, last in combinations(range(len(apart) + 1), 2):
        chosen = apart[first : first + 1]
        for term in apart[last:]:
            if sum(len(part.split()) for part in [*chosen, term]) > _CONTENT_WORDS:
                continue
            chosen.append(term)
            if sum(len(part.split()) for part in chosen) >= _FEWEST_WORDS:
                break
        if chosen:
            yield _joined(chosen, forms)


def _joined(phrases: Sequence[str], forms: Mapping[str, str]) -> str:
    """`Kernel, Device Driver and Memory`."""
    shown = [" ".join(_capital(forms.get(word, word)) for word in phrase.split()) for phrase in phrases]
    if len(shown) == 1:
        return f"{shown[0]} and Related Texts" if len(shown[0].split()) == 1 else f"{shown[0]} Texts"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _apart(terms: Sequence[str], most: int) -> list[str]:
    """Terms that have no word, in whatever form, in common with one before."""
    seen: set[str] = set()
    made: list[str] = []
    for term in terms:
        stems = {_stem(word) for word in term.split()}
        if not stems & seen and len(stems) == len(term.split()) and len(made) < most:
            seen |= stems
            made.append(term)
    return made


def _stem(word: str) -> str:
    """A word without the usual English endings: good enough to see that two are one."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ers", "er", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
