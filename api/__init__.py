"""The HTTP service: mixtures, their schedules, catalogs and runs. `create_app(settings)` makes it."""

from mixture.api.app import create_app
from mixture.api.settings import Settings

__all__ = ["Settings", "create_app"]
