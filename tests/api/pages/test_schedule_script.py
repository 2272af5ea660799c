"""The pages' schedule script under Node: it answers what the golden files say, and what mixture.schedule does."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from schedule.asking import answers, handoffs
from schedule.making import ROOT, from_fields, make_run, to_fields
from schedule.random_runs import runs
from search_lengths import examples

from mixture.json_text import by_line, digest
from mixture.schedule import Domain, Schedule, ScheduleData

NODE = shutil.which("node") or shutil.which("nodejs")
SCRIPT = ROOT / "mixture" / "api" / "pages" / "static" / "schedule.js"
ASKER = Path(__file__).with_name("ask_schedule.js")
GOLDEN = sorted(path for path in (ROOT / "tests" / "golden").glob("*.json") if not path.name.endswith(".lock.json"))
MIXTURES = sorted(ROOT.glob("mixtures/*/mixture.lock.json"))

pytestmark = [
    pytest.mark.needs_node,
    pytest.mark.skipif(
        NODE is None and "MIXTURE_TEST_ALL" not in os.environ, reason="there is no Node on this machine"
    ),
]


def run(lock: str, questions: list[list]) -> subprocess.CompletedProcess[str]:
    assert NODE is not None, "apt-get install nodejs"
    asked = json.dumps({"lock": lock, "ask": questions})
    return subprocess.run([NODE, ASKER, SCRIPT], input=asked, capture_output=True, encoding="utf-8", check=False)


def ask(lock: str, questions: list[list]) -> list:
    """The answers to questions about a lock, of which the text is given."""
    done = run(lock, questions)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def text_of(data: ScheduleData) -> str:
    """The text of a lock with no more in it than what fixes the order."""
    return by_line({"format": 1, "features": [], **to_fields(data)})


def assert_agreement(data: ScheduleData, rng: random.Random) -> None:
    """Put the same questions to both, all over the run."""
    schedule = Schedule(data)
    end = schedule.num_sequences
    steps = sorted({0, 1, schedule.steps, *(rng.randrange(schedule.steps + 1) for _ in range(4))})
    start = rng.randrange(max(1, end - 60))
    anywhere = [0, end - 1, *(rng.randrange(end) for _ in range(25))]
    known = answers(schedule, schedule.at(anywhere))
    finds = []
    for row in known[2::5]:
        token = row["first_token"] + rng.randrange(row["tokens"])
        there = []
        for position in schedule.iter_find(row["domain"], token):  # a small domain's token is read again and again
            there.append(position)
            if len(there) > 200:
                break
        else:
            finds.append((row["domain"], token, there))
    questions = [
        *(["counts", step] for step in steps),
        *(["history", step] for step in steps),
        ["rows", start, min(60, end - start)],
        ["at", anywhere],
        ["handoffs"],
        *(["find", name, str(token)] for name, token, _ in finds),
    ]
    expected = [
        *(schedule.counts(step).tolist() for step in steps),
        *(schedule.history(step) for step in steps),
        answers(schedule, schedule.rows(start, min(60, end - start))),
        known,
        [{"first_step": first, "tokens_skipped": tokens} for first, tokens in handoffs(schedule)],
        *(there for *_, there in finds),
    ]
    for question, given_, right in zip(questions, ask(text_of(data), questions), expected, strict=True):
        assert given_ == right, question


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_script_gives_the_answers_of_the_golden_files(path):
    told = json.loads(path.read_text(encoding="utf-8"))
    questions = [
        ["at", [row["position"] for row in told["positions"]]],
        ["handoffs"],
        *(["counts", answer["step"]] for answer in told["counts"]),
        *(["history", answer["step"]] for answer in told["history"]),
        *(["find", find["domain"], str(find["token"])] for find in told["finds"]),
    ]
    expected = [
        told["positions"],
        told["handoffs"],
        *(answer["counts"] for answer in told["counts"]),
        *(answer["history"] for answer in told["history"]),
        *(find["positions"] for find in told["finds"]),
    ]
    lock = json.loads((ROOT / told["lock"]).read_text(encoding="utf-8"))
    lock |= {"format": 1, "features": []}  # which the made-up lock leaves out
    for question, given_, right in zip(questions, ask(json.dumps(lock), questions), expected, strict=True):
        assert given_ == right, question


@settings(max_examples=examples(60))
@given(runs())
def test_a_random_run_reads_the_same_in_the_script(data):
    assert_agreement(data, random.Random(data.seed))


def test_domains_of_more_tokens_than_a_double_holds_are_read_exactly():
    huge = 2**62 - 1
    data = make_run(
        [
            Domain("all of it", huge),
            Domain("a pool", huge, 2**61 + 5),
            Domain("short", 3),
            Domain("\U0001f30d", 2**53 + 1),
        ],
        [(40, 1, [1, 1, 1, 1]), (40, 2, [1, 5, 0, 2]), (9, 2, [1, 5, 0, 2], 10**9), (30, 1, [3, 1, 1, 1])],
        [(0, 8), (25, 6)],
        seed=2**63 - 1,
        block=2,
        window=2**40,
    )
    assert_agreement(data, random.Random(7))


@pytest.mark.parametrize("path", MIXTURES, ids=lambda path: path.parent.name)
def test_whole_steps_of_the_mixtures_are_read_slot_by_slot(path):
    text = path.read_text(encoding="utf-8")
    lock = json.loads(text)
    schedule = Schedule(from_fields(lock))
    for step in (0, schedule.steps // 2, schedule.steps - 1):
        start, batch = schedule.positions_before(step), schedule.batch_of(step)
        found, rows = ask(text, [["step", step], ["rows", start, batch]])
        assert rows == answers(schedule, schedule.rows(start, batch))
        drawn = (schedule.counts(step + 1) - schedule.counts(step)).tolist()
        assert [one["sequences"] for one in found["domains"]] == drawn
        assert [one["tokens"] for one in found["domains"]] == [n * schedule.length_of(step) for n in drawn]
        for one in found["domains"]:
            its = [row for row in rows if row["domain"] == one["domain"]]
            assert one["first_draw"] == min((row["draw"] for row in its), default=None)
            assert one["first_epoch"] == min((row["epoch"] for row in its), default=None)
            assert one["last_epoch"] == max((row["epoch"] for row in its), default=None)


@pytest.mark.parametrize("path", MIXTURES, ids=lambda path: path.parent.name)
def test_a_locks_digest_and_the_rows_it_keeps_are_checked(path):
    text = path.read_text(encoding="utf-8")
    lock = json.loads(text)
    assert ask(text, [["digest"], ["keeps_its_rows"]]) == [lock["digest"], True]
    lock["seed"] += 1
    assert ask(json.dumps(lock), [["keeps_its_rows"]]) == [False]
    assert ask(json.dumps(lock), [["digest"]]) != [lock["digest"]]


def test_the_digest_is_of_one_spelling_whatever_the_text_looks_like():
    fields = to_fields(make_run({"a": 640}, [(3, 16, [1])]))
    odd = {
        "\U0001f30d": 1,
        "\uffee": -3,
        'é\u2028\x7f"\\/': "\b\f\n\r\t\x1f é",
        "__proto__": [True, None, {}],
        "10": [],
        "9": 2**80,
    }
    lock = {"format": 1, "features": [], **fields, "accepted": [{"code": "x", "facts": odd}]}
    for text in (json.dumps(lock, indent=3), json.dumps(lock, ensure_ascii=False), by_line(lock)):
        assert ask(text, [["digest"]]) == [digest(lock)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lock: lock.update(format=2), "no lock of format 1"),
        (lambda lock: lock.pop("features"), "made before the first release"),
        (lambda lock: lock.update(features=["images", "sound"]), "features that this page cannot read: images, sound"),
        (lambda lock: lock.update(features="images"), "not a list of names"),
        (lambda lock: lock["segments"][0]["weights"].__setitem__(0, 5), "do not sum to 10^15"),
        (lambda lock: lock["segments"][1].update(first_step=4), "segment 1 begins at step 4, not 3"),
        (lambda lock: lock["segments"][0].update(sequence_length=7), "does not divide"),
        (lambda lock: lock["domains"][1].update(name="a"), "twice"),
        (lambda lock: lock["domains"][0].update(pool_tokens=641), 'the pool of "a"'),
        (lambda lock: lock["domains"][0].update(tokens=15), 'no whole sequence of 16 tokens'),
        (lambda lock: lock["batches"][0].update(first_step=1), "batch 0"),
        (lambda lock: lock.update(seed=1.5), "no JSON that a lock could hold"),
    ],
)  # fmt: skip
def test_a_lock_that_makes_no_schedule_is_refused_with_what_is_wrong(change, said):
    fields = to_fields(make_run({"a": 640, "b": 640}, [(3, 16, [1, 1]), (4, 32, [2, 1])]))
    lock = {"format": 1, "features": [], **fields}
    assert ask(json.dumps(lock), [["counts", 0]]) == [[0, 0]]
    change(lock)
    done = run(json.dumps(lock), [["counts", 0]])
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (["counts", 4], "no step 4 in a run of 3 steps"),
        (["history", -1], "no step -1"),
        (["rows", 20, 5], "no position 24 in a run of 24 sequences"),
        (["find", "b", "0"], 'no domain "b"'),
        (["find", "a", "640"], "no token 640"),
    ],
)
def test_a_question_outside_the_run_is_refused(question, said):
    done = run(text_of(make_run({"a": 640}, [(3, 16, [1])])), [question])
    assert done.returncode != 0
    assert said in done.stderr
