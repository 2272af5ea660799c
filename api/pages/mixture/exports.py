"""The formats of trainers that a mixture's page offers, each with the unit that its weights count."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from mixture.api.registry import LoadedMixture
from mixture.formats import FORMATS, MixtureFormat, WeightUnit


class ExportRow(BaseModel):
    """A format; unit: what weights in it count here."""

    model_config = ConfigDict(frozen=True)

    format: str
    title: str
    unit: WeightUnit


def export_rows(mixture: LoadedMixture) -> tuple[ExportRow, ...]:
    """All formats. Where a catalog does not count documents, what may be sequences is."""
    counts = all(domain.documents for domain in mixture.catalog.domains if domain.tokens)
    return tuple(
        ExportRow(format=form.name, title=form.title, unit=_unit(form, has_documents=counts))
        for form in FORMATS.values()
    )


def _unit(form: MixtureFormat, *, has_documents: bool) -> WeightUnit:
    usable = [unit for unit in form.units if has_documents or unit is not WeightUnit.DOCUMENTS]
    return usable[0] if usable else form.unit
