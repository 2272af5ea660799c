"""Titles and top terms from counted phrases."""

from __future__ import annotations

from mixture.clusters.titles import ranked, titles, top_terms, usual_forms
from mixture.clusters.words import EXCERPT, excerpt, phrases, words

PHRASES = {
    "c00": {"kernel": 90, "device driver": 80, "driver": 85, "drivers": 60, "memory": 50, "file": 60, "self": 90},
    "c01": {"licence": 95, "warranty": 80, "free software": 60, "file": 50, "software": 70},
    "c02": {"file": 60, "sql": 90, "table": 70, "query": 60},
}
DOCUMENTS = {"c00": 100, "c01": 100, "c02": 100}


def test_what_all_clusters_say_comes_after_what_one_does() -> None:
    terms = ranked(PHRASES, DOCUMENTS)
    assert terms["c00"].index("file") > terms["c00"].index("memory")
    assert terms["c02"][0] == "sql"


def test_words_that_programs_are_built_of_are_no_terms() -> None:
    assert "self" not in ranked(PHRASES, DOCUMENTS)["c00"]


def test_no_top_term_says_again_what_one_before_says() -> None:
    terms = top_terms(ranked(PHRASES, DOCUMENTS)["c00"])
    assert sum("driver" in term for term in terms) == 1


def test_titles_have_three_to_five_words_with_capitals_and_are_not_given_twice() -> None:
    twins = PHRASES | {f"c1{number}": PHRASES["c00"] for number in range(3)}
    made = titles(ranked(twins, dict.fromkeys(twins, 100)), twins)
    assert len(set(made.values())) == len(twins)
    for title in made.values():
        assert 3 <= len(title.split()) <= 5
        assert all(word == "and" or word[0].isupper() for word in title.replace(",", "").split())


def test_past_tenses_and_adverbs_name_nothing_where_there_is_a_noun() -> None:
    terms = ["asked", "united states", "especially", "day", "speed", "night"]
    assert titles({"c00": terms}, ["c00"]) == {"c00": "United States and Day"}
    assert titles({"c00": ["asked", "looked", "day"]}, ["c00"]) == {"c00": "Day, Asked and Looked"}
    assert titles({"c00": ["founded", "speed", "day", "night"]}, ["c00"]) == {"c00": "Speed, Day and Night"}


def test_a_cluster_without_terms_has_a_title_all_the_same() -> None:
    assert titles({"c00": [], "c01": ["kernel"]}, ["c00", "c01"]) == {
        "c00": "Other Documents, c00",
        "c01": "Kernel and Related Texts",
    }


def test_a_word_is_written_as_most_documents_write_it() -> None:
    forms = usual_forms({"SQL": 70, "DRIVER": 3, "MySQL": 1}, PHRASES)
    assert forms == {"sql": "SQL"}
    assert "SQL" in titles(ranked(PHRASES, DOCUMENTS), PHRASES, forms=forms)["c02"]


def test_pairs_do_not_reach_over_a_stop_word() -> None:
    found = list(phrases(words("Free software and the free world")))
    assert found == ["free", "software", "free software", "free", "world", "free world"]


def test_scripts_without_spaces_have_words_of_one_sign_and_pairs_without_a_space() -> None:
    assert list(phrases(words("可以 ok"))) == ["可", "以", "可以", "ok", "以 ok"]


def test_an_excerpt_has_a_long_text_s_beginning_and_end_and_no_more_than_so_many_characters() -> None:
    text = "a" * 50_000 + "b" * 50_000
    assert excerpt(text)[0] == "a"
    assert excerpt(text)[-1] == "b"
    assert EXCERPT <= len(excerpt(text)) < EXCERPT + 10
    assert excerpt("short") == "short"
