"""What a run refuses, with its code, before it has touched anything that is not its own."""

from __future__ import annotations

import fcntl
import gzip
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from mixture.clusters import ClusterOptions, Processes, cluster
from mixture.data.ingest import ingest
from mixture.data.texts import UnreadableError
from mixture.errors import ClusterError, SpecError


def refused(sources: Path, out: Path, options: ClusterOptions) -> ClusterError:
    with pytest.raises(ClusterError) as raised:
        cluster(sources, out, options, engine=Processes(1))
    return raised.value


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (ClusterOptions(k=0), "k-outside"),
        (ClusterOptions(k=-1), "k-outside"),
        (ClusterOptions(k=10_001), "k-outside"),
        (ClusterOptions(k=4, quality=0), "quality-outside"),
        (ClusterOptions(k=4, sample=1), "sample-outside"),
        (ClusterOptions(k=4, seed=-1), "seed-outside"),
        (ClusterOptions(k=4, floor=Fraction(1)), "floor-outside"),
        (ClusterOptions(k=4, date="today"), "date-format"),
        (ClusterOptions(k=4, date="2026-02-30"), "date-format"),
        (ClusterOptions(k=4, cluster_column="package"), "labels-or-number"),
        (ClusterOptions(), "labels-or-k"),
    ],
)
def test_options_that_can_not_be(library: Path, tmp_path: Path, options: ClusterOptions, code: str) -> None:
    error = refused(library / "sources.yaml", tmp_path / "out", options)
    assert error.code == code
    assert error.hint
    assert not (tmp_path / "out").exists()


def test_more_clusters_than_documents_with_how_many_there_are(library: Path, tmp_path: Path, texts) -> None:
    error = refused(library / "sources.yaml", tmp_path / "out", ClusterOptions(k=len(texts) + 1))
    assert error.code == "k-too-large"
    assert error.facts == {"most": len(texts)}


def small(folder: Path, texts: list[str]) -> Path:
    lines = [json.dumps({"text": text}) for text in texts]
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "sources.yaml").write_text("domains: {a: {files: [a.jsonl]}}", encoding="utf-8")
    return folder / "sources.yaml"


def test_more_clusters_than_documents_that_differ(tmp_path: Path) -> None:
    sources = small(tmp_path, ["river bank water", "river bank water", "stock bank money"] * 5)
    error = refused(sources, tmp_path / "out", ClusterOptions(k=3))
    assert (error.code, error.facts) == ("k-too-large", {"most": 2})


@pytest.mark.parametrize(
    ("texts", "code"), [(["", " "], "no-documents"), (["1 2 3", "44 55"], "no-words"), (["one", "two"], "no-words")]
)
def test_sources_that_say_nothing(tmp_path: Path, texts: list[str], code: str) -> None:
    assert refused(small(tmp_path, texts), tmp_path / "out", ClusterOptions(k=2)).code == code


@pytest.mark.parametrize("texts", [["a single document"], ["1 2 3", "44 55"], ["one", "two"]])
def test_one_cluster_needs_no_common_words(tmp_path: Path, texts: list[str]) -> None:
    sources = small(tmp_path, texts)
    error = refused(sources, tmp_path / "out", ClusterOptions(k=len(texts) + 1))
    assert error.hint == f"-k {len(texts)}"
    report = cluster(sources, tmp_path / "out", ClusterOptions(k=1), engine=Processes(1))
    (row,) = report.overview.clusters
    assert (row.id, row.documents) == ("c00", len(texts))
    store = ingest(report.path / "sources.yaml", tmp_path / "store")
    assert store.documents == len(texts)


def test_a_floor_that_the_clusters_can_not_have(library: Path, tmp_path: Path) -> None:
    error = refused(library / "sources.yaml", tmp_path / "out", ClusterOptions(k=10, floor=Fraction(1, 5)))
    assert error.code == "floor-too-high"


def test_a_folder_with_something_else_in_it_is_left_as_it_is(library: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years", encoding="utf-8")
    assert refused(library / "sources.yaml", tmp_path, ClusterOptions(k=4)).code == "folder-in-use"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert refused(library / "sources.yaml", tmp_path / "thesis.txt", ClusterOptions(k=4)).code == "folder-in-use"


def test_finished_clusters_are_not_written_over(library: Path, made) -> None:
    assert refused(library / "sources.yaml", made.path, ClusterOptions(k=6)).code == "clusters-exist"


def test_a_run_does_not_go_on_with_other_options_or_sources(tmp_path: Path) -> None:
    sources = small(tmp_path, ["river bank water", "bank of money", "river water"])
    cluster(sources, tmp_path / "out", ClusterOptions(k=1), engine=Processes(1))
    (tmp_path / "out" / "overview.json").unlink()
    error = refused(sources, tmp_path / "out", ClusterOptions(k=2))
    assert (error.code, error.facts) == ("asked-otherwise", {"name": "k"})
    assert "k: 1, now 2" in error.message
    small(tmp_path, ["river bank"])
    error = refused(sources, tmp_path / "out", ClusterOptions(k=1))
    assert (error.code, error.facts) == ("asked-otherwise", {"name": "files"})


def test_a_number_that_was_too_large_can_be_mended_where_it_was_said(tmp_path: Path) -> None:
    sources = small(tmp_path, ["river bank water", "bank of money", "river water"])
    assert refused(sources, tmp_path / "out", ClusterOptions(k=4)).code == "k-too-large"
    assert refused(sources, tmp_path / "out", ClusterOptions(k=2, seed=1)).facts == {"name": "seed"}
    assert len(cluster(sources, tmp_path / "out", ClusterOptions(k=2), engine=Processes(1)).overview.clusters) == 2


def test_sources_that_change_under_a_run_are_refused(tmp_path: Path) -> None:
    sources = small(tmp_path, ["river bank water", "bank of money", "river water"])
    cluster(sources, tmp_path / "out", ClusterOptions(k=1), engine=Processes(1))
    (tmp_path / "out" / "overview.json").unlink()
    (tmp_path / "out" / "work" / "written" / "part-00000.json").unlink()
    small(tmp_path, ["river bank water", "bank of honey", "river water"])  # of the same size
    assert refused(sources, tmp_path / "out", ClusterOptions(k=1)).code == "sources-changed"


def test_two_runs_do_not_write_one_folder(tmp_path: Path) -> None:
    sources = small(tmp_path, ["1 2", "3 4"])
    refused(sources, tmp_path / "out", ClusterOptions(k=2))
    with (tmp_path / "out" / "work" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert refused(sources, tmp_path / "out", ClusterOptions(k=2)).code == "cluster-running"


def test_what_is_not_right_in_the_sources_file_is_told_as_ingest_tells_it(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text("domains: {a: {file: [x]}}", encoding="utf-8")
    with pytest.raises(SpecError) as raised:
        cluster(tmp_path / "sources.yaml", tmp_path / "out", ClusterOptions(k=1))
    assert raised.value.place is not None
    assert raised.value.place.line == 1


def test_a_package_that_is_not_installed_is_named_with_how_to_get_it(tmp_path: Path) -> None:
    sources = small(tmp_path, ["river bank water", "bank of money", "river water"])
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {{"sklearn", "wordllama", "sentence_transformers"}}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from mixture.clusters import ClusterOptions, Processes, cluster
from mixture.errors import ClusterError
for number, embed in enumerate(["tfidf-svd", "wordllama", "some/model"]):
    try:
        cluster({str(sources)!r}, f"{tmp_path}/{{number}}", ClusterOptions(k=1, embed=embed), engine=Processes(1))
    except ClusterError as error:
        print(error.code, error.hint)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["no-sklearn", *["embedder-not-installed"] * 2], done.stderr
    for line, package in zip(lines, ("'mixture-lock[cluster]'", "wordllama", "sentence-transformers"), strict=True):
        assert f"pip install {package}" in line


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    sources = small(tmp_path, ["river bank water", "bank of money"])
    error = refused(sources, tmp_path / "out", ClusterOptions(k=1, embed="./no/model"))
    assert error.code == "no-such-model"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("files: [a.jsonl]\ndomain_column: label\n", "domain_column"),
        ("domains: {a: {files: [a.jsonl]}}\nholdout: {share: 1%}\n", "holdout"),
        ("domains: {a: {files: [a.jsonl], holdout: {share: 1%}}}\n", "holdout"),
    ],
)
def test_what_only_an_ingest_can_use_is_not_passed_over(tmp_path: Path, text: str, key: str) -> None:
    sources = small(tmp_path, ["one text", "another text"])
    sources.write_text(text, encoding="utf-8")
    error = refused(sources, tmp_path / "out", ClusterOptions(k=1))
    assert error.code == "key-unused"
    assert f"`{key}` says nothing of clusters" in str(error)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("processes", [1, 2])
def test_all_unreadable_files_at_once_also_those_found_while_reading(
    tmp_path: Path, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mixture.clusters.partitions._PIECES", 1)
    lines = "".join(json.dumps({"text": f"some words of number {n * 7919}"}) + "\n" for n in range(200)).encode()
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines)[:-9])
    for name in ("c", "d"):
        (tmp_path / f"{name}.parquet").write_bytes(b"hello")
    (tmp_path / "e.jsonl").write_bytes(lines)
    path = tmp_path / "sources.yaml"
    path.write_text("domains: {web: {files: ['*.parquet', '*.jsonl']}, more: {files: ['*.gz']}}", encoding="utf-8")
    options = ClusterOptions(k=1)
    for names in ("cd", "ab"):
        with pytest.raises(UnreadableError) as caught:
            cluster(path, tmp_path / "out", options, engine=Processes(processes))
        assert [Path(str(error.place.file)).name[0] for error in caught.value.errors if error.place] == list(names)
        path.write_text("domains: {web: {files: ['*.jsonl']}, more: {files: ['*.gz']}}", encoding="utf-8")
    for name in "ab":
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines))
    assert sum(cluster(path, tmp_path / "repaired", options, engine=Processes(1)).domains.values()) == 600
