"""A run's page: how far it is, and what that says of the data it has read, against its plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.database import ProgressEntry, RunRecord
from mixture.api.figures import PlannedDomains, read_by, standing
from mixture.api.models import Standing
from mixture.api.pages.mixture.chart import LINE, WIDTH, Mark, marks_of
from mixture.api.pages.mixture.columns import asked_column, group_columns
from mixture.api.pages.mixture.rows import Reach, reach_of, titles_of
from mixture.api.pages.run.losses import LossLine, loss_lines, mean_loss
from mixture.api.registry import LoadedMixture
from mixture.lock import Lock, lineage_of
from mixture.planning.catalog import Overview, cell_text
from mixture.planning.plan import group

SHOWN_LINES = 12
"""Of the log, the last."""
NEAREST_CAPS = 8
MOST_MARKS = 20
"""Amendments along the run, the last."""
MOST_GROUPS, MOST_LOSSES = 100, 60
"""Of a page: those of which most is planned; more are in its data."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")


class ConsumedLine(_Frozen):
    """What the run has read of a group of domains, against its plan.

    key, title:   the group's value (None: domains without one), and what it is about
    weight, planned_weight_so_far, planned_weight: shares of all tokens: read, planned up to there, of the whole run
    epochs, planned_epochs: read so far, planned for the whole run; max_epochs: the cap, of single domains only
    reach:        how the epochs so far stand against it
    """

    key: str | None
    title: str = ""
    domains: int
    tokens: int
    planned_tokens_so_far: int
    planned_tokens: int
    weight: float | None
    planned_weight_so_far: float | None
    planned_weight: float | None
    epochs: float | None
    planned_epochs: float | None
    max_epochs: float | None = None
    reach: Reach = Reach.BELOW

    @property
    def read(self) -> float:
        """How much of what is planned for the whole run is read."""
        return self.tokens / self.planned_tokens if self.planned_tokens else 0.0


class PhaseSpan(_Frozen):
    """A phase along the run."""

    phase: str
    first_step: int
    steps: int


class AmendmentMark(_Frozen):
    """An amendment of the run's lock, along the run."""

    number: int
    step: int
    reason: str | None


class LockLine(_Frozen):
    """A report with which the run went on under another lock: steps that were done, and the digests of both."""

    seq: int
    step: int
    lock: str
    lock_before: str
    at: datetime
    by: str


class LogLine(_Frozen):
    """A report: steps that were done, how many domains had a loss in it, and the plain mean of these losses."""

    seq: int
    step: int
    losses: int
    mean_loss: float | None
    at: datetime
    by: str


class RunView(_Frozen):
    """A run; `standing` is None where its mixture is not there any more, and nothing is said of what it read.

    ref:    of its mixture, for good
    seq:    the number of the last report, 0 before the first; step: steps that are done, by it
    amendments: of the lock that it reads, the last ones; locks: the changes of it, the newest first
    by:     the column whose values are the groups
    capped: domains that have a cap, those that come nearest to it first
    losses: by domain, those of which most is planned first
    log:    the last reports, the newest first
    """

    id: str
    name: str | None
    mixture: str
    ref: str
    digest: str
    registered: datetime
    registered_by: str
    seq: int
    step: int
    reported: datetime | None
    standing: Standing | None
    phases: tuple[PhaseSpan, ...]
    amendments: tuple[AmendmentMark, ...]
    locks: tuple[LockLine, ...]
    by: str | None
    columns: tuple[str, ...]
    groups: tuple[ConsumedLine, ...]
    capped: tuple[ConsumedLine, ...]
    losses: tuple[LossLine, ...]
    log: tuple[LogLine, ...]

    @property
    def marks(self) -> list[Mark]:
        """The names of phases above the run, drawn as wide as a chart of a mixture."""
        steps = 1 if self.standing is None else self.standing.steps
        return marks_of((phase.phase, round(WIDTH * phase.first_step / steps, 1)) for phase in self.phases)

    @property
    def rise(self) -> int:
        """What lines of names take above the first."""
        return LINE * max((mark.line for mark in self.marks), default=0)

    @property
    def listed(self) -> tuple[ConsumedLine, ...]:
        """The groups that the page lists."""
        return self.groups[:MOST_GROUPS]

    @property
    def drawn(self) -> tuple[LossLine, ...]:
        """The losses that the page has a chart of, in order of domains."""
        return tuple(sorted(self.losses[:MOST_LOSSES], key=lambda one: one.domain))

    def table(self) -> pa.Table:
        """One row a group: what was read of it, against the plan."""
        kinds = {"tokens": pa.int64(), "planned_tokens_so_far": pa.int64(), "planned_tokens": pa.int64()}
        quotients = ("weight", "planned_weight_so_far", "planned_weight", "epochs", "planned_epochs", "max_epochs")
        made: dict[str, pa.Array[Any]] = {self.by or "group": pa.array([one.key for one in self.groups], pa.string())}
        made["domains"] = pa.array([one.domains for one in self.groups], pa.int64())
        for name, kind in (kinds | dict.fromkeys(quotients, pa.float64())).items():
            made[name] = pa.array([getattr(one, name) for one in self.groups], kind)
        return pa.table(made)


def run_view(
    run: RunRecord,
    mixture: LoadedMixture | None,
    entries: Sequence[ProgressEntry] = (),
    *,
    changes: Sequence[ProgressEntry] = (),
    by: str | None = None,
    overview: Overview | None = None,
) -> RunView:
    """The view of a run.

    mixture: what it trains on, None where that is gone
    entries: the last of its log, in order
    changes: those with which it went on under another lock, in order
    by:      a column of the catalog to group by

    Raises Problem 422 `unknown-column`.
    """
    step = 0 if run.last is None else run.last.step
    made = dict[str, Any](by=None, columns=(), groups=(), capped=(), phases=(), amendments=(), standing=None)
    if mixture is not None:
        made = _consumed(mixture, step, by, overview) | {"standing": standing(mixture.lock, step)}
    return RunView(
        id=run.id,
        name=run.name,
        mixture=run.mixture.partition("@")[0],
        ref=run.mixture,
        digest=run.digest,
        registered=run.registered,
        registered_by=run.by,
        seq=0 if run.last is None else run.last.seq,
        step=step,
        reported=None if run.last is None else run.last.at,
        losses=_losses(entries, mixture),
        locks=tuple(
            LockLine(
                seq=change.seq,
                step=change.step,
                lock=change.lock or "",
                lock_before=change.lock_before or "",
                at=change.at,
                by=change.by,
            )
            for change in reversed(changes)
        ),
        log=tuple(
            LogLine(
                seq=one.seq,
                step=one.step,
                losses=sum(loss is not None for loss in (one.loss or {}).values()),
                mean_loss=mean_loss(one.loss),
                at=one.at,
                by=one.by,
            )
            for one in list(entries)[: -SHOWN_LINES - 1 : -1]
        ),
        **made,
    )


def _losses(entries: Sequence[ProgressEntry], mixture: LoadedMixture | None) -> tuple[LossLine, ...]:
    lines = loss_lines(entries)
    if mixture is None:
        return lines
    schedule = mixture.lock.schedule()
    planned = dict(zip(schedule.names, schedule.tokens(schedule.steps).tolist(), strict=True))
    return tuple(sorted(lines, key=lambda line: -planned.get(line.domain, 0)))


def _consumed(mixture: LoadedMixture, step: int, by: str | None, overview: Overview | None) -> dict[str, Any]:
    own = mixture.domain_column
    columns = group_columns(mixture.catalog, own)
    chosen = asked_column(mixture.catalog, own, by, overview)
    domains = _lines(mixture, step, own)
    groups = domains if chosen == own else _lines(mixture, step, chosen)
    titles = titles_of(overview, chosen)
    capped = [domain for domain in domains if domain.max_epochs and domain.epochs is not None and domain.planned_tokens]
    capped.sort(key=lambda one: (-(one.epochs or 0) / (one.max_epochs or 1), one.key or ""))
    return {
        "by": chosen,
        "columns": columns,
        "groups": tuple(
            one.model_copy(update={"title": titles.get(one.key or "", "")})
            for one in sorted(groups, key=lambda one: (-one.planned_tokens, one.key or ""))
            if one.planned_tokens
        ),
        "capped": tuple(capped[:NEAREST_CAPS]),
        "amendments": tuple(_marks(mixture.lock)),
        "phases": tuple(
            PhaseSpan(phase=phase.name, first_step=phase.first_step, steps=phase.steps)
            for phase in mixture.lock.phases
            if phase.steps
        ),
    }


def _marks(lock: Lock) -> list[AmendmentMark]:
    line = lineage_of(lock)
    first = max(0, len(line) - MOST_MARKS)
    return [
        AmendmentMark(number=i, step=one.step, reason=one.reason)
        for i, one in enumerate(line[first:], start=first + 1)
        if one.step < lock.data.steps
    ]


def _lines(mixture: LoadedMixture, step: int, column: str) -> list[ConsumedLine]:
    """What was read by the values of a column; single domains with their caps."""
    rows = read_by(mixture.lock, group(mixture.lock, mixture.catalog, (column,)), step).to_pylist()
    plan = PlannedDomains(mixture.plan_json)
    is_domain = column == mixture.domain_column
    return [
        ConsumedLine(
            key=cell_text(row[column]),
            **(_capped(plan, row[column], row["tokens"]) if is_domain else {}),
            **{name: figure for name, figure in row.items() if name != column},
        )
        for row in rows
    ]


def _capped(plan: PlannedDomains, domain: str, read: int) -> dict[str, Any]:
    cap = plan.cap_of(domain)
    return {
        "max_epochs": None if cap is None else float(cap),
        "reach": reach_of(read, plan.tokens_of(domain) or 0, cap),
    }
