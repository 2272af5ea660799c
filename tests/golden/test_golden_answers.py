"""The golden files: answers that the oracle gave once, which every machine must give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from schedule.asking import answers, handoffs
from schedule.making import ROOT, from_fields

from mixture.schedule import Schedule

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in HERE.glob("*.json") if not path.name.endswith(".lock.json"))


@pytest.fixture(scope="module", params=NAMES)
def golden(request):
    """(the answers, a schedule of the lock they belong to)"""
    told = json.loads((HERE / f"{request.param}.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / told["lock"]).read_text(encoding="utf-8"))
    return told, Schedule(from_fields(lock))


def test_the_answers_belong_to_this_lock(golden):
    told, schedule = golden
    again = [{"step": answer["step"], "history": schedule.history(answer["step"])} for answer in told["history"]]
    assert again == told["history"], f"{told['lock']} has changed: run tests/golden/make_golden.py if that was meant"


def test_positions_hold_the_sequences_written_down(golden):
    told, schedule = golden
    assert answers(schedule, schedule.at([row["position"] for row in told["positions"]])) == told["positions"]
    for row in told["positions"][::10]:
        assert answers(schedule, schedule.rows(row["position"], 1)) == [row]


def test_tokens_are_found_at_the_positions_written_down(golden):
    told, schedule = golden
    for find in told["finds"]:
        assert schedule.find(find["domain"], find["token"]) == find["positions"], find


def test_counts_are_those_written_down(golden):
    told, schedule = golden
    for answer in told["counts"]:
        assert schedule.counts(answer["step"]).tolist() == answer["counts"], answer["step"]


def test_handoffs_skip_the_tokens_written_down(golden):
    told, schedule = golden
    assert handoffs(schedule) == [(answer["first_step"], answer["tokens_skipped"]) for answer in told["handoffs"]]
