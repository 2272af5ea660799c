"""mixture diff: files and git revisions of them, in tables, JSON and Markdown."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., str]
IDENTITY = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b"}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def git_in(folder: Path) -> Git:
    """Git in a folder, whatever the person's settings."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"} | IDENTITY

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    return git


SPEC = """\
mixture: tracked
catalog: ../tables/cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: first
    share: 80%
    weights: {table: ../tables/cells.csv, column: first}
  - phase: second
    weights: [{where: "kind = 'prose'", share: 1, within: {table: weights.csv, column: second}}]
"""


CELLS = "domain,tokens,kind,first\na,200000,prose,0.5\nb,90000,prose,0.25\nc,1000000,code,0.25\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, run) -> Path:
    """Three commits: a spec with its tables and lock; another first phase in a table; another second one in another."""
    top = tmp_path_factory.mktemp("made")
    git = git_in(top)
    (top / "tables").mkdir()
    (top / "runs").mkdir()
    git("init", "--quiet", "--initial-branch=main")
    (top / "tables" / "cells.csv").write_text(CELLS, encoding="utf-8")
    (top / "runs" / "weights.csv").write_text("domain,second\na,0.5\nb,0.5\n", encoding="utf-8")
    (top / "runs" / "mixture.yaml").write_text(SPEC, encoding="utf-8")

    def commit() -> None:
        run("lock", top / "runs" / "mixture.yaml")
        git("add", "--all")
        git("commit", "--quiet", "--message", "a change")

    commit()
    edit(top / "tables" / "cells.csv", "prose,0.5", "prose,0.25")
    edit(top / "tables" / "cells.csv", "code,0.25", "code,0.5")
    commit()
    edit(top / "runs" / "weights.csv", "a,0.5\nb,0.5", "a,0.75\nb,0.25")
    commit()
    git("tag", "latest")
    return top


@pytest.fixture
def repository(tmp_path: Path, made: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(made, tmp_path / "repository")


@pytest.fixture
def git(repository: Path) -> Git:
    """Git in the repository."""
    return git_in(repository)


def as_json(run, *arguments: object, cwd: Path | None = None) -> dict:
    (line,) = run("diff", *arguments, "--json", cwd=cwd).stdout.splitlines()
    return json.loads(line)


def test_a_file_is_compared_with_itself_at_a_revision_and_the_tables_of_then(repository: Path, run) -> None:
    spec = repository / "runs" / "mixture.yaml"
    one_back, two_back = (as_json(run, revision, spec) for revision in ("HEAD~1", "HEAD~2"))
    assert (one_back["agreed_steps"], one_back["parts_by"]) == (80, ["weights"])
    assert (two_back["agreed_steps"], two_back["parts_by"]) == (0, ["weights"])
    first, second = two_back["phases"]
    assert (first["half_l1"]["ratio"], second["half_l1"]["ratio"]) == ("1/4", "1/4")
    assert two_back["a"]["name"] == "HEAD~2:runs/mixture.yaml"
    assert as_json(run, "latest", spec)["same"] is True


def test_what_is_not_committed_counts_in_the_file_and_not_in_the_revision(repository: Path, run) -> None:
    edit(repository / "tables" / "cells.csv", "c,1000000,code,0.5", "c,2000000,code,0.5")
    said = as_json(run, "HEAD", repository / "runs" / "mixture.yaml")
    assert said["resized"] == [{"domain": "c", "a": 1000000, "b": 2000000}]


def test_a_revision_and_a_path_count_from_the_top_or_with_a_dot_from_here(repository: Path, run) -> None:
    paths = ("HEAD~1:runs/mixture.yaml", "HEAD:runs/mixture.yaml")
    here = ("HEAD~1:./mixture.yaml", "HEAD:../runs/mixture.yaml")
    from_top, from_here = as_json(run, *paths, cwd=repository), as_json(run, *here, cwd=repository / "runs")
    assert from_top == from_here
    assert as_json(run, "HEAD~1", "HEAD:runs/mixture.yaml", cwd=repository) == from_top
    assert as_json(run, "HEAD:runs/mixture.yaml", "HEAD~1", cwd=repository)["agreed_steps"] == 80


def test_locks_of_revisions_are_compared_with_each_other_and_with_specs(repository: Path, run) -> None:
    lock = repository / "runs" / "mixture.lock.json"
    said = as_json(run, "HEAD~1", lock)
    assert said["agreed_steps"] == 80
    assert said["b"]["digest"] == json.loads(lock.read_bytes())["digest"]
    assert as_json(run, "HEAD~1:runs/mixture.yaml", "HEAD~1:runs/mixture.lock.json", cwd=repository)["same"] is True


def test_a_link_in_the_repository_is_followed(repository: Path, git: Git, run) -> None:
    (repository / "tables" / "cells.csv").rename(repository / "tables" / "held.csv")
    (repository / "tables" / "cells.csv").symlink_to("held.csv")
    git("add", "--all")
    git("commit", "--quiet", "--message", "a link")
    assert as_json(run, "HEAD", repository / "runs" / "mixture.yaml")["same"] is True


def test_a_stores_folder_at_a_revision_is_its_table(repository: Path, git: Git, run) -> None:
    store = repository / "store"
    sources = repository / "sources.yaml"
    for name in ("a", "b"):
        (repository / f"{name}.jsonl").write_text(json.dumps({"text": name * 3000}) + "\n", encoding="utf-8")
    sources.write_text("domains:\n  a: {files: [a.jsonl]}\n  b: {files: [b.jsonl]}\n", encoding="utf-8")
    run("ingest", sources, "-o", store)
    spec = repository / "runs" / "stored.yaml"
    spec.write_text(SPEC.split("phases:")[0].replace("../tables/cells.csv", "../store") + STORED, encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message", "a store")
    edit(spec, "a: 50%, b: 50%", "a: 40%, b: 60%")
    assert as_json(run, "HEAD", spec)["parts_by"] == ["weights"]


STORED = "accept: [over-epochs]\nphases:\n  - {phase: all, weights: {a: 50%, b: 50%}}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("HEAD~9", "runs/mixture.yaml"), "unknown-revision", "git knows no revision 'HEAD~9'"),
        (("--", "-x:a", "runs/mixture.yaml"), "unknown-revision", "git knows no revision '-x'"),
        (("HEAD:nothing.yaml", "runs/mixture.yaml"), "not-in-revision", "revision 'HEAD' has no file nothing.yaml"),
        (("HEAD:runs", "runs/mixture.yaml"), "not-in-revision", "revision 'HEAD' has no file runs"),
        (("nothing.yaml", "gone.yaml"), "file-missing", "there is no file 'nothing.yaml'"),
        (("HEAD", "runs"), "not-in-revision", "has no file runs"),
    ],
)
def test_what_git_does_not_have_is_refused_with_its_code(
    repository: Path, run, arguments, code: str, words: str
) -> None:
    said = run("diff", *arguments, cwd=repository, code=1).stderr
    assert said.startswith(f"error[{code}]: ")
    assert words in said


def test_outside_of_a_repository_a_revision_is_refused(small: Path, run) -> None:
    said = run("diff", "HEAD", small / "mixture.yaml", cwd=small, code=1).stderr
    assert "error[not-a-repository]" in said
    assert str(small) in said


def test_outside_of_a_repository_a_file_that_is_missing_is_named(small: Path, run) -> None:
    for arguments in (("mixture.yaml", "missing.yaml"), ("missing.yaml", "mixture.yaml")):
        said = run("diff", *arguments, cwd=small, code=1).stderr
        assert "there is no file 'missing.yaml', and " in said


def test_errors_of_a_revision_name_its_files_as_git_does(repository: Path, git: Git, run) -> None:
    edit(repository / "runs" / "mixture.yaml", "column: first", "column: fist")
    git("commit", "--quiet", "--all", "--message", "a slip")
    said = run("diff", "HEAD", "HEAD~1:runs/mixture.yaml", cwd=repository, code=1).stderr
    assert said.startswith("error[missing-column]: HEAD:runs/mixture.yaml:9:")
    assert "did you mean 'first'?" in said
    git("rm", "--quiet", "tables/cells.csv")
    git("commit", "--quiet", "--message", "a loss")
    said = run("diff", "HEAD", "HEAD~2:runs/mixture.yaml", cwd=repository, code=1).stderr
    assert "error[file-missing]: HEAD:runs/mixture.yaml:2:" in said
    assert "there is no file HEAD:" in said


def test_errors_about_a_spec_at_the_top_of_a_revision_name_its_files_as_git_does(
    repository: Path, git: Git, run
) -> None:
    text = SPEC.replace("../tables/", "tables/").replace("weights.csv", "tables/weights.csv")
    (repository / "top.yaml").write_text(text, encoding="utf-8")
    (repository / "far.yaml").write_text(text.replace("tables/cells", "s3://bucket/cells"), encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message", "specs at the top")
    said = run("diff", "HEAD:top.yaml", "runs/mixture.yaml", cwd=repository, code=1).stderr
    assert "error[file-missing]: HEAD:top.yaml:11:" in said
    assert "there is no file HEAD:tables/weights.csv" in said
    said = run("diff", "HEAD:far.yaml", "runs/mixture.yaml", cwd=repository, code=1).stderr
    assert said.startswith("error[not-in-revision]: HEAD:far.yaml:2:")


@pytest.mark.parametrize("table", ["../../cells.csv", "/cells.csv"])
def test_a_table_outside_of_the_repository_is_not_known_at_a_revision(
    repository: Path, git: Git, run, table: str
) -> None:
    edit(repository / "runs" / "mixture.yaml", "catalog: ../tables/cells.csv", f"catalog: {table}")
    git("commit", "--quiet", "--all", "--message", "a table elsewhere")
    said = run("diff", "HEAD", "HEAD~1:runs/mixture.yaml", cwd=repository, code=1).stderr
    assert said.startswith("error[not-in-revision]: HEAD:runs/mixture.yaml:2:")
    assert "catalog is outside of the repository" in said


def test_nothing_is_left_of_a_revision_and_the_work_tree_stays_as_it_was(
    repository: Path, git: Git, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    as_json(run, "HEAD~2", repository / "runs" / "mixture.yaml")
    assert list((tmp_path / "temporary").iterdir()) == []
    assert git("status", "--porcelain") == ""


def test_tables_show_what_moved_and_the_first_line_says_where_they_part(small: Path, run) -> None:
    other = small / "other.yaml"
    other.write_text((small / "mixture.yaml").read_text().replace("a: 20%, b: 80%", "a: 40%, b: 60%"))
    shown = run("diff", small / "mixture.yaml", other).stdout
    first, one, two, *_ = shown.splitlines()
    assert first == (
        "They read the same before step 80; from there they differ in the weights."
        " Checkpoints up to step 80 go on under both."
    )
    assert (one, two) == (f"A: {small}/mixture.yaml", f"B: {other}")
    (second,) = (line for line in shown.splitlines() if line.startswith(" second"))
    assert second.split() == ["second", "80", "20", "20,480", "8", "128", "0.2", "0.156"]
    (a,) = (line for line in shown.splitlines() if line.startswith(" a "))
    assert "20% → 40%" in a
    assert "… and 1 more, of which none moved; --all shows them" in shown
    assert " c " in run("diff", small / "mixture.yaml", other, "--all").stdout


def test_where_nothing_moved_a_sentence_stands_for_the_table(small: Path, run) -> None:
    shown = run("diff", small / "mixture.yaml", small / "mixture.lock.json").stdout
    assert shown.startswith("They read the same in all of their 100 steps.\n")
    assert shown.endswith("All 3 domains have the same shares, tokens and epochs.\n\n")
    assert " c " in run("diff", small / "mixture.yaml", small / "mixture.lock.json", "--all").stdout


def test_a_table_in_git_lfs_is_not_taken_for_a_table(repository: Path, git: Git, run) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    (repository / "tables" / "cells.csv").write_text(pointer, encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "a pointer")
    said = run("diff", "HEAD", "HEAD~1:runs/mixture.yaml", cwd=repository, code=1).stderr
    assert said.startswith("error[git-lfs]: ")
    assert "HEAD:tables/cells.csv" in said


def test_a_branch_may_have_the_name_of_a_folder(repository: Path, git: Git, run) -> None:
    git("branch", "tables", "HEAD~1")
    assert as_json(run, "tables", "runs/mixture.yaml", cwd=repository)["agreed_steps"] == 80


def test_a_table_gives_a_lock_its_groups(small: Path, run) -> None:
    (small / "kinds.csv").write_text("domain,tokens,kind\na,1,x\nb,1,x\nc,1,y\n", encoding="utf-8")
    lock, spec = small / "mixture.lock.json", small / "mixture.yaml"
    assert "error[unknown-column]" in run("diff", lock, lock, "--by", "kind", code=1).stderr, "the spec beside has none"
    alone = small / "elsewhere" / "run.lock.json"
    alone.parent.mkdir()
    shutil.copy(lock, alone)
    assert "--catalog TABLE" in run("diff", alone, alone, "--by", "kind", code=1).stderr
    said = as_json(run, lock, lock, "--by", "kind", "--catalog", small / "kinds.csv")
    assert [(move["group"], move["domains"]) for move in said["moves"]] == [("x", 2), ("y", 1)]
    assert "error[unknown-column]" in run("diff", spec, spec, "--by", "kind", code=1).stderr


def test_the_spec_beside_a_lock_or_the_other_side_gives_it_its_groups(repository: Path, run) -> None:
    lock = repository / "runs" / "mixture.lock.json"
    for arguments in ((lock, lock), ("HEAD~1", lock), (lock, "HEAD~1:runs/mixture.yaml")):
        said = as_json(run, *arguments, "--by", "kind", cwd=repository)
        assert {(move["group"], move["domains"]) for move in said["moves"]} == {("prose", 2), ("code", 1)}
    edit(repository / "tables" / "cells.csv", "a,200000,", "other,200000,")
    assert "error[no-catalog]" in run("diff", lock, lock, "--by", "kind", code=1).stderr, "it is of other domains"


def test_a_file_that_a_revision_does_not_have_can_be_compared_with_another(repository: Path, run) -> None:
    new = repository / "runs" / "new.lock.json"
    shutil.copy(repository / "runs" / "mixture.lock.json", new)
    said = run("diff", "HEAD", "runs/new.lock.json", cwd=repository, code=1).stderr
    assert "revision 'HEAD' has no file runs/new.lock.json" in said
    assert "HEAD:PATH" in said
    assert as_json(run, "HEAD:runs/mixture.lock.json", "runs/new.lock.json", cwd=repository)["same"] is True


def test_it_exits_1_only_where_they_differ_and_that_is_asked_for(small: Path, run) -> None:
    other = small / "other.yaml"
    other.write_text((small / "mixture.yaml").read_text().replace("budget: 100", "budget: 90"))
    run("diff", small / "mixture.yaml", other)
    run("diff", small / "mixture.yaml", small / "mixture.lock.json", "--exit-code")
    for form in ((), ("--json",), ("--markdown",)):
        assert run("diff", small / "mixture.yaml", other, "--exit-code", *form, code=1).stdout


def test_markdown_is_for_a_pull_request_and_not_json_too(small: Path, run) -> None:
    spec = small / "mixture.yaml"
    assert run("diff", spec, spec, "--markdown").stdout.startswith(f"**`{spec}` → `{spec}`** They read the same")
    run("diff", spec, spec, "--markdown", "--json", code=2)


def test_a_narrow_terminal_has_short_tokens(small: Path) -> None:
    other = small / "other.yaml"
    other.write_text((small / "mixture.yaml").read_text().replace("budget: 100", "budget: 90000"))
    edit(other, "mixture: small", "mixture: small\naccept: [over-epochs]")
    command = [str(Path(sys.executable).with_name("mixture")), "diff", str(small / "mixture.lock.json"), str(other)]
    main, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "TERM": "xterm"}
    done = subprocess.Popen(command, stdout=terminal, stderr=terminal, stdin=subprocess.DEVNULL, env=environment)
    os.close(terminal)
    text = b""
    while True:
        try:
            more = os.read(main, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(main)
    assert done.wait() == 0
    assert "61,440 → " not in text.decode()
    assert "61.44K → 55.3M" in text.decode()
