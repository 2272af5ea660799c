"""Vectors from a model that is installed, with its weights, and never fetched."""

from __future__ import annotations

from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mixture.clusters import ClusterOptions, Processes, cluster
from mixture.clusters.embed import load_embedder, shown_name

pytestmark = pytest.mark.skipif(find_spec("wordllama") is None, reason="the package wordllama is not installed")


def test_a_model_gives_near_vectors_to_texts_that_are_near() -> None:
    texts = ["the king and the queen", "a prince and his father, the king", "device drivers of the kernel"]
    vectors = load_embedder("wordllama").embed(texts)
    assert vectors.dtype == np.float32
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2]


def test_a_model_in_a_folder_is_called_by_the_folder_s_name_and_not_by_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "all-MiniLM-L6-v2").mkdir()
    assert shown_name(str(tmp_path / "all-MiniLM-L6-v2")) == "all-MiniLM-L6-v2"
    assert shown_name(f"{tmp_path}/all-MiniLM-L6-v2/") == "all-MiniLM-L6-v2"
    assert shown_name("sentence-transformers/all-MiniLM-L6-v2") == "sentence-transformers/all-MiniLM-L6-v2"


def test_clusters_by_a_model_follow_what_documents_are_about_and_are_the_same_with_two_processes(
    library: Path, tmp_path: Path, rows, digests
) -> None:
    lines = [f"  {name}: {{files: ['{library}/{name}.*'], id: id}}" for name in ("email", "xml")]
    (tmp_path / "sources.yaml").write_text("\n".join(["domains:", *lines]), encoding="utf-8")
    options = ClusterOptions(k=4, quality=1, embed="wordllama")
    reports = [
        cluster(tmp_path / "sources.yaml", tmp_path / str(number), options, engine=Processes(number))
        for number in (1, 2)
    ]
    assert digests(reports[0].path) == digests(reports[1].path)
    assert reports[0].overview.made.embedding == "wordllama"
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows(reports[0].path):
        sources[row["cluster"]][row["source"]] += 1
    assert sum(max(counted.values()) for counted in sources.values()) > 0.7 * sum(map(Counter.total, sources.values()))
