"""Whether spec and catalog still give a lock; if not, the first thing that differs, with both figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from mixture.errors import AmendError, LockError, SpecError
from mixture.lock import Amendment, Lock
from mixture.planning.catalog import Catalog
from mixture.planning.plan.inputs import Inputs, read_inputs
from mixture.planning.plan.plan import Plan, make_plan
from mixture.planning.plan.transitions import changes_inside
from mixture.planning.plan.weights.weights import drawable
from mixture.planning.spec import FindingCode, Spec
from mixture.schedule import WHOLE, ScheduleData
from mixture.units import decimal, format_count, percent

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class DomainChange:
    """A domain whose tokens are no longer those of the lock; None where it is not there, or has no epochs.

    `is_over` says that the new epochs are more than max_epochs allows.
    """

    name: str
    tokens_locked: int | None
    tokens_now: int | None
    epochs_locked: Fraction | None = None
    epochs_now: Fraction | None = None
    max_epochs: Fraction | None = None

    @property
    def is_over(self) -> bool:
        """Whether the domain would now be read too often."""
        return self.epochs_now is not None and self.max_epochs is not None and self.epochs_now > self.max_epochs

    def __str__(self) -> str:
        tokens = " → ".join("none" if n is None else format_count(n) for n in (self.tokens_locked, self.tokens_now))
        text = f"{self.name!r}: {tokens} tokens"
        if self.epochs_locked is not None and self.epochs_now is not None:
            text += f", {decimal(self.epochs_locked, digits=4)} → {decimal(self.epochs_now, digits=4)} epochs"
        if self.is_over and self.max_epochs is not None:
            text += f", over max_epochs {decimal(self.max_epochs, digits=4)}"
        return text


def check_lock(
    lock: Lock, spec: Spec, *, inputs: Inputs | None = None, content: Mapping[str, str] | None = None
) -> Plan:
    """The plan that spec and catalog give now, which is that of the lock; pools, which no spec has, are the lock's own.

    Of an amended lock, what is before its last amendment is the lock's own, too.

    inputs:  what `read_inputs` gives; read from the files that the spec names if it is not given
    content: content digests by domain name of the store that a lock would now be made with; None where there is none at
             hand, and then text is not compared: a lock that fixes text is also what its tables give

    Raises LockError where they no longer give this lock: `catalog-changed` with old and new tokens and epochs by domain
    (`changes` among its facts) or with the domain whose text differs, or `spec-changed` with the first field that
    differs. Raises what `make_plan` does.
    """
    inputs = inputs or read_inputs(spec)
    catalog = inputs.catalog
    try:
        plan = make_plan(spec, inputs, pools=lock.data.pools, amends=_again(lock))
    except (SpecError, AmendError) as error:
        changes = _changes_of_tokens(lock, catalog)
        if not changes:
            raise
        raise _catalog_changed(lock, spec, catalog, changes, None) from error
    if lock.catalog_digest != catalog.digest:
        changes = _with_epochs(lock, plan, _changes_of_tokens(lock, catalog))
        raise _catalog_changed(lock, spec, catalog, changes, plan)
    if content is not None:
        _check_content(lock, plan, {domain.name: content.get(domain.name) for domain in drawable(catalog)})
    for what, path, locked, now in _differences(lock, plan):
        raise LockError(
            f"the spec no longer gives this lock: {what} is {_shown(locked)} in the lock, and now {_shown(now)}",
            code="spec-changed",
            place=spec.place(path),
            hint=_remedy(lock, plan, "take the change back"),
            field=path,
            locked=locked,
            now=now,
        )
    if lock.spec_digest != plan.spec_digest:
        raise LockError(
            "the spec no longer gives this lock: it says something else than when the lock was made, which changes no"
            " step and no weight, such as `max_epochs`",
            code="spec-changed",
            place=spec.place(""),
            hint=_remedy(lock, plan, "take the change back"),
            field="spec",
            locked=lock.spec_digest,
            now=plan.spec_digest,
        )
    return plan


def _remedy(lock: Lock, plan: Plan | None, back: str) -> str:
    """What to do where spec and catalog give another run: what would be refused is not among it.

    plan: what they give now, from the last amendment on; None where they give none
    """
    if plan is None or plan.refusals:
        return f"{back}: what they give now is refused"
    if lock.amends is not None:
        return f"`mixture amend LOCK SPEC --step {lock.amends.step}`, or at a later step; or {back}"
    if lock.data.pools:
        return f"make the ladder again that it is a rung of, or {back}"
    return f"lock again, or {back}"


_BACK = "go back to the catalog that the lock was made from"


def _again(lock: Lock) -> Amendment | None:
    """The amendment that gives this lock once more: what was before its step is in the lock itself."""
    if lock.amends is None:
        return None
    # What it leaves out at the step stays left out.
    return Amendment.going_on(lock, lock.amends.step)


def _changes_of_tokens(lock: Lock, catalog: Catalog) -> list[DomainChange]:
    locked = {domain.name: domain.tokens for domain in lock.data.domains}
    now = {domain.name: domain.tokens for domain in drawable(catalog)}
    return [
        DomainChange(name, locked.get(name), now.get(name))
        for name in sorted(locked.keys() | now.keys())
        # An amended run keeps the domains that it no longer draws from; they may have left the catalog.
        if locked.get(name) != now.get(name) and (lock.amends is None or name in now)
    ]


def _with_epochs(lock: Lock, plan: Plan, changes: list[DomainChange]) -> list[DomainChange]:
    """The same, with the epochs of lock and plan; those that are read too often first."""
    schedule = lock.schedule()
    drawn = dict(zip(schedule.names, schedule.tokens(schedule.steps).tolist(), strict=True))
    planned = {domain.name: domain for domain in plan.domains}
    held = {domain.name: domain.held for domain in lock.data.domains}
    full = [
        DomainChange(
            change.name,
            change.tokens_locked,
            change.tokens_now,
            Fraction(drawn[change.name], held[change.name]) if held.get(change.name) else None,
            planned[change.name].epochs if change.name in planned else None,
            planned[change.name].max_epochs if change.name in planned else None,
        )
        for change in changes
    ]
    return sorted(full, key=lambda change: not change.is_over)


def _catalog_changed(
    lock: Lock, spec: Spec, catalog: Catalog, changes: list[DomainChange], plan: Plan | None
) -> LockError:
    if changes:
        more = f"; and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        what = "; ".join(str(change) for change in changes[:_SHOWN]) + more
    else:
        what = f"no domain's tokens, but its other columns: digest {lock.catalog_digest}, now {catalog.digest}"
    return LockError(
        f"the catalog changed since the lock was made: {what}",
        code=FindingCode.CATALOG_CHANGED.value,
        place=spec.place("catalog"),
        hint=_remedy(lock, plan, _BACK),
        changes=tuple(changes),
        locked=lock.catalog_digest,
        now=catalog.digest,
    )


def _check_content(lock: Lock, plan: Plan, content: Mapping[str, str | None]) -> None:
    """A store with the same figures and other text is another store; so is one where there was none, or the reverse."""
    for name, now in content.items():
        locked = lock.content.get(name)
        if locked == now:
            continue
        if locked is None:
            message = f"the lock does not fix the text of domain {name!r}, and now there is a store: content {now}"
        elif now is None:
            message = f"the lock fixes the text of domain {name!r}: content {locked}, which the store does not have"
        else:
            message = f"the text of domain {name!r} changed since the lock was made: content {locked}, now {now}"
        raise LockError(
            message,
            code=FindingCode.CATALOG_CHANGED.value,
            place=plan.spec.place("catalog"),
            # Text that an amended run has read may not change.
            hint=_BACK if lock.amends is not None and locked is not None else _remedy(lock, plan, _BACK),
            domain=name,
            locked=locked,
            now=now,
        )


def _differences(lock: Lock, plan: Plan) -> Iterator[tuple[str, str, object, object]]:
    """What differs, as a person would say it: (what, where it stands in the spec, in the lock, now)."""
    yield from (found for found in _pairs(lock, plan) if found[2] != found[3])


def _pairs(lock: Lock, plan: Plan) -> Iterator[tuple[str, str, object, object]]:
    locked, now = lock.data, plan.data
    yield "the mixture's name", "mixture", lock.mixture, plan.spec.mixture
    yield "the tokenizer", "tokenizer", lock.tokenizer, plan.tokenizer
    yield "the seed", "seed", locked.seed, now.seed
    yield "the number of phases", "phases", len(lock.phases), len(plan.phases)
    for i, (a, b) in enumerate(zip(lock.phases, plan.phases, strict=False)):
        path = f"phases[{b.laid.index}]"
        yield f"the name of phase {i + 1}", path, a.name, b.name
        yield f"the end of phase {a.name!r}, in steps,", path, a.end_step, b.laid.end_step
    for phase in plan.phases:
        path, first = f"phases[{phase.laid.index}]", phase.laid.first_step
        if not phase.laid.steps:
            continue  # it left nothing in the schedule
        laid, batch, segment = phase.laid, locked.batch_at(first), locked.segment_at(phase.laid.end_step - 1)
        yield f"the batch of phase {phase.name!r}, in sequences,", path, batch.sequences, laid.batch_sequences
        yield f"the sequence length of phase {phase.name!r}", path, segment.sequence_length, laid.sequence_length
        weights = now.segment_at(laid.end_step - 1).weights
        for domain, weight, weight_now in zip(locked.domains, segment.weights, weights, strict=False):
            what = f"the weight of {domain.name!r} in phase {phase.name!r}"
            yield what, f"{path}.weights", Fraction(weight, WHOLE), Fraction(weight_now, WHOLE)
        changed, changes = ([format_count(step) for step in changes_inside(held, laid)] for held in (locked, now))
        what = f"the list of steps at which weights change in phase {phase.name!r}"
        yield what, f"{path}.transition", changed, changes
    yield "the block, in tokens,", "shuffle", locked.block_tokens, now.block_tokens
    yield "the window, in blocks,", "shuffle", locked.window_blocks, now.window_blocks
    yield "the schedule", "", locked, now
    if lock.amends is not None:
        return  # what was accepted before the amendment is not found again, and the digest of the spec has `accept`
    accepted = sorted({finding.code.value for finding in plan.findings if finding.accepted})
    yield "the list of accepted findings", "accept", sorted({finding.code for finding in lock.accepted}), accepted


def _shown(value: object) -> str:
    match value:
        case Fraction():
            return percent(value)
        case int():
            return format_count(value)
        case list():
            return ", ".join(value) or "empty"
        case ScheduleData():
            return "another one"
    return repr(value)
