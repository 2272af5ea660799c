"""The benchmark beside other loaders, at a small size: the parts that need none of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.forms import FORMS, written
from benchmarks.peers.install import PEERS
from benchmarks.peers.loader import LOADERS, Loader, LoaderError, Running
from benchmarks.peers.long_runs import memory
from benchmarks.peers.measure import Sizes, measure, start_all
from benchmarks.peers.schedules import schedules
from benchmarks.peers.table import schedule_table, table
from benchmarks.peers.text import Text, worst_deviation

pytestmark = pytest.mark.long

SIZES = Sizes(batches=(8,), round_tokens=1 << 15, rounds=2, counted_rows=64)
BY_MODULE = {loader.module: loader for loader in LOADERS}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Text:
    return written(tmp_path_factory.mktemp("peers"), 1_000_000, SIZES.batches)


def test_each_form_of_the_text_is_read_beside_the_one_map(text: Text) -> None:
    running, missing = start_all([BY_MODULE["ours"], BY_MODULE["ours_formats"]], text, {})
    assert missing == []
    try:
        found = measure(running, text, SIZES)
    finally:
        for one in running:
            one.stop()
    assert [one.problem for one in found] == [""] * len(found)
    assert len(found) == 2 + len(FORMS) - 1
    for one in found:
        assert len(one.rates[8]) == len(one.index_rates[8]) == SIZES.rounds
        assert one.held_mb > 1
    assert found[0].deviation is not None
    assert 0 < found[0].deviation < 64
    lines = list(table(found, SIZES.batches))
    assert len({line.count("|") for line in lines}) == 1


def test_a_loader_that_is_not_installed_is_said_and_left_out(text: Text) -> None:
    assert not PEERS.python_of("nowhere").exists()
    running, missing = start_all([Loader("other", "lit", "nowhere", is_peer=True)], text, {})
    assert running == []
    assert "not installed" in missing[0].problem
    assert "not installed" in list(table(missing, SIZES.batches))[-1]


def test_an_error_of_a_loader_is_an_answer(text: Text) -> None:
    one = Running(BY_MODULE["ours"], text.folder, {})
    try:
        with pytest.raises(LoaderError, match="KeyError"):
            one.ask(question="round", way="no such way")
        assert one.ask(question="late", way="in process", rows=8, first_row=16)["first_ms"] > 0
    finally:
        one.stop()


def test_schedules_and_memory_are_measured_without_peers(text: Text) -> None:
    drawn = {one.name: one for one in schedules(text.folder, 20_000, 1)}
    assert drawn["numpy Generator.choice"].ratio_to_choice == 1.0
    ours, choice = (drawn[name].worst_prefix_deviation for name in ("this schedule", "numpy Generator.choice"))
    assert ours is not None
    assert choice is not None
    assert ours < choice
    assert len(list(schedule_table(list(drawn.values())))) == 2 + len(drawn)
    assert len(memory(text, 8, 2)) == 2


def test_the_worst_deviation_is_over_all_prefixes() -> None:
    assert worst_deviation(np.array([0, 0, 1, 1]), [0.5, 0.5]) == 1.0
    assert worst_deviation(np.array([0, 1, 0, 1]), [0.5, 0.5]) == 0.5


def test_the_text_is_what_it_was_said_to_be(text: Text) -> None:
    assert Text.read(text.folder) == text
    assert text.num_rows == len(text.mapped())
    assert text.num_rows > 8 * 8
    known = text.domain_of_start()
    assert len(known) == text.num_rows
    assert known[np.asarray(text.of_domains()[3][0, : text.telling]).tobytes()] == 3
