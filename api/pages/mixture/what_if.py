"""What if: a form of changes to a mixture, and what they would come to. The changes are the query of the address."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from mixture.api.middleware import Problem, pointer_token
from mixture.api.pages.catalog.facts import pinned
from mixture.api.pages.mixture.columns import group_columns
from mixture.api.pages.mixture.page import rows_shown
from mixture.api.pages.mixture.rows import domain_rows, group_rows, titles_of, weight_at_end
from mixture.api.registry import LoadedMixture
from mixture.api.what_if import WhatIfAnswer, WhatIfDomain
from mixture.planning.catalog import Overview, cell_text
from mixture.planning.plan import PlanReport


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Field(_Frozen):
    """An input: its name in the query, what was typed, what holds without, and what is wrong with it."""

    name: str
    typed: str
    now: str | float
    fault: str | None = None


class FormRow(_Frozen):
    """Shares of a group, or of a domain, one input a phase."""

    key: str
    title: str
    fields: tuple[Field, ...]


class Change(_Frozen):
    """A group or a domain over the run, before and after; shares are of the run's tokens.

    name: None: domains without a value in the column
    """

    name: str | None
    title: str
    share_before: float
    share: float
    tokens_before: int
    tokens: int
    epochs_before: float | None
    epochs: float | None
    max_epochs: float | None = None
    tokens_missing: int = 0


class WhatIfView(_Frozen):
    """The form, and what comes of it.

    asked:   how the page was asked for, by name or by digest, which its links keep; ref: by digest
    by:      the column that rows of the form are of; the domains' own: each row is a domain
    changing: phases that a transition begins: their shares are those after it
    answer:  None where nothing is asked, or it was refused: `faults` say why, with what would be right
    new, gone: messages of findings that the changes bring, and of those that they take away
    """

    name: str
    asked: str
    ref: str
    digest: str
    by: str
    columns: tuple[str, ...]
    domain_column: str
    phases: tuple[str, ...]
    changing: tuple[str, ...]
    budget: Field
    ends: tuple[Field, ...]
    rows: tuple[FormRow, ...]
    rows_in_all: int
    faults: tuple[str, ...] = ()
    answer: WhatIfAnswer | None = None
    tokens_before: int
    steps_before: int
    groups: tuple[Change, ...] = ()
    domains: tuple[Change, ...] = ()
    shown: int = 0
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def missing(self) -> list[Change]:
        """Domains that would be read oftener than they may."""
        return [row for row in self.domains if row.tokens_missing]

    def table(self) -> pa.Table:
        """One row a domain, before and after, the largest changes first."""
        kinds = {"domain": pa.string()} | dict.fromkeys(("tokens_before", "tokens", "tokens_missing"), pa.int64())
        rows = [{**row.model_dump(), "domain": row.name} for row in self.domains]
        figures = ("share_before", "share", "epochs_before", "epochs", "max_epochs")
        return pa.Table.from_pylist(rows, pa.schema(kinds | dict.fromkeys(figures, pa.float64())))


def field_names(mixture: LoadedMixture, by: str) -> list[str]:
    """The names of the form's fields, whose rows are the values of a column, and of what else its address says."""
    phases = [phase.name for phase in mixture.lock.phases]
    keys = {cell_text(cell): None for cell in mixture.catalog.table[by].to_pylist()}
    shares = (f"share:{phase}:{key}" for phase in phases for key in keys if key is not None)
    return ["by", "rows", "budget", *(f"until:{phase}" for phase in phases), *shares]


def asked_of(
    query: Iterable[tuple[str, str]], phases: Sequence[str], *, by: str | None, domain_column: str
) -> dict[str, Any]:
    """The body of POST …/what-if that a query stands for: `budget`, `until:PHASE`, `share:PHASE:NAME`. Empty: none."""
    names = "shares" if by == domain_column else "groups"
    changed: dict[str, dict[str, Any]] = defaultdict(dict)
    asked: dict[str, Any] = {}
    for key, typed in query:
        value = typed.strip()
        if not value:
            continue
        if key == "budget":
            asked["budget"] = value
        kind, _, rest = key.partition(":")
        if kind == "until" and rest in phases:
            changed[rest]["until"] = value
        if kind == "share":
            # A colon may be part of both names: of phases `a` and `a:b`, the longest that fits is meant.
            phase = max((one for one in phases if rest.startswith(f"{one}:")), key=len, default=None)
            if phase is not None:
                changed[phase].setdefault(names, {})[rest.removeprefix(f"{phase}:")] = value
    if changed:
        asked["phases"] = dict(changed)
        asked["by"] = by
    return asked


def what_if_view(
    mixture: LoadedMixture,
    query: Mapping[str, str],
    *,
    by: str,
    asked: str | None = None,
    overview: Overview | None = None,
    answer: WhatIfAnswer | None = None,
    refused: Problem | None = None,
    whole: bool | None = None,
) -> WhatIfView:
    """The view of a mixture with changes.

    by: the column that rows of the form are of; whole: whether to list all rows and domains; refused: why there is
    no answer
    """
    plan = mixture.plan_json
    phases = [phase["phase"] for phase in plan["phases"]]
    titles = titles_of(overview, by)
    rows = domain_rows(mixture, by, weight=weight_at_end)
    is_domains = by == mixture.domain_column
    lines: list[tuple[str, tuple[float, ...], int]] = (
        [(row.domain, row.weights, row.tokens_drawn) for row in rows]
        if is_domains
        else [(row.key, row.weights, row.tokens_drawn) for row in group_rows(rows, titles) if row.key is not None]
    )
    lines.sort(key=lambda line: (-line[2], line[0]))
    typed = {key for key, value in query.items() if value.strip()}
    named = {key for key, *_ in lines if any(f"share:{phase}:{key}" in typed for phase in phases)}
    kind = "shares" if is_domains else "groups"
    faults = {str(one.get("pointer")): str(one["detail"]) for one in ([] if refused is None else refused.errors)}
    first = {key for key, *_ in lines[: rows_shown(len(lines), whole=whole)]}
    view = WhatIfView(
        name=mixture.name,
        asked=asked or mixture.name,
        ref=pinned(mixture),
        digest=mixture.digest,
        by=by,
        columns=group_columns(mixture.catalog, mixture.domain_column),
        domain_column=mixture.domain_column,
        phases=tuple(phases),
        changing=tuple(phase["phase"] for phase in plan["phases"] if phase.get("weights_change")),
        budget=_field("budget", query, f"{plan['steps']} steps"),
        ends=tuple(
            _field(f"until:{one['phase']}", query, f"step {one['first_step'] + one['steps']}") for one in plan["phases"]
        )[:-1],
        rows=tuple(
            FormRow(
                key=key,
                title=titles.get(key, ""),
                fields=tuple(
                    _field(f"share:{phase}:{key}", query, weight, faults.get(_pointer(phase, kind, key)))
                    for phase, weight in zip(phases, weights, strict=True)
                ),
            )
            for key, weights, _ in lines
            if key in first or key in named
        ),
        rows_in_all=len(lines),
        faults=() if refused is None else _faults(refused),
        tokens_before=plan["tokens"],
        steps_before=plan["steps"],
    )
    if answer is None:
        return view
    group_of = {row.domain: row.group for row in rows}
    by_group: dict[str | None, list[WhatIfDomain]] = defaultdict(list)
    for domain in answer.domains:
        by_group[group_of[domain.domain]].append(domain)
    domains = [_change(domain.domain, "", [domain], answer, plan) for domain in answer.domains]
    groups = (
        []
        if is_domains
        else [_change(key, titles.get(key or "", ""), held, answer, plan) for key, held in by_group.items()]
    )
    old, new = (
        {one["message"]: None for one in plan["findings"]},
        {finding["message"]: None for finding in answer.findings},
    )
    return view.model_copy(
        update={
            "answer": answer,
            "groups": tuple(sorted(groups, key=_moved)),
            "domains": tuple(sorted(domains, key=_moved)),
            "shown": rows_shown(len(domains), whole=whole),
            "new": tuple(message for message in new if message not in old),
            "gone": tuple(message for message in old if message not in new),
        }
    )


def _field(name: str, query: Mapping[str, str], now: str | float, fault: str | None = None) -> Field:
    return Field(name=name, typed=query.get(name, "").strip(), now=now, fault=fault)


def _pointer(phase: str, kind: str, key: str) -> str:
    return "".join(f"/{pointer_token(part)}" for part in ("phases", phase, kind, key))


def _faults(refused: Problem) -> tuple[str, ...]:
    """Each fault in a line, with what would be right; of one without single faults, itself."""
    errors: Sequence[Mapping[str, object]] = refused.errors or [{"detail": refused.detail, "hint": refused.hint}]
    return tuple(" — ".join(str(error[part]) for part in ("detail", "hint") if error.get(part)) for error in errors)


def _moved(row: Change) -> tuple[float, str]:
    return -abs(row.share - row.share_before), row.name or ""


def _change(
    name: str | None, title: str, held: Sequence[WhatIfDomain], answer: WhatIfAnswer, plan: PlanReport
) -> Change:
    before, after = sum(one.tokens_drawn_before for one in held), sum(one.tokens_drawn for one in held)
    tokens = sum(one.tokens for one in held)
    return Change(
        name=name,
        title=title,
        share_before=before / plan["tokens"],
        share=after / answer.tokens,
        tokens_before=before,
        tokens=after,
        epochs_before=before / tokens if tokens else None,
        epochs=after / tokens if tokens else None,
        max_epochs=held[0].max_epochs if len(held) == 1 else None,
        tokens_missing=sum(one.tokens_missing for one in held),
    )
