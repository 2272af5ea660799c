"""A phase of a mixture that a page is asked for."""

from __future__ import annotations

from collections.abc import Collection

from mixture.api.answers import wrong_query
from mixture.errors import nearest


def asked_phase(mixture: str, phases: Collection[str], phase: str | None, *, parameter: str) -> str | None:
    """The phase that is asked for, None: the whole run. Raises Problem 422 `unknown-phase`, of this parameter."""
    if phase and phase not in phases:
        hint = nearest(phase, phases) or f"its phases: {', '.join(phases)}"
        raise wrong_query(parameter, f"{mixture} has no phase {phase!r}", "unknown-phase", hint=hint)
    return phase or None
