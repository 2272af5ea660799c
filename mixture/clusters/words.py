"""The words of a document, of a part of it that is as large for a book as for a long page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

EXCERPT = 8192
"""Characters of a document that are looked at, at most."""
_SPANS = 4

# Scripts without spaces between words: each character stands for itself.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_CAPITALS_INSIDE = re.compile(r"\b[A-Za-z][a-z]*[A-Z][A-Za-z]*\b")
_LONGEST_ACRONYM = 5
_LONGEST_WORD = 32  # what is longer is encoded data, not a word

STOP_WORDS = frozenset(
    """
    about above after again against all also although always am among an and another any are aren around as at
    away back be became because become been before behind being below between both but by came can cannot come could
    couldn did didn do does doesn doing don done down during each either else enough etc even ever every few first
    for from further get gets give given go goes going gone got had hadn has hasn have haven having he hence her here
    hers herself him himself his how however if in indeed instead into is isn it its itself just keep last least less
    let like ll made make makes many may maybe me might mine more moreover most much must mustn my myself near need
    neither never next no nor not nothing now of off often on once one only onto or other others otherwise our ours
    ourselves out over own per perhaps put quite rather re really said same say says see seem seems several shall
    shan she should shouldn since so some something sometimes still such take than that the their theirs them
    themselves then there therefore these they thing things this those though through thus to together too toward
    towards two under until up upon us use used uses using ve very via want was wasn way we well went were weren what
    when where whether which while who whole whom whose why will with within without won would wouldn yet you your
    yours yourself yourselves
    """.split()  # noqa: SIM905
)
"""English words that say how a sentence is built, not what it is about."""


CODE_WORDS = frozenset(
    """
    append arg args argv assert assertequal assertis assertraises asserttrue async await bool boolean break catch
    char class classes const continue def default del dict elif else endif enum eq err errno eval exc except
    exception exec export extern false final float foo foreach func function getattr goto hasattr href html http
    https ifdef implements import include init inline instanceof int isinstance join kwargs lambda len lib long main
    map meth method mod mut namespace new nil none null obj object param params pass print printf private protected
    public raise repr return returns seealso self setattr short signed sizeof static str string struct sub super
    switch sys template testcase this throw true try tuple type typedef typeerror typename uint undef union unsigned
    val value valueerror values var virtual void volatile www xs yield
    """.split()  # noqa: SIM905
)
"""Words that programs and pages are built of: they tell code from prose, and are no title."""


def excerpt(text: str, *, most: int = EXCERPT) -> str:
    """A text whole, or of a long one four spans, from its beginning, its middle and its end."""
    if len(text) <= most:
        return text
    span = most // _SPANS
    last = len(text) - span
    return "\n".join(text[last * part // (_SPANS - 1) :][:span] for part in range(_SPANS))


def words(text: str) -> list[str]:
    """The words in their order, in lower case, stop words among them; numbers and signs are none."""
    return _WORD.findall(text.lower())


def is_wide(word: str) -> bool:
    """Whether a word is of a script that has no spaces between words."""
    return word[0] >= "\u3040"


def written_forms(text: str) -> set[str]:
    """The words that have a capital inside, such as `SQL` and `PostgreSQL`; not LICENCES that shout."""
    return {form for form in _CAPITALS_INSIDE.findall(text) if len(form) <= _LONGEST_ACRONYM or not form.isupper()}


def content_words(counted: Mapping[str, int]) -> dict[str, int]:
    """Counted words without stop words, and without what is too long for a word."""
    return {word: count for word, count in counted.items() if word not in STOP_WORDS and len(word) <= _LONGEST_WORD}


def phrases(found: Sequence[str]) -> Iterator[str]:
    """The words that are no stop words, and the pairs of two such that stand side by side."""
    before = None
    for word in found:
        if word in STOP_WORDS or len(word) > _LONGEST_WORD:
            before = None
            continue
        yield word
        if before is not None and before != word:
            yield f"{before}{word}" if is_wide(before) and is_wide(word) else f"{before} {word}"
        before = word
