"""Settings for people: what can be set, what is set, and what was named and is not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mixture.api.database import shown_database
from mixture.api.settings import Settings, variable_of


@dataclass(frozen=True, slots=True)
class SettingText:
    """A setting: its variable, its default, what it is now, and what it means."""

    variable: str
    default: str
    value: str
    meaning: str


def setting_texts(settings: Settings) -> Iterator[SettingText]:
    """All settings, in order. The password of a database's address is not shown."""
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        if name == "database_url" and value is not None:
            value = shown_database(value)
        yield SettingText(variable_of(name), _text(field.default), _text(value), field.description or "")


def missing_folders(settings: Settings) -> Iterator[tuple[str, Path]]:
    """What somebody named and is not there, each with its variable. Defaults may be missing."""
    for name, is_there in (("mixtures_dirs", Path.exists), ("store_dirs", Path.is_dir)):
        if name in settings.model_fields_set:
            yield from ((variable_of(name), path) for path in getattr(settings, name) if not is_there(path))


def _text(value: object) -> str:
    """A value as it is written in the environment."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return (os.pathsep if all(isinstance(one, Path) for one in value) else ",").join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
