"""A comparison as Markdown: what a reader of the pull request sees, whatever names say."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from mixture.planning.amend import amend
from mixture.planning.compare import diff, diff_markdown, side_of
from mixture.planning.plan import make_lock, make_plan
from mixture.schedule import Schedule

ODD = ["a|b", "`tick`", "a\\|b", "*bold*", "<b>x</b>", "[x](y)", " led by a space", "plain", "@team", "&amp;"]


def seen(markdown):
    """The text of every cell by row and table, and the whole as HTML."""
    html = MarkdownIt("commonmark").enable("table").render(markdown)
    tables = [re.findall(r"<tr>(.*?)</tr>", table, re.S) for table in re.findall(r"<table>(.*?)</table>", html, re.S)]
    return [[re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in rows] for rows in tables], html


def as_text(cell):
    text = re.sub(r"</?code>", "", cell)
    assert "<" not in text
    for reference, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        text = text.replace(reference, character)
    return text


@pytest.fixture
def plan(write_spec):
    def make(names, shift=0, pairs=1):
        catalog = "domain,tokens\n" + "".join(f'"{name}",1000000\n' for name in names)
        weights = [len(names) + (shift * (-1) ** i if i < 2 * pairs else 0) for i in range(len(names))]
        keys = [name.replace("\\", "\\\\") for name in names]
        shares = ", ".join(f'"{key}": {weight}T' for key, weight in zip(keys, weights, strict=True))
        return make_plan(write_spec(f"{{phase: one, weights: {{{shares}}}}}", catalog=catalog, batch="128 sequences"))

    return make


def test_names_stay_in_their_cells_as_they_are(plan):
    a, b = plan(ODD), plan(ODD, shift=3)
    (phases, shown), _ = seen(diff_markdown(diff(a, side_of(b, name="x|`y`"))))
    assert {len(row) for row in phases} == {8}
    assert {len(row) for row in shown} == {6}, "the phase's weights stand behind the figures of the run"
    assert {as_text(row[0]) for row in shown[1:3]} == set(ODD[:2])
    assert {as_text(row[0]) for row in shown[1:]} <= set(ODD)


def test_what_moved_has_arrows_and_the_rest_is_folded(plan):
    names = [f"d{i:03}" for i in range(40)]
    found = diff(plan(names), plan(names, shift=10, pairs=6))
    text = diff_markdown(found)
    (phases, first, rest), html = seen(text)
    assert text.startswith("**`test` → `test`** They differ from the first step on, in the weights.")
    assert {as_text(row[0]) for row in [*first[1:], *rest[1:]]} == set(names[:12])
    for row in [*first[1:], *rest[1:]]:
        assert row[2].startswith("▼ 0.6" if int(as_text(row[0])[1:]) % 2 else "▲ 0.6")
    assert (len(first), len(rest)) == (11, 3)
    assert phases[-1][0] == "<strong>run</strong>"
    assert "Of 40 domains, 12 moved." in text
    assert "<summary>2 more</summary>" in html


def test_of_very_many_moves_the_last_are_counted_and_all_are_there_where_asked(plan):
    names = [f"d{i:03}" for i in range(40)]
    found = diff(plan(names), plan([*names, "e"], shift=10))
    shown = [row for table in seen(diff_markdown(found, most=12))[0][1:] for row in table[1:]]
    assert len(shown) == 12
    moved = sum(move.is_change for move in found.moves)
    assert f"{moved - 12} more that moved less are left out." in diff_markdown(found, most=12)
    assert len([row for table in seen(diff_markdown(found, most=None))[0][1:] for row in table[1:]]) == moved


def test_the_same_is_said_without_a_table_of_moves(plan):
    one = plan(["a", "b"])
    text = diff_markdown(diff(one, one))
    assert "All 2 domains have the same shares, tokens and epochs." in text
    assert len(seen(text)[0]) == 1


def test_digests_and_reasons_of_amendments_are_there_as_code(plan):
    lock = make_lock(plan(["a", "b"]))
    amended = amend(lock, 50, skip_steps=1, reason="a <b>spike</b> | @team")
    text = diff_markdown(diff(lock, amended))
    assert f"- A: `test`, lock {lock.digest}\n- B: `test`, lock {amended.digest}\n" in text
    assert "Amendments of B alone: at step 50, <code>a&#32;&#60;b&#62;spike" in text
    assert "<b>" not in seen(text)[1]


def test_what_rounding_moves_is_folded_by_itself(plan):
    names = [f"d{i}" for i in range(4)]
    one = plan(names)
    data = one.data
    (segment,) = data.segments
    tilted = replace(
        segment, weights=tuple(w + d for w, d in zip(segment.weights, (10**8, -(10**8), 0, 0), strict=True))
    )
    lock = make_lock(one)
    other = replace(data, segments=(tilted,))
    text = diff_markdown(diff(lock, replace(lock, data=other, _schedule=Schedule(other))))
    assert "Of 4 domains, 0 moved." in text
    assert "<details><summary>2 by rounding only, below 0.0001 points</summary>" in text
