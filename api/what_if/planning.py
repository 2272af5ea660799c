"""A what-if of a served mixture: limits of size, and errors as problems. `mixture.planning.whatif` computes it."""

from __future__ import annotations

from pathlib import Path

from mixture.api.database import Bundle
from mixture.api.middleware import Problem
from mixture.api.registry import CONDITION_SECONDS, LoadedMixture, weight_sets
from mixture.api.what_if.faults import changes_refused
from mixture.file_names import SPEC_FILE
from mixture.names import DIGEST_MARK
from mixture.planning.catalog import GivenTables
from mixture.planning.plan import fraction_of
from mixture.planning.whatif import Changes, Original, PhaseWeights, WhatIf
from mixture.planning.whatif import what_if as planned_with

MOST_WEIGHTS = 20_000
"""Phases and stairs of transitions, times domains: some 4 seconds, most of them for reading the spec that lists them.
Anybody may ask."""
MOST_SPEC = 256 * 2**10
"""Characters of the spec, which is read twice: before and after the change."""


def what_if(mixture: LoadedMixture, bundle: Bundle, changes: Changes) -> WhatIf:
    """Change a mixture's spec, and plan it over the tables that it was planned over. bundle: that of the mixture.

    Raises Problem 422: the errors in the changes, `too-many-weights`; 409 `what-if-amended`; what `parse_spec` and
    `make_plan` do.
    """
    check_whole(mixture)
    _check_size(mixture)
    with changes_refused():
        return planned_with(
            _original(mixture),
            changes,
            tables=GivenTables(bundle.tables),
            beside=sorted(bundle.tables),
            pools=mixture.lock.data.pools,
            seconds=CONDITION_SECONDS,
        )


def check_whole(mixture: LoadedMixture) -> None:
    """Raise Problem 409, `what-if-amended`, of an amended mixture: its spec alone, planned again, is another run."""
    if mixture.lock.amends is not None:
        step = mixture.lock.amends.step
        detail = f"this mixture goes on from another one at step {step:,}: its spec alone is not its run"
        hint = f"POST /v1/mixtures/{mixture.name}/amendments with dry_run, or `mixture amend`, says what a change does"
        raise Problem(409, detail, code="what-if-amended", hint=hint, facts={"step": step})


def _check_size(mixture: LoadedMixture) -> None:
    weights = weight_sets(mixture.lock) * len(mixture.catalog.domains)
    if weights > MOST_WEIGHTS or len(mixture.spec_text) > MOST_SPEC:
        detail = f"this mixture is too large to be planned again for anybody: it has {weights:,} weights"
        hint = f"up to {MOST_WEIGHTS:,}, and a spec of up to {MOST_SPEC:,} characters; `mixture plan` plans larger ones"
        raise Problem(422, detail, code="too-many-weights", hint=hint)


def _original(mixture: LoadedMixture) -> Original:
    return Original(
        text=mixture.spec_text,
        path=Path(SPEC_FILE),
        source=mixture.name + DIGEST_MARK + mixture.digest,
        mixture=mixture.name,
        catalog=mixture.catalog,
        data=mixture.lock.data,
        phases=[
            PhaseWeights(
                phase["phase"],
                phase["first_step"],
                phase["steps"],
                {domain["domain"]: fraction_of(domain["weight"]) for domain in phase["domains"]},
            )
            for phase in mixture.plan_json["phases"]
        ],
    )
