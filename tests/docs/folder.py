"""A folder with some text, in which a page's blocks are run as a reader would run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from docs.pages import Block
from docs.toys import check_said, commands, said_by

TEXT = {"web": (400, 60), "code": (150, 90), "books": (12, 2500)}
"""Documents, and words of each."""


def write_text(place: Path) -> None:
    """text/NAME.jsonl of three domains, as docs/how-to.md has them."""
    (place / "text").mkdir()
    for name, (documents, words) in TEXT.items():
        with (place / "text" / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for i in range(documents):
                text = " ".join(f"{name[:2]}{i}w{j * 7919 % 1000}" for j in range(words))
                file.write(json.dumps({"id": f"{name}/{i}", "text": text}) + "\n")


def run_block(block: Block, place: Path) -> None:
    """Run commands or a program, which may not fail; or write the file whose name the block begins with."""
    if block.language == "console":
        for command, lines in commands(block.text):
            said = said_by(command, place)
            assert "error[" not in said, f"{command}\n{said}"
            check_said(said, lines, command)
    elif block.language == "python":
        run_python(block.text, place)
    else:
        name, _, text = block.text.removeprefix("# ").partition("\n")
        (place / name).write_text(text, encoding="utf-8")


def run_python(text: str, place: Path, *, ignored: tuple[str, ...] = ()) -> None:
    """Run a program in a process of its own; warnings are errors, but for those that are to be ignored."""
    options = [option for one in ("error", *(f"ignore:{warning}" for warning in ignored)) for option in ("-W", one)]
    program = [sys.executable, *options, "-c", text]
    done = subprocess.run(program, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{text}\n{done.stderr[-2000:]}"
