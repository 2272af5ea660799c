"""The toy of docs/spec.md: its files, the changes that examples make of it, and what the program says in its folder."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.pages import Block, blocks

from mixture.cli import main

_KEY = re.compile(r"^(?=\w+:)", re.MULTILINE)
TOY = {block.language: block.text for block in reversed(blocks("spec.md")) if block.language in ("yaml", "csv")}
"""The first table and the first spec of the page."""


def changed(spec: str, change: str) -> str:
    """A spec with the top-level keys of a change in place of its own, or behind them."""
    return "".join({**_by_key(spec), **_by_key(change)}.values())


def _by_key(text: str) -> dict[str, str]:
    return {part.partition(":")[0]: part for part in _KEY.split(text) if _KEY.match(part)}


@dataclass(frozen=True)
class Example:
    """Blocks that belong together: files that are written, commands that run, lines that they then say.

    heading: what the example stands under
    steps:   (command, lines that are in what it says, in order); the command is a shell's, without `$ `
    """

    heading: str
    spec: str
    table: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]

    def run(self, folder: Path) -> None:
        """Write the files, run the commands, and look for the lines."""
        (folder / "catalog.csv").write_text(self.table, encoding="utf-8")
        (folder / "mixture.yaml").write_text(self.spec, encoding="utf-8")
        for command, lines in self.steps:
            check_said(said_by(command, folder), lines, command)


def examples(name: str) -> list[Example]:
    """The examples of a page: a `yaml` block is a change of the toy, a `csv` block before it another table for it.

    A `text` block says lines of `mixture plan mixture.yaml`; a `console` block has commands, and lines of each.
    """
    found: list[Example] = []
    table, spec, steps, heading = TOY["csv"], "", list[tuple[str, tuple[str, ...]]](), ""
    for block in [*blocks(name), Block("yaml", "", "")]:
        if block.language in ("csv", "yaml") and steps:
            found.append(Example(heading, spec, table, tuple(steps)))
            table, steps = TOY["csv"], []
        if block.language == "csv":
            table = block.text
        elif block.language == "yaml":
            spec, heading = changed(TOY["yaml"], block.text), block.heading
        elif block.language == "text":
            steps.append(("mixture plan mixture.yaml", tuple(block.text.splitlines())))
        elif block.language == "console":
            steps += commands(block.text)
    return found


def commands(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The commands of a `console` block, with the lines that stand below each."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        yield command, tuple(lines)


def said_by(command: str, folder: Path) -> str:
    """What a command says in a folder, on standard output and standard error; it may refuse."""
    program, *arguments = shlex.split(command, comments=True)
    if program != "mixture":
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout + done.stderr
    said = io.StringIO()
    code: object = 0
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(arguments)
        except SystemExit as leaving:
            code = leaving.code
    assert code in (None, 0, 1), said.getvalue()
    return said.getvalue()


def check_said(said: str, lines: tuple[str, ...], command: str) -> None:
    """Each line is in what was said, behind the one before; `…` stands for what is left out, and any spaces for any."""
    rest = _even(said)
    for line in filter(None, map(str.strip, lines)):
        pattern = ".*?".join(re.escape(_even(part)) for part in line.split("…"))
        match = re.search(pattern, rest)
        assert match, f"{command}\nsays nowhere: {line}\n{said}"
        rest = rest[match.end() :]


def _even(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text)
