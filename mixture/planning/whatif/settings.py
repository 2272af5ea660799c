"""Changes as text: `budget=17T`, `phases.midtraining.share=25%`, `phases.midtraining.weights.math=+5`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from mixture.errors import SpecError, nearest
from mixture.planning.spec import Form
from mixture.planning.whatif.changes import Changes, PhaseChange
from mixture.planning.whatif.faults import Faults
from mixture.planning.whatif.shares import parse_share
from mixture.units import quote
from mixture.wording import listed

BUDGET = "budget"
WEIGHTS = ("weights", "groups")


def parse_changes(settings: Sequence[str], phases: Sequence[str], *, by: str | None = None) -> Changes:
    """Read changes that are written as KEY=VALUE; phases: the names of the spec's phases; by: see `Changes`.

    KEY is `budget`, `phases.NAME.share` (or tokens, steps, until), `phases.NAME.weights.DOMAIN`, or
    `phases.NAME.groups.VALUE`. The last `=` separates, as names can contain it.

    Raises ChangesError with all errors: `unknown-key`, `unknown-phase`, `missing-value`, `duplicate-key`,
    `key-conflict`, and those of `parse_share`.
    """
    faults = Faults()
    budget: str | None = None
    changes: dict[str, PhaseChange] = {}
    known: set[str] = set()
    for setting in settings:
        key, separator, value = (part.strip() for part in setting.rpartition("="))
        with faults.at(key or setting):
            if not separator or not key or not value:
                hint = "for example budget=17T"
                raise SpecError(f"expected KEY=VALUE, found {quote(setting)}", code="missing-value", hint=hint)
            if key in known:
                raise SpecError("the key is set twice", code="duplicate-key", hint="set it once")
            known.add(key)
            if key == BUDGET:
                budget = value
                continue
            phase, rest = _split(key, phases)
            changes[phase] = _changed(changes.get(phase, PhaseChange()), key, phase, rest, value)
    faults.finish()
    return Changes(tuple(sorted(changes.items())), budget, by)


def _split(key: str, phases: Sequence[str]) -> tuple[str, str]:
    """The phase that a key names, and the rest of the key. A name can contain points: the longest that fits is it."""
    head, _, rest = key.partition(".")
    if head != "phases":
        raise _unknown(key, phases)
    phase = max((name for name in phases if rest.startswith(f"{name}.")), key=len, default=None)
    if phase is None:
        name = rest.partition(".")[0]
        hint = nearest(name, phases) or f"its phases: {', '.join(phases)}"
        raise SpecError(f"there is no phase {quote(name)}", code="unknown-phase", hint=hint)
    return phase, rest.removeprefix(f"{phase}.")


def _changed(change: PhaseChange, key: str, phase: str, rest: str, value: str) -> PhaseChange:
    if rest in list(Form):
        if change.extent is not None:
            message = f"phase {quote(phase)} has two lengths: {change.extent[0].value} and {rest}"
            raise SpecError(message, code="key-conflict", hint="set one of share, tokens, steps and until")
        return replace(change, extent=(Form(rest), value))
    kind, _, name = rest.partition(".")
    if kind not in WEIGHTS and name:  # such as `shares.books`: of the keys that end in a name, the nearest
        kind = max(WEIGHTS, key=lambda word: SequenceMatcher(None, word, kind).ratio())
        hint = f"did you mean 'phases.{phase}.{kind}.{name}'?"
        raise SpecError("unknown key", code="unknown-key", hint=hint)
    if not name:
        raise _unknown(key, [phase])
    share = (name, parse_share(name, value))
    if kind == "weights":
        return replace(change, weights=(*change.weights, share))
    return replace(change, groups=(*change.groups, share))


def _unknown(key: str, phases: Sequence[str]) -> SpecError:
    known = [BUDGET, *(full for phase in phases for full in _keys(phase))]
    hint = nearest(key, known) or f"known keys: {listed(known[:8])}"
    return SpecError("unknown key", code="unknown-key", hint=hint)


def _keys(phase: str) -> Iterator[str]:
    for form in Form:
        yield f"phases.{phase}.{form.value}"
    yield f"phases.{phase}.weights.DOMAIN"
    yield f"phases.{phase}.groups.VALUE"
