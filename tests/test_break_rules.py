"""The script that breaks rules on purpose still knows where each is."""

from __future__ import annotations

from break_rules import BREAKS, ROOT


def test_each_rule_is_found_once_where_the_script_breaks_it():
    assert len(BREAKS) >= 30
    for broken in BREAKS:
        assert (ROOT / broken.path).read_text(encoding="utf-8").count(broken.before) == 1, broken.rule
        for path in broken.tests.split():
            assert (ROOT / path).exists(), path
