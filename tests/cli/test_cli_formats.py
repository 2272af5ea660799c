"""mixture export and import: to files and back, and what is said on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mixture.formats import FORMATS


def segments(path: Path) -> list[tuple[int, int, int, dict[str, int]]]:
    """Of a lock file: first step, steps, length, and weights above 0 by domain."""
    lock = json.loads(path.read_text(encoding="utf-8"))
    names = [domain["name"] for domain in lock["domains"]]
    return [
        (
            one["first_step"],
            one["steps"],
            one["sequence_length"],
            {name: weight for name, weight in zip(names, one["weights"], strict=True) if weight},
        )
        for one in lock["segments"]
    ]


def test_the_list_has_every_format_with_its_unit(run):
    said = run("export", "--list").stdout
    for name, form in FORMATS.items():
        line = next(line for line in said.splitlines() if line.strip().startswith(f"{name} "))
        assert " or ".join(form.units) in line


def test_one_file_goes_to_standard_output_and_what_is_lost_to_standard_error(run, small):
    done = run("export", "csv", small / "mixture.yaml", "--path-template", "s3://bucket/{file}")
    assert ",a,s3://bucket/00000-a," in done.stdout
    assert "note: unit: weights count tokens" in done.stderr
    assert "note: order-not-kept:" in done.stderr


def test_several_files_need_a_folder(run, small):
    done = run("export", "olmo", small / "mixture.yaml", code=2)
    assert "this gives 2 files" in done.stderr
    assert "small.olmo" in run("export", "olmo", small / "mixture.yaml", "-o", small / "out").stdout
    assert sorted(path.name for path in (small / "out").iterdir()) == [
        "small.olmo.1-first.yaml",
        "small.olmo.2-second.yaml",
    ]
    assert run("export", "olmo", small / "mixture.yaml", "--phase", "second").stdout.startswith("# small, lock")


def test_a_spec_and_its_lock_give_the_same_files(run, small):
    spec = run("export", "levanter", small / "mixture.yaml", "--phase", "first").stdout
    assert spec == run("export", "levanter", small / "mixture.lock.json", "--phase", "first").stdout


def test_json_has_files_unit_and_remarks(run, small):
    said = json.loads(run("export", "olmo", small / "mixture.lock.json", "--json").stdout)
    lock = json.loads((small / "mixture.lock.json").read_text(encoding="utf-8"))
    assert (said["mixture"], said["digest"], said["unit"]) == ("small", lock["digest"], "tokens")
    assert [file["name"] for file in said["files"]] == ["small.olmo.1-first.yaml", "small.olmo.2-second.yaml"]
    assert {"phases-in-files", "draws"} <= {remark["code"] for remark in said["remarks"]}


@pytest.mark.parametrize(
    ("name", "options"),
    [("levanter", ()), ("nanotron", ()), ("mosaic", ()), ("megatron", ())],
)
def test_a_mixture_goes_out_and_comes_back_the_same(name, options, run, small):
    run("export", name, small / "mixture.lock.json", "-o", small / "out", "--path-template", "/data/{domain}/x")
    files = sorted(path for path in (small / "out").iterdir() if "choose" not in path.name)
    files = [path for path in files if "args" in path.name] or files
    done = run(
        "import", name, *files, "-o", small / "in", "--catalog", small / "cells.csv",
        "--path-template", "/data/{domain}/x", "--name", "again", *options,
    )  # fmt: skip
    assert "2 phases, 100 steps" in done.stdout
    run("lock", small / "in" / "mixture.yaml")
    assert segments(small / "in" / "mixture.lock.json") == segments(small / "mixture.lock.json")


def test_files_of_phases_take_their_steps_from_the_command(run, small, tmp_path):
    for i, weight in enumerate((0.25, 0.5), start=1):
        rows = "".join(
            f"- {{source_name: {name}, target_ratio: {w}}}\n" for name, w in (("a", weight), ("c", 1 - weight))
        )
        text = f"sources:\n{rows}"
        (tmp_path / f"{i}-part{i}.yaml").write_text(text, encoding="utf-8")
    done = run(
        "import", "olmo", tmp_path / "1-part1.yaml", tmp_path / "2-part2.yaml", "-o", tmp_path / "in",
        "--catalog", small / "cells.csv", "--sequence-length", 64, "--batch", 8, "--steps", 80, "--steps", 20, "--json",
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert (said["steps"], said["tokens"]) == (100, 100 * 8 * 64)
    assert said["files"] == [str(tmp_path / "in" / "mixture.yaml")]
    assert "domain-unused" in {finding["code"] for finding in said["findings"]}
    plan = json.loads(run("plan", tmp_path / "in" / "mixture.yaml", "--json").stdout)
    assert [(phase["phase"], phase["steps"]) for phase in plan["phases"]] == [("part1", 80), ("part2", 20)]


def test_an_artefact_with_sizes_brings_its_catalog(run, tmp_path):
    cells = {f"c{c:02}q{q}": 10**6 * (c + q + 1) for c in range(10) for q in range(5)}
    total = sum(cells.values())
    artefact = {
        "candidate": "found",
        "available_tokens": cells,
        "phase0_weights": {name: size / total for name, size in cells.items()},
        "phase1_weights": dict.fromkeys(cells, 0.02),
        "phase_budgets": [8_000_000, 2_000_000],
    }
    (tmp_path / "mix.json").write_text(json.dumps(artefact), encoding="utf-8")
    done = run("import", "marin-json", tmp_path / "mix.json", "-o", tmp_path / "in", "--sequence-length", 512)
    assert "written, with weights.csv and catalog.csv" in done.stdout
    assert "note: not-in-the-file: the file does not say the batch; 1,024 is set" in done.stderr
    head = (tmp_path / "in" / "mixture.yaml").read_text(encoding="utf-8")
    assert head.startswith("# Imported from mix.json")
    assert "# not-in-the-file: the file does not say the batch" in head
    run("plan", tmp_path / "in" / "mixture.yaml")


def test_counts_of_an_import_may_have_the_units_of_a_spec(run, small, tmp_path):
    (tmp_path / "mix.yaml").write_text("sources: [{source_name: a, target_ratio: 1.0}]\n", encoding="utf-8")
    asked = ("import", "olmo", tmp_path / "mix.yaml", "--catalog", small / "cells.csv", "--steps", "10 steps")
    run(*asked, "-o", tmp_path / "in", "--batch", "16 sequences", "--sequence-length", "1K tokens")
    text = (tmp_path / "in" / "mixture.yaml").read_text(encoding="utf-8")
    assert "batch: 16 sequences" in text
    assert "sequence_length: 1000" in text
    refused = run(*asked, "-o", tmp_path / "no", "--batch", "16 steps", code=1).stderr
    assert refused == "error[wrong-unit]: '16 steps' is in steps (right here: 512 sequences)\n"
    assert run(*asked, "-o", tmp_path / "no", "--batch", "0", code=1).stderr.startswith("error[out-of-range]: '0' is")


def test_an_import_replaces_nothing(run, small, tmp_path):
    (tmp_path / "a.txt").write_text("1 a\n", encoding="utf-8")
    asked = ("--catalog", small / "cells.csv", "--steps", 10)
    done = run("import", "megatron", tmp_path / "a.txt", "-o", small, *asked, code=1)
    assert "error[file-exists]" in done.stderr
    assert "mixture: small" in (small / "mixture.yaml").read_text(encoding="utf-8")


def test_what_is_wrong_is_said_with_its_place_and_code(run, small, tmp_path):
    (tmp_path / "x.yaml").write_text("sources:\n- {source_name: a, target_ratio: -1}\n", encoding="utf-8")
    done = run("import", "olmo", tmp_path / "x.yaml", "-o", tmp_path / "in", "--catalog", small / "cells.csv", code=1)
    assert f"error[negative]: {tmp_path / 'x.yaml'}:2:" in done.stderr
    assert not (tmp_path / "in").exists()
    assert "error[unknown-mixture-format]" in run("export", "olmoo", small / "mixture.yaml", code=1).stderr
    assert "error[missing-column]" in run("export", "hf", small / "mixture.yaml", "--phase", "first", code=1).stderr
    assert "--unit" in run("export", "hf", small / "mixture.yaml", "--unit", "words", code=2).stderr


def test_a_single_file_takes_the_name_that_it_is_given(run, small):
    run("export", "csv", small / "mixture.lock.json", "-o", small / "plan.csv")
    assert (small / "plan.csv").read_text(encoding="utf-8").startswith("phase,first_step,")
