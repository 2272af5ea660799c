"""A lock written in a trainer's format, with what is lost said in the files or beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mixture.errors import FormatError
from mixture.formats.export_losses import lost
from mixture.formats.format import Body, MixtureFormat, Remark, WeightUnit
from mixture.formats.paths import DOMAIN, paths_of
from mixture.formats.shares import texts_of
from mixture.formats.stages import Run, stages_of
from mixture.lock import Lock
from mixture.planning.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export gives.

    files:   texts by file name, in the order to be read; names are of letters that every file system takes
    unit:    what the weights in them count
    remarks: what the format cannot express; files that have comments begin with them
    """

    mixture: str
    digest: str
    format: str
    unit: WeightUnit
    files: Mapping[str, str]
    remarks: tuple[Remark, ...]

    def json(self) -> dict[str, object]:
        """All but the files' texts, as JSON has it."""
        return {
            "mixture": self.mixture,
            "digest": self.digest,
            "format": self.format,
            "unit": self.unit.value,
            "remarks": [{"code": remark.code, "message": remark.message} for remark in self.remarks],
        }


def export_mixture(
    lock: Lock,
    form: MixtureFormat,
    *,
    catalog: Catalog | None = None,
    phase: str | None = None,
    path_template: str = DOMAIN,
    unit: WeightUnit | None = None,
) -> Exported:
    """Write a lock in a format.

    catalog:       the table of its domains: for columns of the template, and for documents where weights count those
    phase:         only this one, its steps counted from its first
    path_template: where a domain's text lies, `{domain}` and `{COLUMN}` filled in
    unit:          what the trainer's samples are, where the format leaves that open

    Raises FormatError: `unit-not-drawn`, `unknown-phase`, `no-catalog`, `unknown-column`, `template-empty`,
    `paths-alike`, `missing-column`, `path-with-space`; CatalogError `unknown-domain`.
    """
    unit = _unit(form, unit)
    names = [domain.name for domain in lock.data.domains]
    stages = stages_of(lock, phase=phase)
    told = [replace(stage, texts=texts_of(stage.weights, names, unit, catalog)) for stage in stages]
    run = Run(lock, unit, paths_of(names, path_template, catalog), tuple(told), catalog)
    bodies = form.write(run)
    remarks = (*lost(run, form), *bodies.remarks)
    files = {_name(run, form, body): _text(run, form, body, remarks) for body in bodies.files}
    return Exported(lock.mixture, lock.digest, form.name, unit, files, remarks)


def _unit(form: MixtureFormat, unit: WeightUnit | None) -> WeightUnit:
    if unit is None or unit in form.units:
        return unit or form.unit
    raise FormatError(
        f"{form.name} does not draw {unit}",
        code="unit-not-drawn",
        hint=f"expected one of: {', '.join(form.units)}",
        unit=unit.value,
    )


def _name(run: Run, form: MixtureFormat, body: Body) -> str:
    parts = [run.stem, form.name, body.part, body.ending]
    return ".".join(part for i, part in enumerate(parts) if part and part not in parts[i + 1 :])


def _text(run: Run, form: MixtureFormat, body: Body, remarks: tuple[Remark, ...]) -> str:
    if not body.comments:
        return body.text
    return "".join(f"# {line}\n" for line in _heading(run, form, body, remarks)) + body.text


def _heading(run: Run, form: MixtureFormat, body: Body, remarks: tuple[Remark, ...]) -> Iterator[str]:
    yield f"{_line(run.lock.mixture)}, lock {run.lock.digest}"
    yield form.title
    yield from map(_line, body.about.splitlines())
    for remark in remarks:
        yield _line(str(remark))


def _line(text: str) -> str:
    """One line, whatever a name has in it."""
    return "".join(character if character.isprintable() else "·" for character in text)
