"""A first spec for a catalog: it plans without an error, and says of its figures where they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path

from mixture.planning.catalog import Catalog
from mixture.planning.init.sizes import Best, Limit, Sizes, sizes_for
from mixture.planning.plan import Plan, drawable, make_plan, read_inputs
from mixture.planning.spec import SCHEMA_FILE, FindingCode, parse_spec
from mixture.units import decimal, format_count, percent

MAX_EPOCHS = 4
"""Up to so many epochs text that is read again is nearly as good as new (Muennighoff et al. 2023, arXiv 2305.16264)."""
FEWEST_STEPS_OF_TWO_PHASES = 10

_PLAIN_TEXT = re.compile(r"[A-Za-z][\w./-]*[\w/]", re.ASCII)
_OTHER_THINGS = {"yes", "no", "on", "off", "true", "false", "null"}
_COMMENTS = 34  # the column that they stand in
_BEST_SHARE = Fraction(3, 10)


@dataclass(frozen=True, slots=True)
class FirstSpec:
    """The text of a spec, and its plan."""

    text: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class _Draft:
    """A spec that may have to be made smaller. accepts: whether it lets through that some domains are never read."""

    path: Path
    table: str
    domain: str
    sizes: Sizes
    max_epochs: int
    steps: int
    accepts: bool = False


def first_spec(
    catalog: Catalog, path: Path, *, table: str, domain: str = "domain", tokens: int | None = None
) -> FirstSpec:
    """A commented spec for a catalog: 80% over all of it, then 20% with more of the best, or of the small.

    path:   where it will lie; the mixture is called as its folder
    table:  what it calls the catalog, from there
    domain: the catalog's column of domains
    tokens: of the run; None: about one epoch

    Raises PlanError `catalog-empty` where no domain has a token, and what `parse_spec` and `make_plan` do.
    """
    domains, limits = drawable(catalog), list[Limit]()
    for _ in range(3):
        sizes = sizes_for(catalog, domains, limits, tokens)
        draft, plan = _with_epochs(_Draft(path, table, domain, sizes, MAX_EPOCHS, sizes.steps), catalog)
        # A domain that the catalog lets be read less often than this run reads some would need a share of its own.
        least = ceil(_most_epochs(plan))
        free = tuple(one for one in domains if one.max_epochs is None or one.max_epochs >= least)
        if not plan.refusals or not any(one.tokens for one in free):
            break
        where = f"(max_epochs is null or max_epochs >= {least})"
        domains, limits = free, [Limit(where, "what may be read less often needs a share of its own")]
    while plan.refusals and draft.steps > 1:
        draft, plan = _planned(replace(draft, steps=draft.steps // 2), catalog)
    plan.require()
    return FirstSpec(_text(draft, plan), plan)


def _with_epochs(draft: _Draft, catalog: Catalog) -> tuple[_Draft, Plan]:
    """A draft that allows as many epochs as it has, and its plan."""
    draft, plan = _planned(draft, catalog)
    needed = ceil(_most_epochs(plan))
    return (draft, plan) if needed <= draft.max_epochs else _planned(replace(draft, max_epochs=needed), catalog)


def _planned(draft: _Draft, catalog: Catalog) -> tuple[_Draft, Plan]:
    """A draft that accepts what a short run cannot read, if there is such a thing, and its plan."""
    for accepts in (False, True):
        draft = replace(draft, accepts=accepts)
        spec = parse_spec(_text(draft, None).encode(), path=draft.path)
        plan = make_plan(spec, read_inputs(spec, catalog=catalog))
        if FindingCode.NEVER_READ not in [finding.code for finding in plan.refusals]:
            break
    return draft, plan


def _most_epochs(plan: Plan) -> Fraction:
    return max((domain.epochs or Fraction(0) for domain in plan.domains), default=Fraction(0))


def _text(draft: _Draft, plan: Plan | None) -> str:
    """The spec; the plan is of the same draft, where it is known."""
    return "\n".join([*_head(draft, plan), *_phases(draft), ""])


def _head(draft: _Draft, plan: Plan | None) -> Iterator[str]:
    sizes = draft.sizes
    tokens = draft.steps * sizes.step_tokens
    yield f"# yaml-language-server: $schema={SCHEMA_FILE}"
    yield f"# Written by `mixture init`, to be changed. What comes of it: mixture plan {draft.path.name}"
    name = draft.path.absolute().parent.name[:100] or "mixture"
    yield f"mixture: {_scalar(name)}"
    table = _scalar(draft.table)
    if draft.domain != "domain":
        table = f"{{table: {_quoted(draft.table)}, domain: {_quoted(draft.domain)}}}"
    held = f"{format_count(len(sizes.domains))} of its domains are read here: {format_count(sizes.tokens)} tokens"
    yield _line(f"catalog: {table}", held)
    if sizes.tokenizer is None:
        yield "# tokenizer: ORGANISATION/NAME   # the catalog does not say what its tokens were counted with"
    else:
        yield _line(f"tokenizer: {_scalar(sizes.tokenizer)}", "what their tokens were counted with")
    yield _line("seed: 0", "another seed is another order of the same run")
    yield _line(f"sequence_length: {sizes.sequence_length}", "tokens; a phase may have its own")
    yield _line(
        f"batch: {sizes.batch} sequence{'' if sizes.batch == 1 else 's'}",
        f"a step, over all machines: {format_count(sizes.step_tokens)} tokens",
    )
    part = percent(Fraction(tokens, sizes.tokens), digits=3)
    yield _line(
        f"budget: {draft.steps} step{'' if draft.steps == 1 else 's'}",
        f"{format_count(tokens)} tokens, {part} of what is read here",
    )
    if plan is None:
        yield f"max_epochs: {draft.max_epochs}"
    else:
        most = decimal(_most_epochs(plan), digits=3)
        yield _line(f"max_epochs: {draft.max_epochs}", f"of any domain; here the most is {most}. More is an error")
    if draft.accepts:
        yield _line("accept: [never-read]", "the run is too short to read some small domains")


def _phases(draft: _Draft) -> Iterator[str]:
    sizes = draft.sizes
    for limit in sizes.limits:
        yield f"# Only where `{limit.where}`: {limit.why}."
    yield "phases:"
    is_one = len(sizes.domains) == 1 or draft.steps < FEWEST_STEPS_OF_TWO_PHASES
    yield "  - phase: pretraining"
    if not is_one:
        yield "    share: 80%"
    best = sizes.best
    yield from _all(best, sizes.limits, sizes.tokens)
    if is_one:
        return
    yield _line("  - phase: midtraining", "the rest: 20%")
    if best is None:
        yield from _even(draft)
    else:
        yield "    weights:"
        yield _line("      - replay: pretraining", "its weights once more")
        yield "        share: 70%"
        yield from _group(best.where, sizes.limits, _BEST_SHARE, "and more of the best")


def _all(best: Best | None, limits: Sequence[Limit], tokens: int) -> Iterator[str]:
    """Every domain by its size, in two groups where there are better ones."""
    if best is None and not limits:
        yield _line("    weights: proportional", "each domain has its part of the tokens")
        return
    yield "    weights:"
    if best is None:
        yield from _group("", limits, Fraction(1), "each domain has its part of the tokens")
        return
    part = Fraction(best.tokens, tokens)
    share = Fraction(min(99, max(1, round(100 * part))), 100)
    for where, own, held in ((best.where, share, part), (best.others, 1 - share, 1 - part)):
        yield from _group(where, limits, own, f"{percent(held, digits=3)} of the tokens")


def _even(draft: _Draft) -> Iterator[str]:
    """As even as can be: more of the small domains, each at most once, or as often as there is text for the phase."""
    sizes = draft.sizes
    tokens = draft.steps * sizes.step_tokens
    epochs = ceil(Fraction(tokens, 4 * sizes.tokens)) or 1
    rule = f"{{unimax: {{max_epochs: {epochs}}}}}"
    why = "as even as can be, none above that in this phase"
    if not sizes.limits:
        yield _line(f"    weights: {rule}", why)
        return
    yield "    weights:"
    yield from _group("", sizes.limits, Fraction(1), why, rule=rule)


def _group(
    where: str, limits: Sequence[Limit], share: Fraction, why: str, *, rule: str = "proportional"
) -> Iterator[str]:
    own = [f"({where})" if " or " in where and limits else where] if where else []
    yield f"      - where: {_quoted(' and '.join([*own, *(limit.where for limit in limits)]))}"
    yield _line(f"        share: {percent(share)}", why)
    yield f"        within: {rule}"


def _line(text: str, comment: str) -> str:
    return f"{text.ljust(_COMMENTS - 1)} # {comment}"


def _scalar(text: str) -> str:
    is_plain = _PLAIN_TEXT.fullmatch(text) and text.lower() not in _OTHER_THINGS
    return text if is_plain else _quoted(text)


def _quoted(text: str) -> str:
    """A text in double quotes, which YAML and JSON have in common."""
    return json.dumps(text, ensure_ascii=False)
