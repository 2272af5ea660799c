"""What can be set: by environment (`MIXTURE_DATA_DIR=…`), by a TOML file (named by MIXTURE_CONFIG), or in code."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from mixture.errors import MixtureError, Place

CONFIG_VARIABLE = "MIXTURE_CONFIG"
"""Names the TOML file; what stands in the environment wins over it."""


class Settings(BaseSettings):
    """Settings of the service. A list in the environment is JSON: `MIXTURE_STORE_DIRS='["/data/stores"]'`."""

    model_config = SettingsConfigDict(env_prefix="MIXTURE_", extra="forbid", frozen=True)

    data_dir: Path = Field(default=Path("mixture-data"), description="Folder for the database and published files.")
    database_url: str | None = Field(
        default=None, description="SQLAlchemy URL; default: SQLite in data_dir, for one machine."
    )
    mixtures_dirs: tuple[Path, ...] = Field(
        default=(Path("mixtures"), Path("demo")),
        description="Folders shown read-only: each a mixture (mixture.yaml, mixture.lock.json), or a folder of them.",
    )
    store_dirs: tuple[Path, ...] = Field(
        default=(),
        description="Folders of native stores, each a store or a folder of them. A mixture's own comes first.",
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
    loaded_mixtures: int = Field(default=32, ge=1, description="Mixtures that one copy keeps in memory.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 the base class names them
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Code, then environment, then the file."""
        file = os.environ.get(CONFIG_VARIABLE)
        return (init_settings, env_settings, *([TomlConfigSettingsSource(settings_cls, Path(file))] if file else []))


def load_settings() -> Settings:
    """The settings of environment and file. Raises MixtureError `settings-invalid`, naming each that is wrong."""
    file = os.environ.get(CONFIG_VARIABLE)
    if file and not Path(file).is_file():
        raise MixtureError("there is no such file of settings", code="settings-invalid", place=Place(file=file))
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise MixtureError(f"settings: {wrong}", code="settings-invalid", place=Place(file=file)) from error
    except ValueError as error:
        raise MixtureError(f"settings: {error}", code="settings-invalid", place=Place(file=file)) from error
