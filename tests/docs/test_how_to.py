"""docs/how-to.md runs from its first line to its last, in one folder with some text."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.folder import run_block, write_text
from docs.pages import Block, blocks, page

PAGE = "how-to.md"


def _needs_torch(block: Block) -> bool:
    return "adapters.torch" in block.text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder behind the page's last block, but for those that need torch."""
    place = tmp_path_factory.mktemp("how-to")
    write_text(place)
    for block in blocks(PAGE):
        if not _needs_torch(block):
            run_block(block, place)
    return place


def test_everything_runs_in_the_order_written(folder: Path) -> None:
    assert (folder / "site" / "index.html").is_file()
    assert page(PAGE).count("\n## … ") >= 10


@pytest.mark.needs_torch
def test_the_loader_runs(folder: Path) -> None:
    pytest.importorskip("torch")
    (block,) = filter(_needs_torch, blocks(PAGE))
    run_block(block, folder)
