"""The arguments that are written, given to the real `interleave_datasets`: the unit is what makes the tokens right."""

from __future__ import annotations

import json

import datasets
import pytest
from format_trips import Written, written

from mixture.formats import FORMATS, WeightUnit, export_mixture

SPEC = """\
mixture: lengths
seed: 3
sequence_length: 16
batch: 4 sequences
budget: 100 steps
phases:
  - {phase: all, weights: {short: 50%, long: 30%, unused: 0, middling: 20%}}
"""
LENGTHS = {"short": 10, "middling": 50, "long": 200, "unused": 7}
NUM_DOCUMENTS = 20_000


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Written:
    rows = "".join(f"{name},{length * NUM_DOCUMENTS},{NUM_DOCUMENTS}\n" for name, length in LENGTHS.items())
    return written(tmp_path_factory.mktemp("own"), SPEC, f"domain,tokens,documents\n{rows}")


def token_shares(made: Written, unit: WeightUnit | None) -> dict[str, float]:
    """The shares of tokens among what interleaving with the exported arguments gives, 20,000 documents of each name."""
    (text,) = export_mixture(made.lock, FORMATS["hf"], catalog=made.catalog, unit=unit).files.values()
    arguments = json.loads(text)
    sources = [
        datasets.Dataset.from_dict({"name": [name] * NUM_DOCUMENTS, "tokens": [LENGTHS[name]] * NUM_DOCUMENTS})
        for name in arguments.pop("datasets")
    ]
    mixed = datasets.interleave_datasets(sources, **arguments | {"stopping_strategy": "first_exhausted"})
    table = mixed.with_format("numpy")[:]
    total = int(table["tokens"].sum())
    return {name: int(table["tokens"][table["name"] == name].sum()) / total for name in LENGTHS}


def test_documents_drawn_by_the_exported_probabilities_have_the_shares_of_tokens(made):
    shares = token_shares(made, None)
    assert shares == pytest.approx({"short": 0.5, "long": 0.3, "middling": 0.2, "unused": 0}, abs=0.02)


def test_token_shares_taken_for_probabilities_of_documents_would_be_far_off(made):
    shares = token_shares(made, WeightUnit.SEQUENCES)
    assert shares["long"] > 0.75
