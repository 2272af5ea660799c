"""Documents as they are shown: examples, typical texts, facts."""

from mixture.api.texts.examples import DomainExamples, Example, ExampleKind, QualityReason, is_decodable
from mixture.api.texts.facts import DocumentFacts, KeptFacts, LengthBin, document_facts
from mixture.api.texts.store_reading import reading_store
from mixture.api.texts.typical import TypicalText, TypicalTexts

__all__ = [
    "DocumentFacts",
    "DomainExamples",
    "Example",
    "ExampleKind",
    "KeptFacts",
    "LengthBin",
    "QualityReason",
    "TypicalText",
    "TypicalTexts",
    "document_facts",
    "is_decodable",
    "reading_store",
]
