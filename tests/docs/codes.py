"""The codes of errors as they stand in the code: what is given as `code`, by name or place, and what such a name is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docs.pages import ROOT

CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def sources() -> list[Path]:
    """All files of the library, of its program and of its service."""
    return sorted([*(ROOT / "mixture").rglob("*.py"), *(ROOT / "mixture" / "api").rglob("*.py")])


def error_codes() -> dict[str, list[str]]:
    """Every code with the files that name it; of a text with gaps, such as f"{name}-outside", the gaps are `*`."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sources()}
    anywhere = {name: place for tree in trees.values() for name, place in _places(tree).items() if place is not None}
    found: dict[str, list[str]] = {}
    for path, tree in trees.items():
        for value in _values(tree, anywhere | _places(tree)):
            for code in _texts(value):
                found.setdefault(code, []).append(path.relative_to(ROOT).as_posix())
    return found


def _places(tree: ast.AST) -> dict[str, int | None]:
    """The functions of a file, and as which argument each takes a code; None where it takes none by place."""
    places: dict[str, int | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [one.arg for one in [*node.args.posonlyargs, *node.args.args] if one.arg not in ("self", "cls")]
            places[node.name] = names.index("code") if "code" in names else None
    return places


def _values(tree: ast.AST, places: dict[str, int | None]) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (word.value for word in node.keywords if word.arg == "code")
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = places.get(name)
            if place is not None and len(node.args) > place:
                yield node.args[place]
        elif isinstance(node, ast.Assign):
            yield from _assigned(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _assigned(node.target, node.value)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, part)
    elif isinstance(target, ast.Name) and target.id == "code":
        yield value


def _texts(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.IfExp):
        yield from (*_texts(value.body), *_texts(value.orelse))
    elif isinstance(value, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in value.values)
        yield from [text] if CODE.fullmatch(text.replace("*", "x")) else []
    elif isinstance(value, ast.Constant) and isinstance(value.value, str) and CODE.fullmatch(value.value):
        yield value.value
