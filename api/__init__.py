"""The HTTP service: mixtures, their schedules, catalogs and runs. `create_app(settings)` makes it."""

from api.app import create_app
from api.settings import Settings

__all__ = ["Settings", "create_app"]
