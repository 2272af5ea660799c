"""Sources to clusters by quality: what is made, and that it is the same however it is made."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mixture.clusters import ClusterOptions, ClusterReport, ClusterStage, Processes, cluster
from mixture.data.ingest import ingest
from mixture.data.store import open_store
from mixture.planning.catalog import read_overview


def test_every_document_is_in_one_place_with_its_text_source_and_attributes(made, texts, rows) -> None:
    found = rows(made.path)
    assert Counter(row["id"] for row in found) == Counter(texts.keys())
    for row in found:
        assert row["text"] == texts[row["id"]]
        assert row["source"] == row["package"] == row["id"].split("/")[0]
        assert 0 <= row["quality_score"] <= 1


def test_clusters_follow_what_documents_are_about(made, rows) -> None:
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows(made.path):
        sources[row["cluster"]][row["source"]] += 1
    assert len(sources) == 6
    purity = sum(max(counted.values()) for counted in sources.values()) / sum(map(Counter.total, sources.values()))
    assert purity > 0.8


def test_the_overview_counts_what_is_there(made: ClusterReport, rows) -> None:
    overview = read_overview(made.path / "overview.json")
    found = rows(made.path)
    counted = Counter(row["cluster"] for row in found)
    assert {row.id: row.documents for row in overview.clusters} == counted
    assert [row.id for row in overview.clusters] == [f"c{number:02d}" for number in range(6)]
    assert len({row.title for row in overview.clusters}) == 6
    assert all(3 <= len(row.title.split()) <= 5 and row.terms for row in overview.clusters)
    assert overview.made.documents == len(found)
    assert overview.made.bytes == sum(len(row["text"].encode()) for row in found)
    assert overview.made.k == 6
    assert overview.made.k_train == 10 * 6
    assert {source.name: source.documents for source in overview.made.sources} == Counter(r["source"] for r in found)


def test_levels_are_cut_by_the_scores_that_the_overview_keeps(made: ClusterReport, rows) -> None:
    quality = made.overview.quality
    assert quality is not None
    assert len(quality.cut_offs) == 4
    assert sum(feature.weight for feature in quality.features) == pytest.approx(1, abs=1e-5)
    found = rows(made.path)
    for row in found:
        assert row["quality"] == str(sum(row["quality_score"] >= cut for cut in quality.cut_offs))
    sizes = Counter(row["quality"] for row in found)
    assert max(sizes.values()) < 1.5 * min(sizes.values())


def test_typical_documents_are_their_domain_s(made: ClusterReport, rows) -> None:
    ids: dict[str, set[str]] = defaultdict(set)
    for row in rows(made.path):
        ids[f"{row['cluster']}q{row['quality']}"].add(row["id"])
    assert {domain.domain for domain in made.overview.domains} == ids.keys()
    for domain in made.overview.domains:
        assert len(domain.typical) == min(20, len(ids[domain.domain]))
        assert set(domain.typical) <= ids[domain.domain]


def test_what_is_made_can_be_ingested_and_the_store_knows_its_clusters(made: ClusterReport, tmp_path: Path) -> None:
    report = ingest(made.path / "sources.yaml", tmp_path / "store", processes=1)
    assert report.documents == made.overview.made.documents
    assert open_store(tmp_path / "store").overview == made.overview
    titles = {row.id: row.title for row in made.overview.clusters}
    with (tmp_path / "store" / "domains.parquet").open("rb") as file:
        domains = pq.read_table(file).to_pylist()
    assert {row["domain"] for row in domains} == {domain.domain for domain in made.overview.domains}
    for row in domains:
        assert row["domain"] == f"{row['cluster']}q{row['quality']}"
        assert row["title"] == titles[row["cluster"]]


def test_made_again_by_two_processes_every_byte_is_the_same(
    made: ClusterReport, library: Path, tmp_path: Path, digests
) -> None:
    again = cluster(library / "sources.yaml", tmp_path / "out", ClusterOptions(k=6), engine=Processes(2))
    assert again.overview.made.digest == made.overview.made.digest
    assert digests(again.path) == digests(made.path)


def test_the_digest_is_of_which_document_is_in_which_domain(made, library: Path, tmp_path: Path, rows) -> None:
    other = cluster(library / "sources.yaml", tmp_path / "out", ClusterOptions(k=6, quality=3), engine=Processes(1))
    assert other.overview.made.digest != made.overview.made.digest
    assert {row["quality"] for row in rows(other.path)} == {"0", "1", "2"}
    assert {row["id"]: row["cluster"] for row in rows(other.path)} == {
        row["id"]: row["cluster"] for row in rows(made.path)
    }


def test_a_run_that_was_stopped_goes_on_with_what_is_missing_and_gives_the_same_bytes(
    made: ClusterReport, library: Path, tmp_path: Path, digests
) -> None:
    out = tmp_path / "out"
    shutil.copytree(made.path, out)
    (out / "overview.json").unlink()
    missing = out / "work" / "written" / "part-00003.json"
    missing.unlink()
    for path in out.rglob("part-00003.parquet"):
        path.write_bytes(b"half")
    kept = {path: path.stat().st_ino for path in out.rglob("part-*.parquet") if "00003" not in path.name}
    told: list[tuple[ClusterStage, int, int]] = []
    cluster(
        library / "sources.yaml", out, ClusterOptions(k=6), engine=Processes(1),
        progress=lambda now: told.append((now.stage, now.done, now.total)),
    )  # fmt: skip
    assert digests(out) == digests(made.path)
    assert {path: path.stat().st_ino for path in kept} == kept
    writes = [(done, total) for stage, done, total in told if stage is ClusterStage.WRITE]
    assert len(writes) == 2
    assert 0 < writes[0][0] < writes[1][0] == writes[1][1]


def test_one_cluster_is_the_whole(library: Path, tmp_path: Path, texts) -> None:
    report = cluster(library / "sources.yaml", tmp_path / "out", ClusterOptions(k=1, quality=1), engine=Processes(1))
    assert report.domains == {("c00", "0"): len(texts)}


def test_a_sample_places_all_documents(library: Path, tmp_path: Path, texts) -> None:
    report = cluster(library / "sources.yaml", tmp_path / "out", ClusterOptions(k=4, sample=200), engine=Processes(1))
    assert sum(report.domains.values()) == len(texts)
    assert report.overview.made.k_train in range(10, 21)  # a tenth of those in the sample that differ


def test_documents_without_text_are_left_out_and_counted(tmp_path: Path, texts) -> None:
    lines = [json.dumps({"text": text}) for text in list(texts.values())[:50]]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, '{"text": ""}', '{"text": null}']), encoding="utf-8")
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: [a.jsonl]}}", encoding="utf-8")
    report = cluster(tmp_path / "sources.yaml", tmp_path / "out", ClusterOptions(k=2), engine=Processes(1))
    assert report.overview.made.documents == 50
    assert report.dropped == {"empty-text": 1, "null-text": 1}
    assert "1 empty-text" in report.overview.made.notes


def test_documents_without_ids_are_called_by_their_text(tmp_path: Path, texts, rows) -> None:
    for number, text in enumerate(list(texts.values())[:30]):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    (tmp_path / "sources.yaml").write_text("domains: {a: {files: ['*.txt']}}", encoding="utf-8")
    report = cluster(tmp_path / "sources.yaml", tmp_path / "out", ClusterOptions(k=2), engine=Processes(1))
    for row in rows(report.path):
        assert row["id"] == hashlib.blake2b(row["text"].encode(), digest_size=16).hexdigest()
