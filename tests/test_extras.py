"""What messages recommend to install is what the project file declares."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from mixture.extras import DISTRIBUTION, install_hint

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_the_distribution_is_named_as_the_project_file_says():
    assert PROJECT["name"] == DISTRIBUTION
    itself = {
        name for needs in EXTRAS.values() for need in needs if "[" in need and (name := need.split("[")[0]) in need
    }
    assert DISTRIBUTION in itself
    assert "mixture" not in itself
    assert install_hint("api") == "pip install 'mixture-lock[api]'"


def test_every_recommended_extra_exists():
    """The names that code gives to `extra` and `install_hint`; no message writes the command itself."""
    names: set[str] = set()
    for folder in ("mixture", "api"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            named = (call.args[0] for call in calls if getattr(call.func, "id", "") in ("extra", "install_hint"))
            names |= {name.value for name in named if isinstance(name, ast.Constant)}
            assert not re.search(r"pip install '?mixture", text), path
    assert {"api", "cluster", "objects", "ray"} <= names <= EXTRAS.keys()
