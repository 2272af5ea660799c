"""What a lock says, in numbers and sentences."""

from mixture.planning.explain.changes import Boundary, Change
from mixture.planning.explain.explain import AmendmentExplained, Explanation, Resumable, explain, resumable
from mixture.planning.explain.report import (
    ExplainedAmendment,
    ExplanationReport,
    ResumableReport,
    amendment_json,
    explanation_json,
    resumable_json,
)
from mixture.planning.explain.words import (
    amendment_head,
    amendment_words,
    lineage_words,
    phase_words,
    resumable_words,
    run_words,
)

__all__ = [
    "AmendmentExplained",
    "Boundary",
    "Change",
    "ExplainedAmendment",
    "Explanation",
    "ExplanationReport",
    "Resumable",
    "ResumableReport",
    "amendment_head",
    "amendment_json",
    "amendment_words",
    "explain",
    "explanation_json",
    "lineage_words",
    "phase_words",
    "resumable",
    "resumable_json",
    "resumable_words",
    "run_words",
]
