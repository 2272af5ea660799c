"""Findings about domains: what can not be drawn, what is drawn too often, what is never drawn, what may be a slip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from mixture.catalog import CatalogDomain
from mixture.names import look_alikes
from mixture.plan.caps import max_epochs, tokens_over_cap
from mixture.plan.figures import decimal
from mixture.plan.findings import Finding, named
from mixture.plan.phases import PhaseSteps
from mixture.plan.weights import PhaseWeights
from mixture.spec import FindingCode, Spec
from mixture.units import format_count


@dataclass(frozen=True, slots=True)
class DomainsOfRun:
    """What the checks of domains look at.

    undrawable: by domain, the phases that can not draw from it (`undrawable_phases`)
    drawn:      by phase, the sequences of each domain
    before:     the tokens of each domain that were read before these phases, in a run that was amended
    tokenizer:  the run's
    """

    spec: Spec
    domains: Sequence[CatalogDomain]
    phases: Sequence[PhaseSteps]
    weights: Sequence[PhaseWeights]
    undrawable: Sequence[Sequence[int]]
    drawn: Sequence[Sequence[int]]
    before: Sequence[int]
    tokenizer: str | None

    def weighed_in(self, d: int) -> list[int]:
        """The phases that give a domain a weight above 0."""
        return _weighed_in(self.weights, d)

    def tokens_drawn(self, d: int) -> list[int]:
        """The tokens of a domain that were read before, and that each phase draws."""
        return [self.before[d], *self._to_come(d)]

    def _to_come(self, d: int) -> list[int]:
        return [drawn[d] * phase.sequence_length for phase, drawn in zip(self.phases, self.drawn, strict=True)]

    def max_epochs(self, d: int) -> Fraction | None:
        """How often a domain may be read."""
        return max_epochs(self.spec, self.domains[d])

    def find(self) -> Iterator[Finding]:
        """All findings about domains, by kind."""
        yield from self._undrawable()
        yield from self._over_epochs()
        yield from self._other_tokenizer()
        yield from self._draws_nothing()
        yield from self._unused()
        yield from self._missing()
        yield from self._names_alike()
        yield from self._zero_weight()

    def _undrawable(self) -> Iterator[Finding]:
        for d, domain in enumerate(self.domains):
            phases = self.undrawable[d]
            if not phases:
                continue
            own = self.weights[phases[0]]
            phase = self.phases[phases[0]]
            facts: dict[str, object] = {
                "domain": domain.name,
                "tokens": domain.tokens,
                "phases": [self.phases[i].name for i in phases],
            }
            share = f"{decimal(own.shares[d] * 100, digits=4)}% in phase {phase.name!r}"
            hint = "set its weight to 0 or leave it out; this can not be accepted, for nothing could be drawn"
            if not domain.tokens:
                yield Finding(
                    FindingCode.DOMAIN_EMPTY,
                    f"domain {domain.name!r} has no tokens and is weighed {share}",
                    self.spec.place(own.paths[d]),
                    hint,
                    facts,
                )
            else:
                yield Finding(
                    FindingCode.DOMAIN_TOO_SMALL,
                    f"domain {domain.name!r} has {format_count(domain.tokens)} tokens, not one whole sequence of"
                    f" {format_count(phase.sequence_length)}, and is weighed {share}",
                    self.spec.place(own.paths[d]),
                    hint,
                    facts | {"sequence_length": phase.sequence_length},
                )

    def _over_epochs(self) -> Iterator[Finding]:
        for d, domain in enumerate(self.domains):
            cap, tokens = self.max_epochs(d), self._to_come(d)
            drawn = sum(tokens) + self.before[d]
            missing = tokens_over_cap(drawn, domain.tokens, cap)
            if cap is None or not missing or not any(tokens) or self.undrawable[d]:
                continue
            needed = ceil(drawn / cap)
            most = max(range(len(tokens)), key=tokens.__getitem__)
            epochs = Fraction(drawn, domain.tokens)
            yield Finding(
                FindingCode.OVER_EPOCHS,
                f"domain {domain.name!r} is read {_above(epochs, cap)} times, allowed are"
                f" {decimal(cap, digits=4)}: {format_count(missing)} tokens are missing; it would have to hold"
                f" {format_count(needed)}, it holds {format_count(domain.tokens)}",
                self.spec.place(self.weights[most].paths[d]),
                "lower its weight, raise max_epochs, or find more of it"
                if self._asked_tokens(d) > cap * domain.tokens
                else "its weight asks for no more than that, and whole sequences of it come to a little more: leave"
                " some room below max_epochs",
                {
                    "domain": domain.name,
                    "tokens": domain.tokens,
                    "tokens_drawn": drawn,
                    "epochs": epochs,
                    "max_epochs": cap,
                    "tokens_missing": missing,
                    "tokens_needed": needed,
                },
            )

    def _asked_tokens(self, d: int) -> Fraction:
        """What weights alone come to, exact, and what was read before."""
        shares = zip(self.phases, self.weights, strict=True)
        asked = sum((phase.tokens * own.shares.get(d, Fraction(0)) for phase, own in shares), Fraction(0))
        return asked + self.before[d]

    def _other_tokenizer(self) -> Iterator[Finding]:
        """Token counts of one tokenizer say nothing about another's."""
        expected = self.tokenizer
        for tokenizer, names in counted_with(self.domains, self.weights).items():
            if tokenizer == expected:
                continue
            other = "the spec names" if self.spec.tokenizer else "others were counted with"
            yield Finding(
                FindingCode.TOKENIZER_DIFFERS,
                f"the tokens of {named(names)} were counted with {tokenizer!r}, {other} {expected!r}",
                self.spec.place("tokenizer" if self.spec.tokenizer else "catalog"),
                "count them again with the run's tokenizer",
                {"tokenizer": expected, "counted_with": tokenizer, "domains": names},
            )

    def _draws_nothing(self) -> Iterator[Finding]:
        for phase, own, drawn in zip(self.phases, self.weights, self.drawn, strict=True):
            if not phase.steps:
                continue
            none = sorted(d for d, share in own.shares.items() if share and not drawn[d])
            if none:
                yield Finding(
                    FindingCode.DRAWS_NOTHING,
                    f"{self._named(none)}: no sequence in the {format_count(phase.sequences)} of phase {phase.name!r},"
                    " for all their weight above 0",
                    self.spec.place(own.paths[none[0]]),
                    "such a share is less than about one sequence of the phase: raise it, or set it to 0",
                    {"phase": phase.name, "domains": self._names(none)},
                )

    def _unused(self) -> Iterator[Finding]:
        unused = [d for d in range(len(self.domains)) if not self.weighed_in(d) and not self.before[d]]
        if unused:
            yield Finding(
                FindingCode.DOMAIN_UNUSED,
                f"no phase weighs {self._named(unused)}: "
                f"{format_count(sum(self.domains[d].tokens for d in unused))} tokens of the catalog are never read",
                self.spec.place("phases"),
                None,
                {"domains": self._names(unused)},
            )

    def _missing(self) -> Iterator[Finding]:
        for i, own in enumerate(self.weights):
            if own.listed is None:
                continue
            missing = [d for d in range(len(self.domains)) if d not in own.listed and self.weighed_in(d)]
            if missing:
                yield Finding(
                    FindingCode.DOMAIN_MISSING_IN_PHASE,
                    f"phase {self.phases[i].name!r} does not list {self._named(missing)}, which other phases weigh",
                    self.spec.place(f"phases[{self.phases[i].index}].weights"),
                    "a weight of 0 says that it is meant",
                    {"phase": self.phases[i].name, "domains": self._names(missing)},
                )

    def _names_alike(self) -> Iterator[Finding]:
        for names in look_alikes(domain.name for domain in self.domains):
            yield Finding(
                FindingCode.NAMES_ALIKE,
                f"{' and '.join(repr(name) for name in names)} are different domains that look alike",
                self.spec.place("catalog"),
                "rename one, if they are the same text: it would be drawn twice in an epoch",
                {"domains": names},
            )

    def _zero_weight(self) -> Iterator[Finding]:
        for phase, own in zip(self.phases, self.weights, strict=True):
            zero = sorted(d for d, share in own.shares.items() if not share)
            if zero:
                yield Finding(
                    FindingCode.ZERO_WEIGHT,
                    f"phase {phase.name!r} gives {self._named(zero)} no weight: never drawn in it",
                    self.spec.place(own.paths[zero[0]]),
                    None,
                    {"phase": phase.name, "domains": self._names(zero)},
                )

    def _names(self, indices: Sequence[int]) -> list[str]:
        return [self.domains[d].name for d in indices]

    def _named(self, indices: Sequence[int]) -> str:
        return ("domain " if len(indices) == 1 else "domains ") + named(self._names(indices))


def undrawable_phases(
    domains: Sequence[CatalogDomain], phases: Sequence[PhaseSteps], weights: Sequence[PhaseWeights]
) -> list[list[int]]:
    """For every domain, the phases that weigh it while it has not one whole sequence of their length."""
    return [
        [i for i in _weighed_in(weights, d) if domain.tokens < phases[i].sequence_length]
        for d, domain in enumerate(domains)
    ]


def _weighed_in(weights: Sequence[PhaseWeights], d: int) -> list[int]:
    return [i for i, own in enumerate(weights) if own.shares.get(d, 0)]


def counted_with(domains: Sequence[CatalogDomain], weights: Sequence[PhaseWeights]) -> Mapping[str, list[str]]:
    """The tokenizers that the catalog names for the domains that are weighed, each with its domains' names."""
    by_tokenizer: dict[str, list[str]] = {}
    for d, domain in enumerate(domains):
        if domain.tokenizer is not None and _weighed_in(weights, d):
            by_tokenizer.setdefault(domain.tokenizer, []).append(domain.name)
    return by_tokenizer


def _above(epochs: Fraction, cap: Fraction) -> str:
    """Epochs in four digits, or in as many as tell them from the cap that they are above."""
    digits = 4
    while decimal(epochs, digits=digits) == decimal(cap, digits=digits):
        digits += 2
    return decimal(epochs, digits=digits)
