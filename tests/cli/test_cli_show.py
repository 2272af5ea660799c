"""`mixture show` answers as the library does, with and without a catalog; steps are numbers or percentages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from mixture_folder import write_mixture

from mixture import read_lock
from mixture.lock import write_lock
from mixture.planning.amend import amend
from mixture.planning.plan import Crossing, crossings
from mixture.planning.plan.composition import composition, group_domains

SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: first
    share: 80%
    weights: {a: 50%, b: 30%, c: 20%}
  - phase: second
    sequence_length: 128
    weights: {a: 20%, b: 80%}
"""
CELLS = "domain,tokens,license,quality\na,20000,mit,1\nb,9000,cc-by,2\nc,1000000,mit,\n"
Ask = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("show") / "small"
    write_mixture(made, SPEC, cells=CELLS)
    return made


def rows(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_what_was_read_by_any_column_before_any_step(folder: Path, ask: Ask) -> None:
    lock = folder / "mixture.lock.json"
    schedule = read_lock(lock).schedule()
    for step, text in ((25, "25%"), (80, "80"), (100, "100%"), (0, "0%"), (13, "12.5%")):
        before, all_of = schedule.tokens(step).tolist(), schedule.tokens(100).tolist()
        by_domain = rows(ask("show", lock, "--step", text, "--json"))
        assert [(row["step"], row["domain"], row["tokens_so_far"]) for row in by_domain] == [
            (step, name, tokens) for name, tokens in zip("abc", before, strict=True)
        ]
        assert [row["tokens_so_far"] + row["tokens_to_come"] for row in by_domain] == all_of
        cc, mit = rows(ask("show", lock, "--step", text, "--by", "license", "--json"))
        assert (cc["license"], mit["license"], mit["domains"], mit["domain_tokens"]) == ("cc-by", "mit", 2, 1_020_000)
        assert mit["tokens_so_far"] == before[0] + before[2]
        assert mit["run_tokens"] == all_of[0] + all_of[2]
        assert mit["run_weight"] == float(Fraction(all_of[0] + all_of[2], sum(all_of)))
        assert mit["run_epochs"] == float(Fraction(all_of[0] + all_of[2], 1_020_000))
        assert mit["weight_so_far"] == (float(Fraction(before[0] + before[2], sum(before))) if step else None)
        assert mit["weight_to_come"] is None if step == 100 else mit["weight_to_come"] + cc["weight_to_come"] == 1
    two = rows(ask("show", lock, "--by", "license,quality", "--json"))
    assert [(row["license"], row["quality"]) for row in two] == [("cc-by", 2), ("mit", 1), ("mit", None)]
    assert rows(ask("show", lock, "--by", "license", "--by", "quality", "--json")) == two
    assert [row["domain"] for row in rows(ask("show", lock, "--domain", "b", "--json"))] == ["b"]
    for options in (("--domain", "b,c"), ("--domain", "b", "--domain", "c"), ("--domain", " c, b")):
        assert [row["domain"] for row in rows(ask("show", lock, *options, "--json"))] == ["b", "c"]
        assert {row["domain"] for row in rows(ask("show", lock, *options, "--crossings", 1, "--json"))} == {"b", "c"}
    assert "unknown domain 'bb'" in ask("show", lock, "--domain", "a,bb", code=1)


def test_words_of_composition_mean_here_what_they_mean_there(folder: Path, ask: Ask) -> None:
    lock = read_lock(folder / "mixture.lock.json")
    read = composition(lock, group_domains(lock), [range(25)]).rows()
    shown = rows(ask("show", folder / "mixture.lock.json", "--step", 25, "--json"))
    for there, here in zip(read, shown, strict=True):
        shared = there.keys() & here.keys()
        assert shared == {"domain", "domains", "tokens_so_far", "epochs_so_far"}
        assert {name: there[name] for name in shared} == {name: here[name] for name in shared}


def test_rows_are_in_order_of_what_was_read_before_the_step(folder: Path, ask: Ask) -> None:
    def shown(*options: object) -> list[str]:
        lines = ask("show", folder / "mixture.lock.json", *options).splitlines()
        return [line.split()[0] for line in lines if line.split() and line.split()[0] in ("a", "b", "c")]

    assert shown("--step", "60%") == ["a", "b", "c"], "the weights of the first phase"
    assert shown() == ["b", "a", "c"], "the second phase reads most of b"
    assert shown("--step", 0) == shown()


def test_csv_has_the_rows_of_json_and_the_table_their_figures(folder: Path, ask: Ask) -> None:
    lock = folder / "mixture.lock.json"
    for options in (("--step", 25, "--by", "license"), ("--crossings", "1,2.5"), ()):
        as_json = rows(ask("show", lock, *options, "--json"))
        as_csv = list(csv.DictReader(io.StringIO(ask("show", lock, *options, "--csv"))))
        assert as_csv == [{k: "" if v is None else str(v) for k, v in row.items()} for row in as_json]
    (folder.parent / "cells.csv").write_text(CELLS.replace("cc-by", "=1+1"), encoding="utf-8")
    computed = ask("show", lock, "--by", "license", "--catalog", folder.parent / "cells.csv", "--csv")
    assert "\n100,'=1+1," in computed, "no spreadsheet computes a cell"
    text = ask("show", lock, "--step", "25%", "--by", "license")
    assert "step 25 of 100, in phase first" in text
    assert "share to come" in text
    assert "share to come" not in ask("show", lock)


def test_the_steps_in_which_domains_pass_numbers_of_epochs(folder: Path, ask: Ask) -> None:
    lock = folder / "mixture.lock.json"
    epochs = [Fraction(1), Fraction(5, 2)]
    found = rows(ask("show", lock, "--crossings", "1,2.5", "--json"))
    assert [(row["domain"], row["epochs"], row["step"], row["phase"]) for row in found] == [
        (one.domain, float(one.epochs), one.step, one.phase) for one in crossings(read_lock(lock), epochs)
    ]
    text = ask("show", lock, "--crossings", "1,2.5")
    assert "1 domain passes none of these" in text
    assert "1 domain passes none" not in ask("show", lock, "--crossings", "1,2.5", "--all")
    assert "never" in ask("show", lock, "--crossings", 1, "--domain", "c")
    assert "did you mean 'b'" in ask("show", lock, "--crossings", 1, "--domain", "bb", code=1)


def test_rows_of_domains_are_not_compared_with_each_other(
    folder: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(*_: object) -> bool:
        raise AssertionError("of ten thousand domains that takes ten seconds")

    monkeypatch.setattr(Crossing, "__eq__", compared)
    assert "1 domain passes none of these" in ask("show", folder / "mixture.lock.json", "--crossings", "1,2.5")


def test_a_lock_alone_an_amended_one_and_one_with_another_catalog(folder: Path, ask: Ask, tmp_path: Path) -> None:
    alone = tmp_path / "run.lock.json"
    old = read_lock(folder / "mixture.lock.json")
    write_lock(amend(old, 50, {"a": 1}), alone)
    assert len(rows(ask("show", alone, "--json"))) == 3
    assert "error[no-catalog]" in ask("show", alone, "--by", "license", code=1)
    by = rows(ask("show", alone, "--by", "license", "--catalog", folder / "cells.csv", "--json"))
    tokens = read_lock(alone).schedule().tokens(100).tolist()
    assert [row["tokens_so_far"] for row in by] == [tokens[1], tokens[0] + tokens[2]]
    (tmp_path / "cells.csv").write_text(CELLS.replace("c,1000000,mit,\n", ""), encoding="utf-8")
    left = rows(ask("show", alone, "--by", "license", "--catalog", tmp_path / "cells.csv", "--json"))
    assert [row["license"] for row in left] == ["cc-by", "mit", None]
    assert sum(row["tokens_so_far"] for row in left) == sum(row["tokens_so_far"] for row in by)
    assert by == rows(ask("show", alone, "--by", "license", "--catalog", folder / "mixture.yaml", "--json"))
    for column, word in (
        ("licenze", "did you mean 'license'?"),
        ("tokens", "bad-columns"),
        ("license,license", "bad-columns"),
    ):
        assert word in ask("show", alone, "--by", column, "--catalog", folder / "cells.csv", code=1)


def test_wrong_usage_is_refused(folder: Path, ask: Ask) -> None:
    lock = folder / "mixture.lock.json"
    for options in (
        ("--csv", "--json"), ("--by", "license", "--crossings", "1"), ("--crossings", "1", "--step", 5),
        ("--step", "x"), ("--step", "-1"), ("--step", "5 tokens"), ("--step", "1.5"), ("--crossings", "x"),
        ("--catalog", lock),
    ):  # fmt: skip
        ask("show", lock, *options, code=2)
    assert "step-out-of-range" in ask("show", lock, "--step", 101, code=1)
    for text in ("101%", "100.5%"):
        assert f"{text} is beyond the run of 100 steps" in ask("show", lock, "--step", text, code=1)


def test_a_step_is_a_percentage_wherever_one_is_named(folder: Path, ask: Ask) -> None:
    lock = folder / "mixture.lock.json"
    for command, option in (("counts", "--step"), ("history", "--step")):
        asked = ask(command, lock, option, "25%", 80, "100%", "--json")
        assert asked == ask(command, lock, option, 25, 80, 100, "--json")
    one, two = (ask("amend", lock, "--step", at, "--skip-steps", 3, "--json") for at in ("12.5%", 13))
    assert one == two
    assert "amend-consumed" in ask("amend", lock, "--step", 13, "--skip-steps", 3, "--consumed-step", "14%", code=1)
    token = ("trace", "token", lock, "b", 777, "--json", "--first-step")
    assert ask(*token, "60%") == ask(*token, 60) != ask(*token, 0)
