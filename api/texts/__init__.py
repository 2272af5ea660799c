"""Documents as they are shown: examples, typical texts, facts."""

from api.texts.examples import DomainExamples, Example, ExampleKind, QualityReason, is_decodable
from api.texts.facts import DocumentFacts, KeptFacts, LengthBin, document_facts
from api.texts.store_reading import reading_store
from api.texts.typical import TypicalText, TypicalTexts

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
