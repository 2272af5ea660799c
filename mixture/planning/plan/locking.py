"""Plans made permanent: a lock out of a plan, of a whole run or of one that was amended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mixture.errors import AmendError
from mixture.lock import Accepted, Amendment, Amends, Lock, Mask, in_order, look_up, mask_faults, with_digest
from mixture.planning.plan.amended.weights import fitted_rules
from mixture.planning.plan.figures import json_value
from mixture.planning.plan.findings.finding import Finding
from mixture.planning.plan.plan import Plan
from mixture.planning.spec import FindingCode
from mixture.schedule import ScheduleData


def make_lock(plan: Plan, *, content: Mapping[str, str] | None = None) -> Lock:
    """Make a plan permanent.

    content: content digests by domain name, where the catalog is a store's

    Raises PlanError, with the first one's code and place, where an error of the plan is not accepted, and AmendError
    where an amendment would change what was read (`content-differs`) or its masks do not fit (`mask-invalid`).
    """
    plan.require()
    names = {domain.name for domain in plan.domains}
    held = {name: digest for name, digest in (content or {}).items() if name in names}
    amendment = plan.amends
    if amendment is not None:
        # Also where no phase to come is fitted itself: it may replay one of which weights are kept.
        amendment = replace(amendment, keep_weights=amendment.keep_weights and bool(fitted_rules(plan.spec)))
    return with_digest(
        Lock(
            mixture=plan.spec.mixture,
            tokenizer=plan.tokenizer,
            amends=amends_of(amendment) if amendment else None,
            lineage=lineage_of(amendment) if amendment else (),
            data=plan.data,
            phases=plan.lock_phases,
            masks=masks_of(amendment, plan.data) if amendment else (),
            content=_content(amendment, plan.data, held) if amendment else held,
            accepted=tuple(
                # A batch that some ranks can not share is no part of the run, which is the same for every number.
                _accepted(finding)
                for finding in plan.findings
                if finding.accepted and finding.code is not FindingCode.BATCH_NOT_DIVISIBLE
            ),
            spec_digest=plan.spec_digest,
            catalog_digest=plan.catalog.digest,
            check=look_up(plan.schedule),
            digest="",
            _schedule=plan.schedule,
        )
    )


def amends_of(amendment: Amendment) -> Amends:
    """What a lock keeps of the amendment that it is made by."""
    lock, step = amendment.lock, amendment.step
    return Amends(
        lock=lock.digest,
        step=step,
        history=lock.schedule().history(step),
        steps=lock.data.steps,
        domains=len(lock.data.domains),
        reason=amendment.reason,
        keep_weights=amendment.keep_weights,
    )


def lineage_of(amendment: Amendment) -> tuple[Amends, ...]:
    """The amendments before, oldest first."""
    lock = amendment.lock
    return (*lock.lineage, *([lock.amends] if lock.amends else []))


def masks_of(amendment: Amendment, data: ScheduleData) -> tuple[Mask, ...]:
    """The lock's masks, which no amendment takes back, and the new ones. Raises AmendError, `mask-invalid`."""
    early = next((mask for mask in amendment.masks if mask.first_step < amendment.step), None)
    if early is not None:
        raise AmendError(
            f"a mask from step {early.first_step:,} on changes what was read before step {amendment.step:,}",
            code="mask-invalid",
        )
    return _fitting(data, (*amendment.lock.masks, *amendment.masks))


def with_masks(lock: Lock, masks: Iterable[Mask]) -> Lock:
    """The same lock with more text taken down. Raises AmendError, `mask-invalid`."""
    return with_digest(replace(lock, masks=_fitting(lock.data, (*lock.masks, *masks))))


def _fitting(data: ScheduleData, masks: Iterable[Mask]) -> tuple[Mask, ...]:
    """Masks as the lock of a run has them."""
    held, known = tuple(masks), {domain.name for domain in data.domains}
    ordered = in_order(data, held) if all(mask.domain in known for mask in held) else held
    for _, wrong in mask_faults(data, ordered):
        raise AmendError(f"a mask does not fit the lock: {wrong}", code="mask-invalid")
    return ordered


def _content(amendment: Amendment, amended: ScheduleData, now: Mapping[str, str]) -> Mapping[str, str]:
    """The content digests of an amended lock: text that was read stays what it was."""
    lock, step = amendment.lock, amendment.step
    data, drawn = lock.data, set(lock.data.drawn_before(step))
    tokens = {domain.name: domain.tokens for domain in amended.domains}
    content = dict(lock.content)
    for d, domain in enumerate(data.domains):
        if tokens[domain.name] != domain.tokens:
            content.pop(domain.name, None)  # it was not drawn yet, and is other text now
        locked, found = lock.content.get(domain.name), now.get(domain.name)
        if d in drawn and locked is not None and found is not None and locked != found:
            raise AmendError(
                f"the text of domain {domain.name!r} was read before step {step:,}, and is another one now: content"
                f" {locked} in the lock, {found} in the store",
                code="content-differs",
                hint=f"keep it as it was and name the new text {domain.name + '@2'!r}",
                domain=domain.name,
                locked=locked,
                now=found,
            )
    return content | dict(now)


def _accepted(finding: Finding) -> Accepted:
    return Accepted(finding.code.value, {name: json_value(value) for name, value in finding.facts.items()})
