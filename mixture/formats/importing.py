"""A trainer's files as a spec and its tables. What they do not say is asked for, or set and said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from os.path import relpath
from pathlib import Path
from typing import TypeVar

from mixture.errors import FormatError, Place, nearest
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import MixtureFormat, Remark, WeightUnit
from mixture.formats.paths import DOMAIN, domain_of, paths_of, short_names
from mixture.formats.shares import token_weights
from mixture.formats.spec_text import CATALOG_FILE, SpecFields, SpecPhase, catalog_text, spec_files
from mixture.planning.catalog import Catalog
from mixture.planning.spec import SUM_TOLERANCE
from mixture.schedule import WHOLE, apportion
from mixture.units import decimal, quote
from mixture.wording import counted, listed

T = TypeVar("T")

SEQUENCE_LENGTH = 4096
BATCH_SEQUENCES = 1024
SEED = 0


@dataclass(frozen=True, slots=True)
class Given:
    """What a person says beside the files; what is None or empty, the files say, or it is set and said.

    name:          of the mixture
    catalog:       the table of its domains; needed where the files do not say how large those are
    path_template: how paths in the files are made of domains
    unit:          what the trainer's samples are, where the format leaves that open
    steps:         of each phase, in order; or one number, of the whole run
    tokenizer:     where the files name none, or several
    """

    name: str | None = None
    catalog: Catalog | None = None
    path_template: str = DOMAIN
    unit: WeightUnit | None = None
    sequence_length: int | None = None
    batch_sequences: int | None = None
    steps: tuple[int, ...] = ()
    tokenizer: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A spec and its tables, by file name, for one folder; and what was left out, set or changed on the way."""

    mixture: str
    files: Mapping[str, str]
    remarks: tuple[Remark, ...]


def import_mixture(
    form: MixtureFormat, files: Sequence[SourceFile], folder: Path, given: Given | None = None
) -> Imported:
    """A spec from a trainer's files: one with all phases, or one for each, in order. Nothing is written.

    folder: where the spec will lie, for the path of the catalog

    Raises FormatError: `no-way-back`, `catalog-needed`, `unknown-domain`, `import-conflict`, `phases-without-length`,
    `weights-all-zero`, `missing-column`, `unit-not-drawn`, `files-disagree`, `run-too-short`; SpecError and
    UnitError where a file is wrong, with its place.
    """
    given = given or Given()
    if form.read is None:
        raise FormatError(
            f"{form.name} cannot be imported", code="no-way-back", hint="the lock has all that the table says"
        )
    if given.unit is not None and given.unit not in form.units:
        hint = f"expected one of: {', '.join(form.units)}"
        raise FormatError(f"{form.name} does not draw {given.unit}", code="unit-not-drawn", hint=hint)
    declared = form.read(files, given.unit or form.unit)
    remarks = [*declared.remarks]
    tokenizer = _tokenizer(declared, given.tokenizer, files[0].place, remarks)
    phases: Sequence[DeclaredPhase] = [_named(phase, i, declared) for i, phase in enumerate(declared.phases, start=1)]
    length = _settled("sequence_length", [phase.sequence_length for phase in phases], given.sequence_length)
    usual = declared.usual_length or SEQUENCE_LENGTH
    phases = [_in_sequences(phase, phase.sequence_length or length or usual) for phase in phases]
    batch = _settled("batch", [phase.batch_sequences for phase in phases], given.batch_sequences)
    catalog = _CatalogOf(declared, given, files[0].place)
    weighed = [
        _Weighed.of(phase, catalog, declared, sequence_length=phase.sequence_length or length or usual)
        for phase in phases
    ]
    phases = [
        phase if phase.passes is None else replace(phase, tokens=tokens.of_passes(phase.passes), passes=None)
        for phase, tokens in zip(phases, weighed, strict=True)
    ]
    phases = [_of_samples(phase, phase.batch_sequences or batch or BATCH_SEQUENCES) for phase in phases]
    weights = [dict(tokens.shares(str(phase.name), remarks)) for phase, tokens in zip(phases, weighed, strict=True)]
    step_tokens = (length or usual) * (batch or BATCH_SEQUENCES)
    phases = _with_steps(phases, given.steps)
    if not catalog.sizes:
        catalog.sizes = _sizes_read(phases, weights, length or usual, batch or BATCH_SEQUENCES)
        if not catalog.sizes:
            raise catalog.needed("the file does not say how many tokens its domains have")
        message = (
            f"the file does not say how many tokens the domains have; {CATALOG_FILE} gives each as many as the run"
        )
        remarks.append(Remark("sizes-not-in-the-file", f"{message} reads, one epoch: correct them where you know more"))
    phases = _one_measure(phases, length or usual, batch or BATCH_SEQUENCES)
    phases, budget, extents = _extents(phases, catalog, remarks, step_tokens)
    for what, value, default in (("sequence length", length, usual), ("batch", batch, BATCH_SEQUENCES)):
        if value is None:
            remarks.append(
                Remark(
                    "not-in-the-file", f"the file does not say the {what}; {default:,} is set: change it in the spec"
                )
            )
    name = given.name or declared.name or files[0].path.name.partition(".")[0]
    spec = SpecFields(
        mixture=name,
        catalog=CATALOG_FILE if catalog.table is None else _path(catalog.table.source, folder),
        tokenizer=tokenizer,
        seed=SEED if declared.seed is None else declared.seed,
        sequence_length=length or usual,
        batch=batch or BATCH_SEQUENCES,
        budget=budget,
        phases=tuple(
            SpecPhase(
                name=str(phase.name),
                extent=extent,
                weights=own,
                sequence_length=_other(phase.sequence_length, length),
                batch=_other(phase.batch_sequences, batch),
            )
            for phase, extent, own in zip(phases, extents, weights, strict=True)
        ),
    )
    made = spec_files(spec, _heading(form, files, declared, remarks))
    if catalog.table is None:
        made[CATALOG_FILE] = catalog_text(catalog.sizes, tokenizer)
    return Imported(name, made, tuple(remarks))


class _CatalogOf:
    """The domains that a spec will have: those of a table, those whose sizes the files say, or those that they name.

    sizes: tokens by domain; empty where nothing says them
    """

    def __init__(self, declared: Declared, given: Given, place: Place) -> None:
        self.table = given.catalog
        self.sizes: dict[str, int] = dict(declared.tokens)
        if self.table is not None:
            self.sizes = {domain.name: domain.tokens for domain in self.table.domains if not domain.held_out}
        self._place = place
        self._template = given.path_template
        self._by_path: Mapping[str, str] | None = None
        self._short: Mapping[str, str] = {}
        if declared.keyed_by is KeyedBy.PATH and self._template == DOMAIN:
            keys = dict.fromkeys(key for phase in declared.phases for key in (*phase.weights, *phase.epochs))
            short = short_names(list(keys))
            if not self.sizes or (not self.sizes.keys() >= keys.keys() and self.sizes.keys() >= set(short.values())):
                self._short = short

    @property
    def tokens(self) -> int:
        """The tokens of all domains."""
        return sum(self.sizes.values())

    def needed(self, message: str) -> FormatError:
        """The error where nothing says how large domains are."""
        hint = "give the table of its domains: --catalog TABLE"
        return FormatError(message, code="catalog-needed", place=self._place, hint=hint)

    def domain(self, key: str, keyed_by: KeyedBy, place: Place) -> str:
        """The domain that a weight's key means. Raises FormatError `unknown-domain`."""
        key = self._short.get(key, key)
        if not self.sizes or (key in self.sizes and (keyed_by is KeyedBy.DOMAIN or self._template == DOMAIN)):
            return key
        if keyed_by is KeyedBy.PATH and self.table is not None:
            if self._by_path is None:
                names = list(self.sizes)
                self._by_path = dict(zip(paths_of(names, self._template, self.table), names, strict=True))
            try:
                return domain_of(key, self._by_path, self.table)
            except FormatError as error:
                error.place = place
                raise
        raise FormatError(
            f"{quote(key)} is not a domain of the catalog",
            code="unknown-domain",
            place=place,
            hint=nearest(key, self.sizes) or "every domain with a weight needs a row in the catalog",
            domain=key,
        )


def _named(phase: DeclaredPhase, number: int, declared: Declared) -> DeclaredPhase:
    """A phase with a name of its own."""
    names = [other.name for other in declared.phases]
    if phase.name is not None and names.count(phase.name) == 1:
        return phase
    return replace(phase, name="train" if len(names) == 1 else f"phase-{number}")


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The weights of a phase as weights of tokens.

    weights: by domain; they sum to whatever they sum to
    counted: what they counted before, where the catalog's sizes made them weights of tokens
    full:    tokens of a pass; None where nothing says it
    """

    weights: Mapping[str, Fraction]
    place: Place
    counted: str | None
    full: Fraction | None

    @classmethod
    def of(cls, phase: DeclaredPhase, catalog: _CatalogOf, declared: Declared, *, sequence_length: int) -> _Weighed:
        """Raises FormatError `catalog-needed`, `missing-column`, `unknown-domain`."""
        unit, table = declared.unit, catalog.table
        own, epochs = (_by_domain(keyed, phase, catalog, declared) for keyed in (phase.weights, phase.epochs))
        if len(epochs) == 1 and not own and not catalog.sizes:
            own, epochs = dict.fromkeys(epochs, Fraction(1)), {}  # all of it, however large it is
        if epochs and not catalog.sizes:
            raise catalog.needed("the file gives epochs of domains, but not how many tokens they have")
        is_documents = unit is WeightUnit.DOCUMENTS and bool(own)
        if is_documents:
            if table is None:
                raise catalog.needed(f"its weights count {unit}, which only a table of the domains converts to tokens")
            own = token_weights(own, table)
        elif unit is WeightUnit.SEQUENCES and (epochs or phase.passes is not None):
            own = {name: count * sequence_length for name, count in own.items()}
        counted = [unit.value] if is_documents else []
        full = sum((Fraction(catalog.sizes[name]) for name in own), Fraction(0)) if catalog.sizes else None
        weights = dict(own)
        for name, times in epochs.items():
            weights[name] = max(weights.get(name, Fraction(0)) + times * catalog.sizes[name], Fraction(0))
        if epochs or phase.counts:
            full = sum(weights.values(), Fraction(0))
        return cls(weights, phase.place, " and ".join([*counted, *(["epochs"] if epochs else [])]) or None, full)

    def of_passes(self, passes: Fraction | None) -> int | None:
        """The tokens of so many passes, rounded down."""
        return None if passes is None or self.full is None else int(passes * self.full)

    def shares(self, phase: str, remarks: list[Remark]) -> Iterator[tuple[str, Fraction]]:
        """Shares of tokens by domain: as written where they are such and sum to 1, else divided, to 15 places."""
        total = sum(self.weights.values(), Fraction(0))
        if not total:
            raise FormatError("all weights are 0", code="weights-all-zero", place=self.place)
        if self.counted:
            message = (
                f"phase {phase}: weights of {self.counted} are converted to shares of tokens with the catalog's sizes"
            )
            remarks.append(Remark("weights-converted", message))
        elif abs(total - 1) <= SUM_TOLERANCE:
            if all(_is_decimal(weight) for weight in self.weights.values()):
                yield from self.weights.items()
                return
        else:
            message = f"phase {phase}: weights sum to {decimal(total)} and are divided by that"
            remarks.append(Remark("weights-divided", message))
        whole = apportion([weight / total for weight in self.weights.values()], WHOLE)
        yield from zip(self.weights, (Fraction(part, WHOLE) for part in whole), strict=True)


def _is_decimal(x: Fraction) -> bool:
    """Whether a number can be written with a finite number of decimals."""
    return not pow(10, x.denominator.bit_length(), x.denominator)


def _by_domain(
    keyed: Mapping[str, Fraction], phase: DeclaredPhase, catalog: _CatalogOf, declared: Declared
) -> Mapping[str, Fraction]:
    """Amounts by domain; those of keys that mean the same domain add up."""
    amounts: dict[str, Fraction] = {}
    for key, amount in keyed.items():
        name = catalog.domain(key, declared.keyed_by, phase.place)
        amounts[name] = amounts.get(name, Fraction(0)) + amount
    return amounts


def _sizes_read(
    phases: Sequence[DeclaredPhase], weights: Sequence[Mapping[str, Fraction]], length: int, batch: int
) -> dict[str, int]:
    """What the run reads of each domain, up to a whole sequence; nothing where phases do not say how long they are."""
    read: dict[str, Fraction] = {}
    longest = max(phase.sequence_length or length for phase in phases)
    for phase, own in zip(phases, weights, strict=True):
        tokens = phase.tokens
        if phase.steps is not None:
            tokens = phase.steps * (phase.batch_sequences or batch) * (phase.sequence_length or length)
        if tokens is None:
            return {}
        for name, share in own.items():
            read[name] = read.get(name, Fraction(0)) + share * tokens
    return {name: longest * (ceil(tokens / longest) or 1) for name, tokens in read.items()}


def _settled(what: str, said: Sequence[T | None], given: T | None) -> T | None:
    """What the first phase has, or is given. Raises FormatError `import-conflict` where both are there and differ."""
    known = [value for value in said if value is not None]
    other = next((value for value in known if given is not None and value != given), None)
    if other is not None:
        raise FormatError(
            f"{what} is given as {given}, but the file says {other}",
            code="import-conflict",
            hint="leave the option out",
        )
    return known[0] if known else given


def _tokenizer(declared: Declared, given: str | None, place: Place, remarks: list[Remark]) -> str | None:
    """The tokenizer of the run. Raises FormatError `files-disagree`, `import-conflict`."""
    if not declared.other_tokenizers:
        return _settled("tokenizer", [declared.tokenizer], given)
    names = listed([quote(str(name)) for name in (declared.tokenizer, *declared.other_tokenizers)])
    if given is None:
        raise FormatError(
            f"the files name different tokenizers: {names}",
            code="files-disagree",
            place=place,
            hint="--tokenizer NAME says which one the token counts are of",
        )
    remarks.append(Remark("read-as", f"the files name the tokenizers {names}; {quote(given)} is set"))
    return given


def _other(value: T | None, first: T | None) -> T | None:
    return value if value != first else None


def _in_sequences(phase: DeclaredPhase, length: int) -> DeclaredPhase:
    """The phase with its batch in sequences. Raises FormatError `import-conflict` where it is not a number of them."""
    if phase.batch_tokens is None:
        return phase
    batch, rest = divmod(phase.batch_tokens, length)
    if rest or not batch:
        message = f"a batch of {phase.batch_tokens:,} tokens is not a multiple of the sequence length, {length:,}"
        hint = "give the sequence length with --sequence-length"
        raise FormatError(message, code="import-conflict", place=phase.place, hint=hint)
    return replace(phase, batch_sequences=batch, batch_tokens=None)


def _of_samples(phase: DeclaredPhase, batch: int) -> DeclaredPhase:
    """The phase with its length in steps where it is one in samples; what is left of a step is one more."""
    return phase if phase.samples is None else replace(phase, steps=-(-phase.samples // batch), samples=None)


def _one_measure(phases: Sequence[DeclaredPhase], length: int, batch: int) -> Sequence[DeclaredPhase]:
    """The phases, all in tokens, or, where some are in steps, all in those; what is left of a step is one more."""
    if not any(phase.steps is not None for phase in phases):
        return phases
    return [
        replace(phase, steps=_steps(phase, length, batch), tokens=None) if phase.tokens is not None else phase
        for phase in phases
    ]


def _steps(phase: DeclaredPhase, length: int, batch: int) -> int:
    step_tokens = (phase.sequence_length or length) * (phase.batch_sequences or batch)
    return -(-(phase.tokens or 0) // step_tokens)


def _extents(
    phases: Sequence[DeclaredPhase], catalog: _CatalogOf, remarks: list[Remark], step_tokens: int
) -> tuple[Sequence[DeclaredPhase], str, list[tuple[str, str] | None]]:
    """The phases with their steps, the budget, and how long each is; the last is the rest.

    step_tokens: of a step, as the file says or as is set
    """
    steps = [phase.steps for phase in phases]
    if all(count is not None for count in steps):
        ends = [sum(count or 0 for count in steps[: i + 1]) for i in range(len(steps))]
        return phases, f"{ends[-1]} steps", [*(("until", f"step {end}") for end in ends[:-1]), None]
    tokens = [phase.tokens for phase in phases]
    if all(count is not None for count in tokens):
        extents = [("tokens", f"{count} tokens") for count in tokens[:-1]]
        total = sum(count or 0 for count in tokens)
        return phases, _budget(total, step_tokens, phases[0].place), [*extents, None]
    if any(count is not None for count in (*steps, *tokens)):
        missing = next(phase for phase in phases if phase.steps is None and phase.tokens is None)
        raise FormatError(
            f"the file does not say where phase {missing.name} ends",
            code="phases-without-length",
            place=missing.place,
            hint="give the steps of the whole run with --steps",
        )
    message = f"the file does not say how long the run is; {catalog.tokens:,} tokens are set, all that the catalog has"
    if len(phases) > 1:
        message += f", in {len(phases)} phases of equal length"
    remarks.append(Remark("not-in-the-file", message))
    parts = [("until", f"{i}/{len(phases)}") for i in range(1, len(phases))]
    return phases, _budget(catalog.tokens, step_tokens, phases[0].place), [*parts, None]


def _budget(tokens: int, step_tokens: int, place: Place) -> str:
    """A budget in tokens. Raises FormatError `run-too-short`, before a spec is written that nothing can plan."""
    if tokens < step_tokens:
        raise FormatError(
            f"the run has {tokens:,} tokens, but a step has {step_tokens:,}",
            code="run-too-short",
            place=place,
            hint="give the size of a step with --batch and --sequence-length, and how many there are with --steps",
        )
    return f"{tokens} tokens"


def _with_steps(phases: Sequence[DeclaredPhase], steps: Sequence[int]) -> list[DeclaredPhase]:
    """The phases with the steps that are given: of each, or of the run, which fixes the last."""
    phases = list(phases)
    if not steps:
        return phases
    known = [phase.steps for phase in phases]
    if len(steps) == len(phases):
        wanted = list(steps)
    elif len(steps) == 1 and all(count is not None for count in known[:-1]):
        wanted = [*(count or 0 for count in known[:-1]), steps[0] - sum(count or 0 for count in known[:-1])]
    else:
        message = f"--steps is given {counted(len(steps), 'time')} for {counted(len(phases), 'phase')}"
        raise FormatError(
            message, code="import-conflict", hint="give it once for each phase, in order, or once for the whole run"
        )
    for phase, count in zip(phases, wanted, strict=True):
        if count < 1 or phase.steps not in (None, count):
            said = "no steps are left for it" if phase.steps is None else f"the file says {phase.steps:,}"
            message = f"phase {phase.name} would have {count:,} steps: {said}"
            raise FormatError(message, code="import-conflict", place=phase.place)
    return [replace(phase, steps=count, tokens=None, passes=None) for phase, count in zip(phases, wanted, strict=True)]


def _path(catalog: Path, folder: Path) -> str:
    """A path as it is written in a file of the folder: relative."""
    return Path(relpath(catalog.resolve(), folder.resolve())).as_posix()


def _heading(
    form: MixtureFormat, files: Sequence[SourceFile], declared: Declared, remarks: Sequence[Remark]
) -> Iterator[str]:
    names = ", ".join(file.path.name for file in files)
    counted = "epochs" if not any(phase.weights for phase in declared.phases) else declared.unit
    yield f"Imported from {names} ({form.title}); its weights count {counted}; the weights here are shares of tokens."
    for remark in remarks:
        yield str(remark)
