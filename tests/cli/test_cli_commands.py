"""Every command speaks JSON, and what messages recommend are commands and options that there are."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from mixture.cli.app import app

ROOT = Path(__file__).parents[2]


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Each command by its words, with its options."""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path), {option for parameter in command.params for option in parameter.opts}


COMMANDS = dict(commands(get_command(app)))


def test_every_command_has_json() -> None:
    assert len(COMMANDS) > 30
    assert [name for name, options in COMMANDS.items() if "--json" not in options] == []


def test_a_schema_is_one_object_on_one_line(ask, tmp_path) -> None:
    text = ask("schema", "--json")
    assert text.count("\n") == 1
    assert json.loads(text) == json.loads(ask("schema"))
    assert json.loads(ask("schema", "sources", "-o", tmp_path / "a.json", "--json")) == {"schema": f"{tmp_path}/a.json"}


def recommended() -> Iterator[tuple[str, str]]:
    """`mixture …` in backquotes in the texts of the library and the service, docstrings too, where they stand."""
    for folder in ("mixture", "api"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    for found in re.findall(r"`mixture ([a-z][^`]*)", node.value):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", found


def test_recommended_commands_and_their_options_exist() -> None:
    wrong, looked_at = [], 0
    for where, text in recommended():
        words = text.split()
        for name in words[0].split("|"):
            groups = [one.removeprefix(f"{name} ") for one in COMMANDS if one.startswith(f"{name} ")]
            below = [one for one in (words[1].split("|") if groups and len(words) > 1 else []) if one in groups]
            known = [f"{name} {one}" for one in below] or ([name] if name in COMMANDS else [])
            if not known and not groups:
                wrong.append(f"{where}: mixture {text}")
            options = re.findall(r"(?<!\S)--?[a-z][a-z-]*|(?<!\S)-[A-Za-z]\b", text)
            looked_at += len(options)
            wrong += [f"{where}: {one} {option}" for one in known for option in options if option not in COMMANDS[one]]
    assert wrong == []
    assert looked_at > 20
