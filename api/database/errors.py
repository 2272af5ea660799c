"""What the repository refuses, each with a stable code."""

from __future__ import annotations

from mixture.errors import MixtureError


class RepositoryError(MixtureError):
    """Something is not there, is not the state that was expected, or can not be reached.

    Codes: `unknown-mixture` `unknown-run` `unknown-token` · `name-invalid` `ref-invalid` `unknown-scope` ·
    `digest-required` `name-conflict` `progress-conflict` `run-conflict` · `object-missing` `object-damaged` · `busy`
    `database-newer` `database-damaged` `database-unreachable` `database-url` `data-dir-unusable`
    """
