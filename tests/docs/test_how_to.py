"""docs/how-to.md runs from its first line to its last, in one folder with some text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from docs.pages import Block, blocks, page
from docs.toys import check_said, commands, said_by

PAGE = "how-to.md"
TEXT = {"web": (400, 60), "code": (150, 90), "books": (12, 2500)}
"""Documents, and words of each."""


def _needs_torch(block: Block) -> bool:
    return "adapters.torch" in block.text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder behind the page's last block, but for those that need torch."""
    place = tmp_path_factory.mktemp("how-to")
    (place / "text").mkdir()
    for name, (documents, words) in TEXT.items():
        with (place / "text" / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for i in range(documents):
                text = " ".join(f"{name[:2]}{i}w{j * 7919 % 1000}" for j in range(words))
                file.write(json.dumps({"id": f"{name}/{i}", "text": text}) + "\n")
    for block in blocks(PAGE):
        if not _needs_torch(block):
            _run(block, place)
    return place


def _run(block: Block, place: Path) -> None:
    if block.language == "console":
        for command, lines in commands(block.text):
            said = said_by(command, place)
            assert "error[" not in said, f"{command}\n{said}"
            check_said(said, lines, command)
    elif block.language == "python":
        program = [sys.executable, "-W", "error", "-c", block.text]
        done = subprocess.run(program, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block.text}\n{done.stderr[-2000:]}"
    else:
        name, _, text = block.text.removeprefix("# ").partition("\n")
        (place / name).write_text(text, encoding="utf-8")


def test_everything_runs_in_the_order_written(folder: Path) -> None:
    assert (folder / "site" / "index.html").is_file()
    assert page(PAGE).count("\n## … ") >= 10


@pytest.mark.needs_torch
def test_the_loader_runs(folder: Path) -> None:
    pytest.importorskip("torch")
    (block,) = filter(_needs_torch, blocks(PAGE))
    _run(block, folder)
