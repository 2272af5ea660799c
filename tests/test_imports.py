"""Imports run one way between all rooms, through a room's door, and what is heavy is imported where it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEVELS = """
mixture._version mixture.errors mixture.file_kinds mixture.file_names mixture.names mixture.spreadsheet
mixture.whole_file mixture.wording
mixture.extras mixture.units
mixture.json_text mixture.data.storage
mixture.schedule mixture.planning.yamlfile mixture.planning.catalog
mixture.lock mixture.planning.spec mixture.data.layout
mixture.planning.plan mixture.data.texts
mixture.planning.amend mixture.planning.compare mixture.planning.init mixture.planning.ladder mixture.data.writing
mixture.planning.whatif mixture.data.token_files
mixture.planning.explain mixture.data.store mixture.data.ingest
mixture.data.derived mixture.data.linking mixture.stream mixture.clusters
mixture.formats mixture.adapters mixture.client mixture.testing
mixture.api.settings mixture.api.refs
mixture.api.database
mixture.api.setting_texts
mixture.api.middleware
mixture.api.answers
mixture.api.models mixture.api.registry
mixture.api.texts mixture.api.what_if
mixture.api.figures mixture.api.dependencies
mixture.api.batches
mixture.api.routes
mixture.api.pages
mixture.api.site mixture.api.app
mixture.api.openapi
mixture.cli
"""
"""The rooms from the ground up. A room imports itself and rooms of lines before its own; those of one line do not know
each other."""
HOUSES = {"mixture", "mixture.planning", "mixture.data", "mixture.api"}
"""Packages of rooms: they hold nothing but their description, and the library's own door."""
HEAVY = ("datasets", "fastapi", "pandas", "ray", "rich", "sklearn", "tokenizers", "torch", "uvicorn")
NEEDS_NO_ARRAYS = (
    "mixture.errors", "mixture.json_text", "mixture.names", "mixture.units", "mixture.planning.yamlfile",
    "mixture.planning.spec",
)  # fmt: skip


def _levels() -> dict[str, int]:
    levels: dict[str, int] = {}
    for number, line in enumerate(LEVELS.strip().splitlines()):
        levels |= dict.fromkeys(line.split(), number)
    return levels


LEVEL = _levels()


def name_of(path: Path) -> str:
    """The name that a file is imported by: api/ is the package mixture.api, by a symbolic link."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return f"mixture.{name}" if name.split(".")[0] == "api" else name


MODULES = {name_of(path): path for house in ("mixture", "api") for path in sorted((ROOT / house).rglob("*.py"))}


def room_of(module: str) -> str:
    """The room that a module is in, or the house."""
    parts = module.split(".")
    ways = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    *_, inside = takewhile(lambda way: way in HOUSES, ways) or [""]
    return module if module == inside else ".".join(parts[: inside.count(".") + 2])


@cache
def imports_of(module: str) -> tuple[tuple[int, str, bool], ...]:
    """Line and module of every import of ours that a module has, types included; and whether it is of a name in it."""
    return tuple(_imports(MODULES[module]))


def _imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, False) for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            for alias in node.names if node.module in MODULES else ():
                inside = f"{node.module}.{alias.name}"
                yield (node.lineno, inside, False) if inside in MODULES else (node.lineno, node.module or "", True)


ROOMS = sorted({room_of(module) for module in MODULES} - HOUSES)


def inside(room: str) -> list[str]:
    return [module for module in MODULES if room_of(module) == room]


def test_every_room_has_its_level():
    assert set(ROOMS) == set(LEVEL)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_itself_and_what_is_below_it(room):
    upward = [
        f"{module}:{line} imports {name}"
        for module in inside(room)
        for line, name, _ in imports_of(module)
        if (other := room_of(name)) != room and (other in HOUSES or LEVEL[other] >= LEVEL[room])
    ]
    assert not upward


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "mixture.cli"])
def test_names_of_another_room_come_through_its_door(room):
    """Commands begin fast by going past doors; a room without `__all__` has none."""
    past = [
        f"{module}:{line} imports from {name}"
        for module in inside(room)
        for line, name, is_name in imports_of(module)
        if is_name and name != room_of(name) != room and "__all__" in MODULES[room_of(name)].read_text(encoding="utf-8")
    ]
    assert not past


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("room", [room for room in ROOMS if not room.startswith(("mixture.api", "mixture.cli"))])
def test_importing_a_room_loads_nothing_heavy(room):
    loaded = modules_after(f"import {room}")
    assert room in loaded
    assert not loaded & set(HEAVY)
    if room in NEEDS_NO_ARRAYS:
        assert not loaded & {"numpy", "pyarrow", "duckdb"}


def test_the_command_line_is_there_before_arrays_tables_and_databases_are():
    loaded = modules_after("import mixture.cli")
    assert not loaded & {*HEAVY, "numpy", "pyarrow", "duckdb", "pydantic"} - {"rich"}
