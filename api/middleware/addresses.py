"""Addresses as routes know them, and the one that somebody meant, for hints where there is nothing at an address."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from starlette.types import Scope

LONGEST = 1000


def own_path(scope: Scope) -> str:
    """The path of a request without the prefix that the service is put up below (`root_path`)."""
    path: str = scope["path"]
    prefix = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path


def nearest_address(path: str, templates: Iterable[str]) -> str | None:
    """The address nearest to a path among templates such as `/v1/mixtures/{ref}`, its parts filled from the path.

    It lacks a slash at the end, has one part spelt another way, or is the one below the path that leads to most.
    """
    asked, known = path[:LONGEST].rstrip("/").split("/"), sorted(templates)
    found = [one for one in (_filled(template.split("/"), asked) for template in known) if one is not None]
    if found:
        return get_close_matches(path[:LONGEST], found, n=1, cutoff=0)[0]
    if len(asked) < 2:
        return None
    below = [one for one in known if "{" not in one and one.startswith("/".join(asked) + "/")]
    return max(below, key=lambda one: sum(other.startswith(f"{one}/") for other in known), default=None)


def _filled(template: list[str], asked: list[str]) -> str | None:
    """The template with the path's parts, where at most one of its own is spelt another way."""
    if len(template) != len(asked):
        return None
    made, others = [], 0
    for own, part in zip(template, asked, strict=True):
        if own.startswith("{"):
            if not part:
                return None
            made.append(part)
        elif own == part:
            made.append(own)
        elif get_close_matches(part.lower(), [own], n=1, cutoff=0.6):
            others += 1
            made.append(own)
        else:
            return None
    return "/".join(made) if others <= 1 else None
