"""A trainer's files as a spec and its tables. What they do not say is asked for, or set and said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os.path import relpath
from pathlib import Path
from typing import TypeVar

from mixture.catalog import Catalog
from mixture.errors import FormatError, Place, nearest
from mixture.formats.declared import Declared, DeclaredPhase, KeyedBy, SourceFile
from mixture.formats.format import MixtureFormat, Remark, WeightUnit
from mixture.formats.paths import DOMAIN, domain_of, paths_of
from mixture.formats.shares import token_weights
from mixture.formats.spec_text import CATALOG_FILE, SpecFields, SpecPhase, catalog_text, spec_files
from mixture.plan import decimal
from mixture.plan.words import counted
from mixture.schedule import WHOLE, apportion
from mixture.spec import SUM_TOLERANCE
from mixture.units import quote

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
    """

    name: str | None = None
    catalog: Catalog | None = None
    path_template: str = DOMAIN
    unit: WeightUnit | None = None
    sequence_length: int | None = None
    batch_sequences: int | None = None
    steps: tuple[int, ...] = ()


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
    `weights-all-zero`, `documents-unknown`, `unit-not-drawn`, `files-disagree`, `run-too-short`; SpecError and
    UnitError where a file is wrong, with its place.
    """
    given = given or Given()
    if form.read is None:
        raise FormatError(f"{form.name} can not be imported", code="no-way-back", hint="the lock has all that it says")
    if given.unit is not None and given.unit not in form.units:
        hint = f"it draws {' or '.join(form.units)}"
        raise FormatError(f"{form.name} does not draw {given.unit}", code="unit-not-drawn", hint=hint)
    declared = form.read(files, given.unit or form.unit)
    remarks = [*declared.remarks]
    catalog = _CatalogOf(declared, given, files[0].place)
    phases = [_named(phase, i, declared) for i, phase in enumerate(declared.phases, start=1)]
    weights = [dict(_token_shares(phase, catalog, declared, remarks)) for phase in phases]
    length = _settled("sequence_length", [phase.sequence_length for phase in phases], given.sequence_length)
    batch = _settled("batch", [phase.batch_sequences for phase in phases], given.batch_sequences)
    step_tokens = (length or SEQUENCE_LENGTH) * (batch or BATCH_SEQUENCES)
    phases, budget, extents = _extents(phases, given, catalog, remarks, step_tokens)
    for what, value, default in (("sequence length", length, SEQUENCE_LENGTH), ("batch", batch, BATCH_SEQUENCES)):
        if value is None:
            remarks.append(
                Remark("not-in-the-file", f"the {what} is not said; {default:,} is set, change it in the spec")
            )
    name = given.name or declared.name or files[0].path.name.partition(".")[0]
    spec = SpecFields(
        mixture=name,
        catalog=CATALOG_FILE if catalog.table is None else _path(catalog.table.source, folder),
        tokenizer=declared.tokenizer,
        seed=SEED if declared.seed is None else declared.seed,
        sequence_length=length or SEQUENCE_LENGTH,
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
        made[CATALOG_FILE] = catalog_text(declared.tokens, declared.tokenizer)
    return Imported(name, made, tuple(remarks))


class _CatalogOf:
    """The domains that a spec will have: those of a table, or those whose sizes the files say."""

    def __init__(self, declared: Declared, given: Given, place: Place) -> None:
        if given.catalog is None and not declared.tokens:
            raise FormatError(
                "it does not say how many tokens its domains have",
                code="catalog-needed",
                place=place,
                hint="give the table of its domains: --catalog TABLE",
            )
        self.table = given.catalog
        self._sizes = declared.tokens
        if self.table is not None:
            self._sizes = {domain.name: domain.tokens for domain in self.table.domains if not domain.held_out}
        self._template = given.path_template
        self._by_path: Mapping[str, str] | None = None

    @property
    def tokens(self) -> int:
        """The tokens of all domains."""
        return sum(self._sizes.values())

    def domain(self, key: str, keyed_by: KeyedBy, place: Place) -> str:
        """The domain that a weight's key means. Raises FormatError `unknown-domain`."""
        if key in self._sizes and (keyed_by is KeyedBy.DOMAIN or self._template == DOMAIN):
            return key
        if keyed_by is KeyedBy.PATH and self.table is not None:
            if self._by_path is None:
                names = list(self._sizes)
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
            hint=nearest(key, self._sizes) or "each that has a weight has a row there",
            domain=key,
        )


def _named(phase: DeclaredPhase, number: int, declared: Declared) -> DeclaredPhase:
    """A phase with a name of its own."""
    names = [other.name for other in declared.phases]
    if phase.name is not None and names.count(phase.name) == 1:
        return phase
    return replace(phase, name="train" if len(names) == 1 else f"phase-{number}")


def _token_shares(
    phase: DeclaredPhase, catalog: _CatalogOf, declared: Declared, remarks: list[Remark]
) -> Iterator[tuple[str, Fraction]]:
    """Shares of tokens by domain: as written where they are such and sum to 1, else divided, to 15 places."""
    weights = {catalog.domain(key, declared.keyed_by, phase.place): weight for key, weight in phase.weights.items()}
    if not any(weights.values()):
        raise FormatError("all weights are 0: nothing could be drawn", code="weights-all-zero", place=phase.place)
    if declared.unit in (WeightUnit.DOCUMENTS, WeightUnit.EPOCHS):
        if catalog.table is None:
            message = f"its weights count {declared.unit}, and tokens are shared out"
            raise FormatError(
                message, code="catalog-needed", place=phase.place, hint="--catalog TABLE says how large they are"
            )
        weights = dict(token_weights(weights, declared.unit, catalog.table))
        message = f"phase {phase.name}: weights of {declared.unit} are made shares of tokens by the catalog's sizes"
        remarks.append(Remark("weights-converted", message))
    elif abs(sum(weights.values(), Fraction(0)) - 1) <= SUM_TOLERANCE:
        yield from weights.items()
        return
    else:
        message = (
            f"phase {phase.name}: weights sum to {decimal(sum(weights.values(), Fraction(0)))}, and are divided by it"
        )
        remarks.append(Remark("weights-divided", message))
    total = sum(weights.values(), Fraction(0))
    whole = apportion([weight / total for weight in weights.values()], WHOLE)
    yield from zip(weights, (Fraction(part, WHOLE) for part in whole), strict=True)


def _settled(what: str, said: Sequence[T | None], given: T | None) -> T | None:
    """What the first phase has, or is given. Raises FormatError `import-conflict` where both are there and differ."""
    known = [value for value in said if value is not None]
    other = next((value for value in known if given is not None and value != given), None)
    if other is not None:
        raise FormatError(
            f"{what} is given as {given}, and the file says {other}",
            code="import-conflict",
            hint="leave the option out",
        )
    return known[0] if known else given


def _other(value: T | None, first: T | None) -> T | None:
    return value if value != first else None


def _extents(
    phases: Sequence[DeclaredPhase], given: Given, catalog: _CatalogOf, remarks: list[Remark], step_tokens: int
) -> tuple[list[DeclaredPhase], str, list[tuple[str, str] | None]]:
    """The phases with their steps, the budget, and how long each is; the last is the rest.

    step_tokens: of a step, as the file says or as is set
    """
    phases = _with_steps(phases, given.steps)
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
            f"it does not say where phase {missing.name} ends",
            code="phases-without-length",
            place=missing.place,
            hint="--steps says the steps of the whole run",
        )
    message = f"how long it trains is not said; {catalog.tokens:,} tokens are set, as many as the catalog has"
    if len(phases) > 1:
        message += f", in {len(phases)} phases of one length"
    remarks.append(Remark("not-in-the-file", message))
    parts = [("until", f"{i}/{len(phases)}") for i in range(1, len(phases))]
    return phases, _budget(catalog.tokens, step_tokens, phases[0].place), [*parts, None]


def _budget(tokens: int, step_tokens: int, place: Place) -> str:
    """A budget in tokens. Raises FormatError `run-too-short`, before a spec is written that nothing can plan."""
    if tokens < step_tokens:
        raise FormatError(
            f"the run has {tokens:,} tokens, and a step would have {step_tokens:,}",
            code="run-too-short",
            place=place,
            hint="--batch and --sequence-length say what a step is, --steps how many there are",
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
        message = f"{counted(len(steps), 'number')} of steps for {counted(len(phases), 'phase')}"
        raise FormatError(
            message, code="import-conflict", hint="one for each phase, in order, or one for the whole run"
        )
    for phase, count in zip(phases, wanted, strict=True):
        if count < 1 or phase.steps not in (None, count):
            said = "nothing is left for it" if phase.steps is None else f"the file says {phase.steps:,}"
            message = f"phase {phase.name} would have {count:,} steps: {said}"
            raise FormatError(message, code="import-conflict", place=phase.place)
    return [replace(phase, steps=count, tokens=None) for phase, count in zip(phases, wanted, strict=True)]


def _path(catalog: Path, folder: Path) -> str:
    """A path as it is written in a file of the folder: relative."""
    return Path(relpath(catalog.resolve(), folder.resolve())).as_posix()


def _heading(
    form: MixtureFormat, files: Sequence[SourceFile], declared: Declared, remarks: Sequence[Remark]
) -> Iterator[str]:
    names = ", ".join(file.path.name for file in files)
    yield f"Imported from {names} ({form.title}); its weights count {declared.unit}, these are shares of tokens."
    for remark in remarks:
        yield str(remark)
