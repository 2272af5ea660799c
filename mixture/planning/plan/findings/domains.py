"""Findings about domains: what cannot be drawn, what is read too often, never, or at another share, and slips."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from mixture.names import look_alikes
from mixture.planning.catalog import CatalogDomain
from mixture.planning.plan.findings.finding import Finding, named
from mixture.planning.plan.findings.over_epochs import above, causes, fitting, share_that_fits
from mixture.planning.plan.phases import PhaseSteps
from mixture.planning.plan.planned import VISIBLE
from mixture.planning.plan.weights.caps import max_epochs, tokens_over_cap
from mixture.planning.plan.weights.weights import PhaseWeights
from mixture.planning.spec import SUM_TOLERANCE, FindingCode, Spec
from mixture.schedule import MAX_SEQUENCES, MOST_OFF
from mixture.units import decimal, format_count, percent
from mixture.wording import NAMED, counted, listed

ROUNDED_PART = Fraction(1, 100)
"""Of what a domain may be read: rounding to whole steps that reads more is an error, as it is easily avoided."""
OFF_PART = Fraction(1, 10)
"""Of its weight in a phase: what is read of a domain is another share from there on."""


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
    drawn: Sequence[tuple[int, ...]]
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
        never = self._unread()
        yield from self._undrawable()
        yield from self._over_epochs()
        yield from self._never_read(never)
        yield from self._other_tokenizer()
        yield from self._draws_nothing(set(never))
        yield from self._other_shares()
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
            share = f"{percent(own.shares[d], digits=4)} in phase {phase.name!r}"
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
        rounded: dict[int, int] = {}
        for d, domain in enumerate(self.domains):
            cap, tokens = self.max_epochs(d), self._to_come(d)
            drawn = sum(tokens) + self.before[d]
            missing = tokens_over_cap(drawn, domain.tokens, cap)
            if cap is None or not missing or not any(tokens) or self.undrawable[d]:
                continue
            longest = max(self.phases[i].sequence_length for i in self.weighed_in(d))
            allowed = cap * domain.tokens * (1 + SUM_TOLERANCE)
            if self.before[d]:
                allowed += MOST_OFF * longest  # what was read before was rounded as well
            is_asked = self._asked_tokens(d, rounded=False) > allowed
            if not is_asked and self._asked_tokens(d, rounded=True) <= allowed * (1 + ROUNDED_PART) + longest:
                rounded[d] = missing
                continue
            needed = ceil(drawn / cap)
            most = max(range(len(tokens)), key=tokens.__getitem__)
            epochs = Fraction(drawn, domain.tokens)
            share = share_that_fits(self.phases[most], self.weights[most], d, tokens[most], missing)
            yield Finding(
                FindingCode.OVER_EPOCHS,
                f"domain {domain.name!r} is read {above(epochs, cap)} times,"
                f" {fitting(domain, cap, missing, None if self.before[d] else needed, share)}",
                self.spec.place(self.weights[most].paths[d]),
                causes(self.spec, domain, self.weights[most].paths[d], may_grow=not self.before[d])
                if is_asked
                else "its weight asks for no more than that, and rounding to whole steps reads more: make the budget a"
                " step smaller",
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

        if rounded:
            yield self._rounded(dict(sorted(rounded.items(), key=lambda item: -item[1])))

    def _asked_tokens(self, d: int, *, rounded: bool) -> Fraction:
        """What weights come to in phases as asked for, or as rounded to steps, and what was read before."""
        asked, begin = Fraction(self.before[d]), Fraction(self.phases[0].first_step)
        for phase, own in zip(self.phases, self.weights, strict=True):
            steps = phase.steps if rounded else phase.asked_end - begin
            asked += steps * phase.batch_tokens * own.shares.get(d, Fraction(0))
            begin = phase.asked_end
        return asked

    def _rounded(self, tokens_over: Mapping[int, int]) -> Finding:
        first, total = next(iter(tokens_over)), sum(tokens_over.values())
        most = max(range(len(self.phases)), key=self._to_come(first).__getitem__)
        shown = [
            f"{format_count(tokens)} of {self.domains[d].name!r} beyond {_epochs(self.max_epochs(d) or Fraction(0))}"
            for d, tokens in [*tokens_over.items()][:NAMED]
        ]
        return Finding(
            FindingCode.EPOCHS_ROUNDED,
            f"rounding to whole steps and sequences reads {counted(total, 'token')} of"
            f" {counted(len(tokens_over), 'domain')} more than max_epochs allows:"
            f" {listed(shown, more=len(tokens_over) - NAMED)}",
            self.spec.place(self.weights[most].paths[first]),
            None,
            {"tokens": total, "domains": {self.domains[d].name: tokens for d, tokens in tokens_over.items()}},
        )

    def _asked_sequences(self, d: int) -> Fraction:
        """What weights alone come to in the phases to come."""
        shares = zip(self.phases, self.weights, strict=True)
        return sum((phase.sequences * own.shares.get(d, Fraction(0)) for phase, own in shares), Fraction(0))

    def _unread(self) -> list[int]:
        """The domains that are weighed and never read, the smallest first; what cannot be drawn is not among them."""
        unread = [
            d
            for d in range(len(self.domains))
            if any(self.phases[i].steps for i in self.weighed_in(d))
            and not self.undrawable[d]
            and not any(self.tokens_drawn(d))
        ]
        return sorted(unread, key=self._asked_sequences)

    def _never_read(self, unread: Sequence[int]) -> Iterator[Finding]:
        if not unread:
            return
        first = unread[0]
        most = max(self.weighed_in(first), key=lambda i: self.weights[i].shares[first] * self.phases[i].batch_sequences)
        phase, share = self.phases[most], self.weights[most].shares[first]
        bound = MOST_OFF * self.spec.phases[phase.index].weight_sets
        steps = ceil(bound / (share * phase.batch_sequences))
        sequences = {self.domains[d].name: self._asked_sequences(d) for d in unread}
        shown = [f"{decimal(asked, digits=2)} sequences of {name!r}" for name, asked in [*sequences.items()][:NAMED]]
        enough = (
            f"{counted(steps, 'step')} of phase {phase.name!r}, which has {format_count(phase.steps)}, read"
            if steps * phase.batch_sequences <= MAX_SEQUENCES
            else "no run is long enough to read"
        )
        yield Finding(
            FindingCode.NEVER_READ,
            f"the run never reads {counted(len(unread), 'domain')} to which it gives a weight above 0:"
            f" by weight it would be {listed(shown, more=len(unread) - NAMED)}",
            self.spec.place(self.weights[most].paths[first]),
            f"{enough} {self.domains[first].name!r} for certain; or raise its weight, set it to 0, or name never-read"
            " in `accept`",
            {"domains": list(sequences), "sequences_asked": sequences, "phase": phase.name, "steps_needed": steps},
        )

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

    def _draws_nothing(self, never: Collection[int]) -> Iterator[Finding]:
        """Phases that draw nothing of a domain that they weigh; those that the run `never` reads are errors."""
        for phase, own, drawn in zip(self.phases, self.weights, self.drawn, strict=True):
            if not phase.steps:
                continue
            none = sorted(d for d, share in own.shares.items() if share and not drawn[d] and d not in never)
            if none:
                yield Finding(
                    FindingCode.DRAWS_NOTHING,
                    f"{self._named(none)}: no sequence in the {format_count(phase.sequences)} of phase {phase.name!r},"
                    " for all their weight above 0",
                    self.spec.place(own.paths[none[0]]),
                    "such a share is less than about one sequence of the phase: raise it, or set it to 0",
                    {"phase": phase.name, "domains": self._names(none)},
                )

    def _other_shares(self) -> Iterator[Finding]:
        """Phases too short to give domains their share, which is rounded to whole sequences."""
        for phase, own, drawn in zip(self.phases, self.weights, self.drawn, strict=True):
            other = [
                d for d, share in own.shares.items() if drawn[d] and _is_off(int(drawn[d]), phase.sequences, share)
            ]
            if not other:
                continue
            read = {d: Fraction(drawn[d], phase.sequences) for d in other}
            off = {d: abs(read[d] - own.shares[d]) for d in other}
            other.sort(key=lambda d: -off[d] / own.shares[d])
            names = self._names(other)
            shown = [
                f"{self.domains[d].name!r} has {percent(read[d], digits=3)} in place of"
                f" {percent(own.shares[d], digits=3)}"
                for d in other[:NAMED]
            ]
            yield Finding(
                FindingCode.SHARE_DIFFERS,
                f"phase {phase.name!r}, of {counted(phase.sequences, 'sequence')}, is too short to give"
                f" {counted(len(other), 'domain')} {'its' if len(other) == 1 else 'their'} share:"
                f" {listed(shown, more=len(other) - NAMED)}",
                self.spec.place(own.paths[other[0]]),
                f"a domain may be {counted(self._most_off(phase), 'sequence')} from its share in this phase: a longer"
                " phase comes nearer to it",
                {
                    "phase": phase.name,
                    "sequences": phase.sequences,
                    "domains": names,
                    "weights": {self.domains[d].name: own.shares[d] for d in other},
                    "weights_read": {self.domains[d].name: read[d] for d in other},
                },
            )

    def _most_off(self, phase: PhaseSteps) -> int:
        """Sequences that a domain may be from its share in a phase, at most: each set of weights has a beginning and an
        end, and only where it begins with the phase is the beginning exact."""
        sets = self.spec.phases[phase.index].weight_sets
        return ceil(MOST_OFF * (sets + 1))

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


def _epochs(count: Fraction) -> str:
    return f"{decimal(count, digits=4)} epoch{'' if count == 1 else 's'}"


def _is_off(read: int, sequences: int, share: Fraction) -> bool:
    """Whether read / sequences is at least VISIBLE, and more than OFF_PART of it, from a share.

    In integers, since a run asks this for each phase and domain.
    """
    part, whole = share.as_integer_ratio()
    off, most = abs(read * whole - part * sequences), whole * sequences
    visible, off_part = VISIBLE.as_integer_ratio(), OFF_PART.as_integer_ratio()
    return off * visible[1] >= visible[0] * most and off * off_part[1] > off_part[0] * part * sequences
