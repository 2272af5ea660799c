"""What can be set: by environment (`MIXTURE_DATA_DIR=…`), by a TOML file (named by MIXTURE_CONFIG), or in code."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from mixture.errors import MixtureError, Place, nearest

PREFIX = "MIXTURE_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
"""Names the TOML file; what stands in the environment wins over it."""
DATA_DIR_VARIABLE = f"{PREFIX}DATA_DIR"
ELSEWHERE = frozenset(f"{PREFIX}{name}" for name in ("CONFIG", "URL", "TOKEN", "TEST_ALL", "SCREENSHOTS"))
"""Variables that are no settings: of the command line, and of the tests."""


class ExampleTexts(StrEnum):
    """How much anyone sees of the texts of documents: nothing, the first 300 characters, or 20,000."""

    NONE = "none"
    SNIPPET = "snippet"
    FULL = "full"


class Environment(EnvSettingsSource):
    """Variables as people write them: a list is JSON, or folders as in PATH, and other words between commas."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # noqa: ANN401 the base's
        if value.lstrip().startswith("["):
            return super().decode_complex_value(field_name, field, value)
        between = os.pathsep if field_name.endswith("_dirs") else ","
        return [part for part in map(str.strip, value.split(between)) if part]


class Settings(BaseSettings):
    """Settings of the service. A list in the environment is `/one:/two` for folders, `one,two` else, or JSON."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    data_dir: Path = Field(default=Path("mixture-data"), description="Folder for the database and published files.")
    database_url: str | None = Field(
        default=None, description="SQLAlchemy URL; default: SQLite in data_dir, for one machine."
    )
    mixtures_dirs: tuple[Path, ...] = Field(
        default=(Path("mixtures"), Path("demo")),
        description="What is shown, read-only: folders of a mixture (mixture.yaml, mixture.lock.json), folders of "
        "those, specs and locks.",
    )
    store_dirs: tuple[Path, ...] = Field(
        default=(),
        description="Folders of native stores, each a store or a folder of them. A mixture's own comes first.",
    )
    examples: ExampleTexts = Field(
        default=ExampleTexts.SNIPPET,
        description="Text of documents that pages and /v1 show: none, snippet (300 characters) or full (20,000).",
    )
    public_reads: bool = Field(default=True, description="Whether reading takes no token.")
    trusted_proxies: tuple[str, ...] = Field(
        default=("127.0.0.1", "::1"), description="Addresses whose X-Forwarded-For says who the client is."
    )
    cors_origins: tuple[str, ...] = Field(default=(), description="Origins whose pages may read; none by default.")

    max_body_bytes: int = Field(default=64 * 2**20, ge=1, description="Largest body of a request; 413 above.")
    max_rows: int = Field(default=1_000_000, ge=1, description="Most rows of one answer; 422 above.")
    rate_per_second: float = Field(
        default=500, ge=0, description="Requests a client may make a second, in one copy of the service; 0: no limit."
    )
    rate_burst: int = Field(default=1000, ge=1, description="Requests a client may make at once before that holds.")
    streams_per_client: int = Field(default=64, ge=1, description="Streams that a client may have open in one copy.")
    max_streams: int = Field(default=512, ge=1, description="Streams that one copy serves at a time.")
    max_conditions: int = Field(default=2, ge=1, description="Conditions (`where`) that one copy works out at a time.")
    condition_seconds: float = Field(
        default=10, gt=0, allow_inf_nan=False, description="How long a condition may take the database; 422 above."
    )
    loaded_mixtures: int = Field(
        default=32,
        ge=1,
        description="Mixtures that one copy keeps in memory; one counts once more for each 64 MiB that it takes.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 the base class names them
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Code, then environment, then the file."""
        file = os.environ.get(CONFIG_VARIABLE)
        sources = (init_settings, Environment(settings_cls))
        return (*sources, *([TomlConfigSettingsSource(settings_cls, Path(file))] if file else []))


def load_settings() -> Settings:
    """The settings of environment and file. Raises MixtureError `settings-invalid`, naming each that is wrong."""
    for variable in unknown_variables():
        # One that is like no setting may be another program's: Kubernetes makes MIXTURE_PORT of a service's name.
        meant = _meant(variable)
        if meant is not None:
            raise MixtureError(f"there is no setting {variable}", code="settings-invalid", hint=meant)
    file = os.environ.get(CONFIG_VARIABLE)
    if file and not Path(file).is_file():
        raise MixtureError("there is no such file of settings", code="settings-invalid", place=Place(file=file))
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise MixtureError(f"settings: {wrong}", code="settings-invalid", place=Place(file=file)) from error
    except ValueError as error:
        hint = "a list is /one:/two for folders, one,two else, or JSON" if isinstance(error, SettingsError) else None
        raise MixtureError(f"settings: {error}", code="settings-invalid", place=Place(file=file), hint=hint) from error


def unknown_variables() -> list[str]:
    """The names in the environment that begin as settings do, and are none."""
    known = ELSEWHERE | {variable_of(name) for name in Settings.model_fields}
    return sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)


def variable_of(name: str) -> str:
    """The variable in the environment that sets a setting."""
    return f"{PREFIX}{name.upper()}"


def _meant(variable: str) -> str | None:
    """A hint that names the setting which a variable that is none is like."""
    names = [name.upper() for name in Settings.model_fields]
    hint = nearest(variable.upper().removeprefix(PREFIX), names)
    return None if hint is None else hint.replace("'", f"'{PREFIX}", 1)
