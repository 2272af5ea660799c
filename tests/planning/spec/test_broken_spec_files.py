"""Files that are no spec: each is refused with a code, at the line and column that are marked with ▶."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mixture.planning.spec import parse_spec, read_spec
from mixture.planning.yamlfile import SpecFileError

START = "mixture: test\ncatalog: cells.csv\nsequence_length: 4096\nbatch: 8 sequences\nbudget: 100 steps\n"
PHASES = "phases:\n  - phase: main\n    weights: uniform\n"
WHOLE = START + PHASES


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("▶", "file-empty", "empty"),
        ("▶# only a comment\n\n", "file-empty", "empty"),
        ("▶---\n...\n", "file-empty", "empty"),
        ("▶just a text", "not-a-mapping", "mixture, catalog"),
        ("▶null", "not-a-mapping", "mixture, catalog"),
        ("▶- mixture: test\n", "not-a-mapping", "mixture, catalog"),
        ("▶" + START, "missing-key", "'phases'"),
        (WHOLE + "▶wieght: 1\n", "unknown-key", "right here: mixture"),
        (WHOLE + "▶max_epoch: 1\n", "unknown-key", "did you mean 'max_epochs'?"),
        (WHOLE.replace("catalog", "▶catlog"), "unknown-key", "did you mean 'catalog'?"),
        (WHOLE.replace("weights", "▶wieghts"), "unknown-key", "did you mean 'weights'?"),
        (WHOLE + "▶mixture: other\n", "duplicate-key", "on line 1 and on line 9"),
        (WHOLE + "accept: [▶budget-mismach]\n", "unknown-finding", "did you mean 'budget-mismatch'?"),
        (WHOLE + "accept: ▶budget-mismatch\n", "not-a-list", "a list is right here"),
        (START + "phases:\n  - ▶phase: main\n", "missing-key", "'weights'"),
        (
            WHOLE.replace("weights", "share: 1\n    weights") + "  - phase: ▶main\n    weights: uniform\n",
            "duplicate-phase",
            "on line 7 and on line 10",
        ),
        (START + "phases: ▶[]\n", "empty-list", "at least one"),
        (START + "phases: ▶main\n", "not-a-list", "a list"),
        (START + "phases: ▶{main: uniform}\n", "not-a-list", "a list"),
        (START + "phases: [▶main]\n", "not-a-mapping", "phase, share"),
        (WHOLE.replace("4096", "▶4096 steps"), "wrong-unit", "right here: 100B tokens"),
        (WHOLE.replace("cells.csv", "▶{domain: cell}"), "missing-key", "'table'"),
        (WHOLE.replace("cells.csv", "▶[cells.csv]"), "not-a-value", "a list"),
        (WHOLE.replace("cells.csv", "▶&all cells.csv"), "yaml-feature", "anchors and aliases"),
        (WHOLE.replace("uniform", "▶*all"), "yaml-feature", "anchors and aliases"),
        (WHOLE.replace("uniform", "{▶<<: {a: 1}}"), "yaml-feature", "merge keys"),
        (WHOLE.replace("cells.csv", "▶!!python/object/apply:os.system [ls]"), "yaml-feature", "python/object"),
        (WHOLE.replace("cells.csv", "▶! cells.csv"), "yaml-feature", "tags"),
        (WHOLE.replace("4096", "▶!!int 4096"), "yaml-feature", "tags"),
        (WHOLE + "▶---\nmixture: two\n", "yaml-feature", "second document"),
        ("# 1\n▶%YAML 1.1\n---\n" + WHOLE, "yaml-feature", "directives"),
        ("▶%YAML 1.280\n---\n" + WHOLE, "yaml-feature", "directives"),
        ("▶%TAG !e! tag:e,1:\n---\n" + WHOLE, "yaml-feature", "directives"),
        (WHOLE.replace("uniform", "{▶[a, b]: 1}"), "key-not-a-name", "a key is a name"),
        (WHOLE.replace("uniform", "{▶{a: b}: 1}"), "key-not-a-name", "a key is a name"),
        (WHOLE.replace("  - phase", "▶\t- phase"), "yaml-syntax", "indent with spaces"),
        (WHOLE.replace("    weights: uniform", "   ▶weights: uniform"), "yaml-syntax", "not YAML"),
        (WHOLE.replace("cells.csv", "a▶: b"), "yaml-syntax", "not YAML"),
        (WHOLE + 'tokenizer: "open\n▶', "yaml-syntax", "not YAML"),
        (WHOLE + "accept: [a, b\n▶", "yaml-syntax", "not YAML"),
        (WHOLE + 'tokenizer: "a\\▶q"\n', "yaml-syntax", "not YAML"),
        ("▶mixture" + ': "\\UFFFFFFFF"\n', "yaml-syntax", "after this"),
        (WHOLE.replace("cells.csv", "ce▶\0lls.csv"), "not-text", r"\x00"),
        (WHOLE.replace("cells.csv", "Ünï ▶\x1b[31m"), "not-text", r"\x1b"),
        (WHOLE.replace("cells.csv", "cells.csv  # ▶\u202e0 :dees"), "not-text", r"\u202e"),
    ],
)
def test_a_broken_text_is_refused_where_it_is_broken(refusal_at_mark, text, code, says):
    error = refusal_at_mark(text)
    assert error.code == code
    assert says in str(error)


@pytest.mark.parametrize(
    ("data", "code", "line", "column"),
    [
        (WHOLE.encode("utf-16"), "not-utf-8", 1, 1),
        (WHOLE.encode("utf-16-be"), "not-text", 1, 1),
        (b"mixture: caf\xe9\n", "not-utf-8", 1, 13),
        (b"# caf\xc3\xa9\nmixture: \xc3\xa9\xff\n", "not-utf-8", 2, 11),
        (b"\xef\xbb\xbfmixture: \xff\n", "not-utf-8", 1, 10),
        (b"mixture: \xed\xa0\x80\n", "not-utf-8", 1, 10),
        (b"mixture: a\r\ncatalog: \xff\r\n", "not-utf-8", 2, 10),
        (b"PAR1\x15\x04\x15\x00", "not-text", 1, 5),
        (b"\x1f\x8b\x08\x00", "not-utf-8", 1, 2),
    ],
)
def test_bytes_that_are_no_text_are_refused_at_the_first_of_them(data, code, line, column):
    with pytest.raises(SpecFileError) as caught:
        parse_spec(data, path=Path("test.yaml"))
    error = caught.value
    assert (error.code, error.place.line, error.place.column) == (code, line, column)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_a_deeply_nested_text_is_refused_without_a_deep_stack(refusals, opening):
    (error,) = refusals("phases: " + "\n" * (opening in ("- ", "? ")) + opening * 100_000)
    assert error.code == "file-too-large"
    assert error.place.line in (1, 2)


def test_an_alias_bomb_is_refused_at_its_first_anchor(refusal_at_mark):
    levels = [f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert refusal_at_mark("\n".join(["b0: ▶&b0 [lol]", *levels])).code == "yaml-feature"


def test_a_text_with_too_many_values_is_refused(refusals):
    (error,) = refusals("accept: [" + "a," * 110_000 + "]")
    assert error.code == "file-too-large"


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(SpecFileError) as caught:
        read_spec(path)
    assert (caught.value.code, caught.value.place.file) == ("file-too-large", str(path))


def test_what_is_not_a_file_is_refused(tmp_path):
    pairs = [(tmp_path, "file-unreadable"), (tmp_path / "none.yaml", "file-missing")]
    (tmp_path / "file").write_text(WHOLE)
    (tmp_path / "loop").symlink_to("loop")
    pairs += [(tmp_path / "file" / "test.yaml", "file-unreadable"), (tmp_path / "loop", "file-unreadable")]
    pairs += [(tmp_path / ("x" * 5000), "file-unreadable"), (Path(os.fsdecode(b"a\0b")), "file-unreadable")]
    for path, code in pairs:
        with pytest.raises(SpecFileError) as caught:
            read_spec(path)
        assert (caught.value.code, caught.value.place.file) == (code, str(path))


def test_a_lock_is_one_error_and_no_list_of_unknown_keys(tmp_path):
    lock = b'{\n  "format": 1,\n  "mixture": "x",\n  "segments": [],\n  "phases": []\n}\n'
    for data in (lock, b"\xef\xbb\xbf  " + lock, lock[:40] + lock[40:].rstrip(b"}\n") + b" " * (5 << 20)):
        with pytest.raises(SpecFileError) as refused:
            parse_spec(data, path=tmp_path / "run.lock.json")
        assert [(one.code, one.hint) for one in refused.value.errors] == [("not-a-spec", "`mixture explain` shows it")]


def test_a_byte_order_mark_and_other_line_ends_are_read(tmp_path):
    path = tmp_path / "test.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode())
    spec = read_spec(str(path))
    assert spec.catalog.path == tmp_path / "cells.csv"
    assert str(spec.place("budget")) == f"{path}:5:1"
    assert str(spec.place("mixture")) == f"{path}:1:1"


def test_json_is_yaml_and_reads_the_same(read_text):
    spec = read_text(
        '{"mixture": "test", "catalog": "cells.csv", "sequence_length": 4096, "batch": "8 sequences",\n'
        ' "budget": {"steps": 100}, "phases": [{"phase": "main", "weights": {"a": 0.1, "b": 9e-1}}]}'
    )
    assert spec.sequence_length == 4096
    assert [str(share) for share in spec.phases[0].weights.shares.values()] == ["1/10", "9/10"]


def test_all_errors_of_a_file_come_at_once_in_the_order_of_their_places(refusals):
    text = """\
mixture: [a]
catlog: cells.csv
seed: -1
sequence_length: 4096 steps
batch: 11264
budget: {steps: 3.5, tokens: 18.75TB, stps: 4}
accept: [budget-mismach]
phases:
  - phase: one
    until: 108000
    weights: {web: -0.1, code: "0.5"}
  - phase: one
    weights: {web: 0.3, code: 0.69}
  - phase: two
    share: 1
    weights:
      - {where: x, share: 30%, within: unifrom}
      - {replay: oen, share: 70%}
"""
    errors = refusals(text)
    assert [(error.place.line, error.place.column, error.code) for error in errors] == [
        (1, 10, "not-a-value"),
        (2, 1, "unknown-key"),
        (3, 7, "negative"),
        (4, 18, "wrong-unit"),
        (5, 8, "missing-unit"),
        (6, 17, "not-whole"),
        (6, 30, "unknown-unit"),
        (6, 39, "unknown-key"),
        (7, 10, "unknown-finding"),
        (10, 12, "missing-unit"),
        (11, 20, "negative"),
        (11, 32, "quoted-number"),
        (12, 12, "duplicate-phase"),
        (13, 14, "weights-sum"),
        (17, 40, "unknown-rule"),
        (18, 18, "unknown-phase"),
    ]


def test_the_error_of_a_file_speaks_for_its_first_and_shows_all():
    with pytest.raises(SpecFileError) as caught:
        parse_spec((START.replace("8 s", "8.5 s") + "seed: x\n" + PHASES).encode(), path=Path("a.yaml"))
    error = caught.value
    assert (error.code, error.place, error.message) == ("not-whole", error.errors[0].place, error.errors[0].message)
    assert str(error).splitlines() == [
        "a.yaml:4:8: batch: '8.5 sequences' is 8.5, not a whole number",
        "a.yaml:6:7: seed: 'x' is not a number (a plain number is right here)",
    ]
