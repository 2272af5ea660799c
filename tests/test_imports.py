"""Imports run one way, and what is heavy is imported where it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mixture"
LEVELS = (
    {"_version", "errors", "file_kinds", "file_names", "names", "spreadsheet", "whole_file"},
    {"extras", "units"},
    {"json_text"},
    {"objects"},
    {"schedule", "spec", "catalog"},
    {"plan"},
    {"store"},
    {"stream"},
    {"adapters", "client", "clusters", "formats"},
    {"cli", "testing"},
)
"""A room imports itself and what stands on a line before its own: rooms of one line do not know each other."""
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
HEAVY = ("datasets", "fastapi", "pandas", "ray", "rich", "sklearn", "tokenizers", "torch", "uvicorn")
NEEDS_NO_ARRAYS = ("errors", "json_text", "names", "units", "spec")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


ROOMS = sorted({room_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"})


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of every module of this library that a file imports, wherever in it, types included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            # `from mixture import x` means the room x where there is one, else a name of the library's door
            rooms = [alias.name for alias in node.names if alias.name in LEVEL]
            names = [f"mixture.{room}" for room in rooms] if node.module == "mixture" else [node.module or ""]
            names += ["mixture"] if node.module == "mixture" and len(rooms) < len(node.names) else []
        else:
            continue
        yield from ((node.lineno, name) for name in names if name == "mixture" or name.startswith("mixture."))


def test_every_room_has_its_level():
    assert set(ROOMS) <= set(LEVEL)
    assert {"schedule", "spec", "catalog", "plan", "store", "stream", "cli"} <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_itself_and_what_is_below_it(room):
    files = [path for path in sorted(PACKAGE.rglob("*.py")) if room_of(path) == room]
    upward = [
        f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        for path in files
        for line, name in imported(path)
        if name == "mixture" or (name.split(".")[1] != room and LEVEL[name.split(".")[1]] >= LEVEL[room])
    ]
    assert not upward


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "cli"])
def test_importing_a_room_loads_nothing_heavy(room):
    loaded = modules_after(f"import mixture.{room}")
    assert f"mixture.{room}" in loaded
    assert not loaded & set(HEAVY)
    if room in NEEDS_NO_ARRAYS:
        assert not loaded & {"numpy", "pyarrow", "duckdb"}


def test_the_command_line_is_there_before_arrays_tables_and_databases_are():
    loaded = modules_after("import mixture.cli")
    assert not loaded & {*HEAVY, "numpy", "pyarrow", "duckdb", "pydantic"} - {"rich"}
