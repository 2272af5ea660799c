"""From what somebody publishes to the bundle that is kept: planned and locked here, in memory.

The spec may name the tables that came with it and no others: nothing that a request names is opened as a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mixture.api.database import Bundle, write_digest
from mixture.api.middleware import Problem
from mixture.api.registry.tables import table_bytes
from mixture.errors import LockError, Place, SpecError
from mixture.file_names import LOCK_FILE, SPEC_FILE
from mixture.lock import Amendment, Lock, Mask, lock_text, parse_lock
from mixture.planning.catalog import Catalog, GivenTables, read_catalog
from mixture.planning.plan import Inputs, Plan, check_lock, make_lock, make_plan, plan_json, read_inputs, with_masks
from mixture.planning.spec import Groups, Spec, WhereGroup, named_tables, parse_spec

MOST_WEIGHTS = 200_000
"""Phases and stairs of transitions, times domains: planning these takes some 4 seconds and 0.5 GB."""
MOST_DOMAINS = 20_000
"""A request about a mixture of so many takes up to some 2 seconds."""
MOST_PHASES = 1_000
"""Stairs counted in. Each takes some 2 ms, and as much to read."""
MOST_CONDITIONS = 1_000
"""Each takes some 4 ms."""
CONDITION_SECONDS = 20.0
"""Of all conditions of a spec together."""


def make_bundle(spec: str, tables: Mapping[str, str], *, lock: str | None = None) -> tuple[Bundle, Lock]:
    """Plan and lock a spec over its tables: all that is kept of a mixture, and its lock.

    tables: by the name that the spec has for each: the text of a file, or base64 of a Parquet file; a name without an
            ending is a store's folder, and its value the store's table
    lock:   the text of the publisher's lock; it must be what comes out here. One that amends another brings along what
            it has fixed of the run before its step, and one with pools these: spec and tables must give the rest

    A lock's content digests, of stores that this service may not have, are the publisher's word: every stream compares
    them with the store that it reads. Raises MixtureError where spec, tables or lock are refused; Problem: 409
    `lock-differs` with both digests, 413 `tables-too-large`, 422 `table-name`, `table-encoding`, `table-unused`,
    `too-many-tables`, `too-many-phases`, `too-many-conditions`, `too-many-weights`, `domain-not-listed`.
    """

    def locked(read: Spec, inputs: Inputs) -> tuple[Plan, Lock]:
        given = None if lock is None else parse_lock(lock.encode(), place=Place(file=LOCK_FILE))
        if given is not None and (given.amends is not None or given.data.pools):
            return _again(given, read, inputs), given
        plan = make_plan(read, inputs)
        fixed = make_lock(plan, content=None if given is None else given.content)
        if given is not None and given.digest != fixed.digest:
            raise _differs(given, fixed, read, plan)
        return plan, fixed

    return _bundle(spec.encode(), table_bytes(tables), locked)


def amended_bundle(
    base: Lock, bundle: Bundle, change: AmendmentAsked, taken_down: Callable[[Lock], Iterable[Mask]]
) -> tuple[Bundle, Lock]:
    """All that is kept, and the lock, of a run that goes on in another way from a step on.

    base:       the lock that is amended, `bundle` its own
    change:     what comes instead; where it has no spec, that of the bundle goes on
    taken_down: documents that are taken down, as masks of the new lock: a domain that it adds may hold them, too

    Raises as `make_bundle` and `Amendment` do.
    """

    def locked(read: Spec, inputs: Inputs) -> tuple[Plan, Lock]:
        amendment = Amendment.going_on(
            base, change.step, skip_steps=change.skip_steps, masks=change.masks, reason=change.reason
        )
        if change.spec is not None:
            amendment = replace(amendment, keep_weights=change.keep_weights)
        plan = make_plan(read, inputs, amends=amendment)
        fixed = make_lock(plan)
        check_listed(fixed, inputs.catalog)
        masks = tuple(taken_down(fixed))
        return plan, with_masks(fixed, masks) if masks else fixed

    if change.spec is None:
        return _bundle(bundle.spec, bundle.tables, locked)
    spec = change.spec.encode()
    named = {path.name for _, path in named_tables(parse_spec(spec, path=Path(SPEC_FILE)))}
    known = {name: data for name, data in bundle.tables.items() if name in named}
    return _bundle(spec, known | table_bytes(change.tables), locked)


@dataclass(frozen=True, slots=True)
class AmendmentAsked:
    """What somebody asks for from a step on.

    spec, tables: of the whole run, as `make_bundle` takes them; tables that are not given are those of the base
    """

    step: int
    spec: str | None
    tables: Mapping[str, str]
    skip_steps: int
    masks: tuple[Mask, ...]
    reason: str | None
    keep_weights: bool


def _bundle(
    data: bytes, contents: Mapping[str, bytes], locked: Callable[[Spec, Inputs], tuple[Plan, Lock]]
) -> tuple[Bundle, Lock]:
    """All of a mixture, whose plan and lock `locked` makes."""
    read = _read_spec(data, contents)
    plan, fixed = locked(read, _read_inputs(read, contents))
    bundle = Bundle(
        digest=fixed.digest,
        mixture=fixed.mixture,
        steps=plan.steps,
        sequences=plan.sequences,
        tokens=plan.tokens,
        domains=len(plan.domains),
        spec=data,
        tables=dict(contents),
        lock=lock_text(fixed).encode(),
        plan=json.dumps(plan_json(plan), ensure_ascii=False).encode(),
    )
    return bundle, fixed


def _again(given: Lock, spec: Spec, inputs: Inputs) -> Plan:
    """The plan of a lock that spec and tables alone do not give. Raises Problem 409 `lock-differs`."""
    sets, domains = weight_sets(given), len(given.data.domains)
    if sets * domains > MOST_WEIGHTS:
        detail = f"a lock of {sets:,} sets of weights of {domains:,} domains is too large"
        raise Problem(422, detail, code="too-many-weights", hint=f"up to {MOST_WEIGHTS:,} weights are right")
    check_listed(given, inputs.catalog)
    try:
        return check_lock(given, spec, inputs=inputs, content=given.content)
    except LockError as error:
        facts = {"given": write_digest(given.digest)}
        hint = "make the lock again, with `mixture amend` from the lock that it amends"
        raise Problem(409, error.message, code="lock-differs", hint=hint, facts=facts) from error


def weight_sets(lock: Lock) -> int:
    """How many sets of weights a lock's run has, one after the other; a phase of the same weights counts, too."""
    return max(len(lock.phases), len(lock.data.segments))


def check_listed(lock: Lock, catalog: Catalog) -> None:
    """Raise LockError, `domain-not-listed`, where the catalog lacks a domain of the lock.

    An amended run may keep domains that are in no catalog any more; what is shown here goes by the catalog's columns.
    """
    known = set(catalog.names)
    missing = next((domain.name for domain in lock.data.domains if domain.name not in known), None)
    if missing is not None:
        raise LockError(
            f"the lock has the domain {missing!r}, which the catalog does not list",
            code="domain-not-listed",
            place=Place(file=LOCK_FILE),
            hint="list it: a domain that no phase weighs any more is not drawn from",
            domain=missing,
        )


def _read_spec(data: bytes, tables: Mapping[str, bytes]) -> Spec:
    """The spec, whose tables are all among those given, and which names all that were given."""
    spec = parse_spec(data, path=Path(SPEC_FILE))
    named = set()
    for key, path in named_tables(spec):
        if str(path) not in tables:
            known = ", ".join(sorted(tables)) or "none were given"
            raise SpecError(
                f"{key}: there is no such table among those that were given",
                code="table-missing",
                place=spec.place(key),
                hint=f"the name of a table without a folder is right here: {known}",
            )
        named.add(path.name)
    unused = sorted(set(tables) - named)
    if unused:
        detail = f"the spec does not name the table {unused[0]!r}"
        raise Problem(422, detail, code="table-unused", hint="leave it out", facts={"tables": unused})
    return spec


def _read_inputs(spec: Spec, tables: Mapping[str, bytes]) -> Inputs:
    """What the spec is planned over, where planning all phases over its domains does not take too much."""
    sets = sum(phase.weight_sets for phase in spec.phases)
    what = "phases" if sets == len(spec.phases) else "phases and parts of transitions"
    if sets > MOST_PHASES:
        raise Problem(422, f"{sets:,} {what}, of at most {MOST_PHASES:,}", code="too-many-phases")
    groups = [group for phase in spec.phases if isinstance(phase.weights, Groups) for group in phase.weights.groups]
    conditions = sum(isinstance(group, WhereGroup) for group in groups)
    if conditions > MOST_CONDITIONS:
        detail = f"{conditions:,} conditions, of at most {MOST_CONDITIONS:,}"
        raise Problem(422, detail, code="too-many-conditions", hint="weights in a column of a table are read at once")
    given, source = GivenTables(tables), spec.catalog
    domains = given.table(source.path, place=spec.place("catalog")).num_rows
    if domains > MOST_DOMAINS:
        raise Problem(413, f"{domains:,} domains, of at most {MOST_DOMAINS:,}", code="tables-too-large")
    if sets * domains > MOST_WEIGHTS:
        detail = f"{sets:,} {what} of {domains:,} domains are more than {MOST_WEIGHTS:,} weights"
        raise Problem(422, detail, code="too-many-weights")
    catalog = read_catalog(source.path, domain=source.domain, place=spec.place("catalog"), tables=given)
    return read_inputs(spec, tables=given, catalog=catalog, seconds=CONDITION_SECONDS)


def _differs(given: Lock, fixed: Lock, spec: Spec, plan: Plan) -> Problem:
    """Both digests, and the first thing that differs."""
    try:
        check_lock(given, spec, inputs=plan.inputs, content=given.content)
        detail = "spec and tables give another lock"
    except LockError as error:
        detail = error.message
    return Problem(
        409,
        detail,
        code="lock-differs",
        hint="make the lock again with `mixture lock`",
        facts={"given": write_digest(given.digest), "made": write_digest(fixed.digest)},
    )
