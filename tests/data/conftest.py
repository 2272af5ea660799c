"""Sources and stores, made of real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from data.makers import MakeStore, WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store


@pytest.fixture
def sources(tmp_path: Path) -> WriteSources:
    """Write a sources file into the test's folder."""

    def write(text: str) -> Path:
        path = tmp_path / "SOURCES.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def make_store(tmp_path: Path, sources: WriteSources) -> MakeStore:
    """A store from texts by domain: web=["one", "two"]; ids are their numbers."""

    def make(file_tokens: int = 65_536, /, **domains: list[str]) -> Store:
        for name, texts in domains.items():
            write_lines(tmp_path / f"{name}.jsonl", ({"text": t, "n": i} for i, t in enumerate(texts)))
        listed = "\n".join(f"  {name}: {{files: [{name}.jsonl], id: n}}" for name in domains)
        ingest(sources("domains:\n" + listed), tmp_path / "store", file_tokens=file_tokens)
        return open_store(tmp_path / "store")

    return make


@pytest.fixture
def merged_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have an ingest make a part of each domain, however small."""
    monkeypatch.setattr("mixture.data.ingest.resumption._MERGE_DOMAINS", 1)
