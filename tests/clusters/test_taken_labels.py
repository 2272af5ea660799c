"""Labels that are there are taken as they are."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from mixture.clusters import ClusterOptions, ClusterStage, Processes, cluster
from mixture.data.ingest import ingest
from mixture.data.store import open_store
from mixture.errors import ClusterError, MixtureError


def test_a_column_gives_the_clusters_and_quality_is_measured(library: Path, tmp_path: Path, rows) -> None:
    options = ClusterOptions(cluster_column="package")
    report = cluster(library / "sources.yaml", tmp_path / "out", options, engine=Processes(1))
    assert all(row["cluster"] == row["package"] for row in rows(report.path))
    assert {row["quality"] for row in rows(report.path)} == set("01234")
    terms = {row.id: " ".join(row.terms) for row in report.overview.clusters}
    assert "header" in terms["email"]
    assert "test" in terms["unittest"]
    assert report.overview.made.k_train is None
    assert "column 'package'" in report.overview.made.method
    assert report.overview.made.embedding is None


def test_columns_give_both_and_ids_stay_as_they_are_written(library: Path, tmp_path: Path, rows) -> None:
    options = ClusterOptions(cluster_column="package", quality_column="grade")
    report = cluster(library / "sources.yaml", tmp_path / "out", options, engine=Processes(1))
    found = rows(report.path)
    assert {row["quality"] for row in found} == {"0", "01"}
    assert all(row["quality"] == ("0" if not row["id"].endswith(":0") else "01") for row in found)
    assert "quality_score" not in found[0]
    assert "grade" not in found[0]
    assert report.overview.quality is None
    assert {"asyncioq0", "asyncioq01"} <= {domain.domain for domain in report.overview.domains}


@pytest.fixture
def folders(tmp_path: Path, library: Path) -> Path:
    """Sources whose files stand in folders cluster=…/quality=…"""
    for number, package in enumerate(("asyncio", "email", "xml")):
        for path in library.glob(f"{package}.*"):
            folder = tmp_path / f"cluster=0{number + 3}" / "quality=4"
            folder.mkdir(parents=True)
            shutil.copy(path, folder)
    (tmp_path / "sources.yaml").write_text("domains: {all: {files: ['cluster=*/**'], id: id}}", encoding="utf-8")
    return tmp_path


def test_folders_give_both(folders: Path, rows) -> None:
    report = cluster(folders / "sources.yaml", folders / "out", ClusterOptions(), engine=Processes(1))
    found = rows(report.path)
    assert Counter(row["cluster"] for row in found).keys() == {"03", "04", "05"}
    assert {row["quality"] for row in found} == {"4"}
    assert all(row["id"].startswith("email/") == (row["cluster"] == "04") for row in found)
    assert [domain.domain for domain in report.overview.domains] == ["c03q4", "c04q4", "c05q4"]
    assert [row.id for row in report.overview.clusters] == ["03", "04", "05"]


def test_a_number_of_clusters_makes_them_anew_whatever_the_folders_say(folders: Path, rows) -> None:
    report = cluster(folders / "sources.yaml", folders / "out", ClusterOptions(k=5), engine=Processes(1))
    assert {row["cluster"] for row in rows(report.path)} == {f"c0{number}" for number in range(5)}
    assert {row["quality"] for row in rows(report.path)} == {"4"}


def test_folders_that_only_some_files_have_are_refused(folders: Path, library: Path) -> None:
    shutil.copy(library / "unittest.jsonl", folders / "more.jsonl")
    (folders / "sources.yaml").write_text("domains: {all: {files: ['cluster=*/**', more.jsonl]}}", encoding="utf-8")
    with pytest.raises(ClusterError, match=r"more\.jsonl: its path has no folder cluster=") as raised:
        cluster(folders / "sources.yaml", folders / "out", ClusterOptions(), engine=Processes(1))
    assert raised.value.code == "label-missing"
    assert not (folders / "out").exists()


def test_a_document_without_a_label_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "x", "text": "one two", "topic": "03"}\n{"id": "y", "text": "one two"}\n', encoding="utf-8"
    )
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: [a.jsonl], id: id}}", encoding="utf-8")
    with pytest.raises(ClusterError, match="document 'y' has no column 'topic'") as raised:
        cluster(
            tmp_path / "sources.yaml", tmp_path / "out", ClusterOptions(cluster_column="topic"), engine=Processes(1)
        )
    assert raised.value.code == "label-missing"


def test_ids_that_no_path_could_hold_are_kept(tmp_path: Path, rows) -> None:
    lines = [f'{{"id": "{n}", "text": "some words of topic {n % 2}", "topic": "a/b [{n % 2}]*"}}' for n in range(8)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: [a.jsonl], id: id}}", encoding="utf-8")
    options = ClusterOptions(cluster_column="topic", quality=1)
    report = cluster(tmp_path / "sources.yaml", tmp_path / "out", options, engine=Processes(1))
    assert {row.id for row in report.overview.clusters} == {"a/b [0]*", "a/b [1]*"}
    again = cluster(report.path / "sources.yaml", tmp_path / "again", ClusterOptions(), engine=Processes(1))
    assert again.domains == {("a/b [0]*", "0"): 4, ("a/b [1]*", "0"): 4}


def test_labels_that_would_make_one_domain_of_two_are_refused(tmp_path: Path) -> None:
    lines = [f'{{"text": "words of {topic} are here", "topic": "{topic}"}}' for topic in ("03", "c03")]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: [a.jsonl]}}", encoding="utf-8")
    options = ClusterOptions(cluster_column="topic", quality=1)
    with pytest.raises(ClusterError) as raised:
        cluster(tmp_path / "sources.yaml", tmp_path / "out", options, engine=Processes(1))
    assert raised.value.code == "labels-alike"


def labelled(folder: Path, *labels: tuple[str, str]) -> Path:
    """Sources of two documents for each pair of labels, with them in columns."""
    lines = [
        json.dumps({"id": f"{number}-{copy}", "text": f"words of {number}", "topic": topic, "grade": grade})
        for number, (topic, grade) in enumerate(labels)
        for copy in range(2)
    ]
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "sources.yaml").write_text("domains: {a: {files: [a.jsonl], id: id}}", encoding="utf-8")
    return folder / "sources.yaml"


BOTH = ClusterOptions(cluster_column="topic", quality_column="grade")


@pytest.mark.parametrize(
    ("label", "code"),
    [
        ("a\nb", "control-character"),
        ("a\0b", "control-character"),
        ("a\u2028b", "control-character"),
        (" ", "label-missing"),
        ("", "label-missing"),
        ("x" * 248, "name-too-long"),
        ("x" * 5000, "name-too-long"),
        ("9" * 5000, "name-too-long"),
        ("中" * 28, "name-too-long"),
    ],
)
@pytest.mark.parametrize("kind", ["cluster", "quality"])
def test_a_label_that_can_not_be_one_is_refused_with_file_and_document(
    tmp_path: Path, label: str, code: str, kind: str
) -> None:
    sources = labelled(tmp_path, ("web", "4"), (label, "4") if kind == "cluster" else ("web", label))
    with pytest.raises(ClusterError, match="document '1-0'") as raised:
        cluster(sources, tmp_path / "out", BOTH, engine=Processes(1))
    error = raised.value
    assert (error.code, error.facts, bool(error.hint)) == (code, {"document": "1-0"}, True)
    assert error.place.file.endswith("a.jsonl")
    assert not list((tmp_path / "out").rglob("part-*"))


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        ([("a", "q1-q2"), ("a-q1", "q2")], "labels-alike"),
        ([("web", "x@validation")], "reserved-name"),
        ([("web@sha256:", "1")], "reserved-name"),
        ([("1", "4"), ("9223372036854775808", "4")], "integer-too-large"),
        ([("web", "4"), ("web", "9223372036854775808")], "integer-too-large"),
    ],
)
def test_labels_that_ingest_would_refuse_are_refused_before_anything_is_fitted(
    tmp_path: Path, pairs: list[tuple[str, str]], code: str
) -> None:
    stages = []
    with pytest.raises(MixtureError) as raised:
        cluster(
            labelled(tmp_path, *pairs), tmp_path / "out", BOTH,
            engine=Processes(1), progress=lambda now: stages.append(now.stage),
        )  # fmt: skip
    assert raised.value.code == code
    assert raised.value.place.file == str(tmp_path / "sources.yaml")
    assert set(stages) == {ClusterStage.READ}


def test_labels_that_are_odd_and_right_become_a_store(tmp_path: Path) -> None:
    pairs = [("x" * 247, "y" * 247), ("中" * 27, "é"), ("no", "a b"), ("-1", ".."), ("9223372036854775808", "%2f")]
    report = cluster(labelled(tmp_path, *pairs), tmp_path / "out", BOTH, engine=Processes(1))
    assert report.domains == dict.fromkeys(report.domains, 2)
    assert report.domains.keys() == set(pairs)
    ingest(report.path / "sources.yaml", tmp_path / "store")
    found = open_store(tmp_path / "store").overview
    assert found == report.overview
