"""Traces for programs, as commands print them and the service answers them, and their description field by field."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from mixture.data.layout import Attribute
from mixture.stream.trace.document_reads import Trace, TracedRead
from mixture.stream.trace.sums import ReadValue
from mixture.stream.trace.trace import DocumentPart, TracedSequence


class DocumentPartReport(TypedDict):
    """A document that a sequence reads from, and the part of it that it reads."""

    id: Annotated[str, Field(examples=["a/17"])]
    first_token: Annotated[int, Field(examples=[812], description="Offset of the first token in the domain's storage.")]
    tokens: Annotated[
        int, Field(examples=[96], description="Of the document, its end-of-document token included, or of the range.")
    ]
    attributes: Annotated[dict[str, Attribute], Field(examples=[{"license": "MIT"}])]
    from_token: Annotated[
        int, Field(examples=[0], description="Where the part that the sequence reads begins, from its first.")
    ]
    to_token: Annotated[int, Field(examples=[96], description="Where that part ends: one past its last token.")]
    masked_tokens: Annotated[int, Field(examples=[0], description="How many of them are taken down at the step.")]


class SequenceReport(TypedDict):
    """A sequence of a step, as `mixture trace step --json` prints it."""

    position: Annotated[int, Field(examples=[4000000000])]
    slot: Annotated[int, Field(examples=[7168], description="Its index within the step.")]
    domain: Annotated[str, Field(examples=["c14q3"])]
    draw: Annotated[int, Field(examples=[13450000], description="Its place in the domain's endless order.")]
    epoch: Annotated[int, Field(examples=[0], description="Full passes over the domain before it.")]
    sequence: Annotated[int, Field(examples=[7230145], description="Its number in the domain's storage.")]
    first_token: Annotated[int, Field(examples=[29614673920], description="Where it begins in the domain's storage.")]
    tokens: Annotated[int, Field(examples=[4096])]
    documents: Annotated[list[DocumentPartReport], Field(description="In order of place.")]


class TracedReadReport(TypedDict):
    """A sequence that reads of what is traced."""

    position: Annotated[int, Field(examples=[4000000000])]
    step: Annotated[int, Field(examples=[355113])]
    slot: Annotated[int, Field(examples=[7168], description="Its index within the step.")]
    epoch: Annotated[int, Field(examples=[0], description="Full passes over the domain before it.")]
    draw: Annotated[int, Field(examples=[13450000], description="Its place in the domain's endless order.")]
    sequence: Annotated[int, Field(examples=[7230145], description="Its number in the domain's storage.")]
    first_token: Annotated[
        int, Field(examples=[29614673920], description="Where the sequence begins in the domain's storage.")
    ]
    tokens: Annotated[int, Field(examples=[4096], description="Of the sequence.")]
    from_token: Annotated[
        int, Field(examples=[0], description="Where the part that it reads begins, from the first one traced.")
    ]
    to_token: Annotated[int, Field(examples=[812], description="Where that part ends: one past its last token.")]
    masked_tokens: Annotated[int, Field(examples=[0], description="How many of these are taken down at this step.")]


class TracedPlace(TypedDict):
    """The tokens that are traced."""

    domain: Annotated[str, Field(examples=["c14q3"])]
    first_token: Annotated[int, Field(examples=[812], description="Offset of the first token in the domain's storage.")]
    tokens: Annotated[
        int, Field(examples=[96], description="Of the document, its end-of-document token included, or of the range.")
    ]


class TraceCounts(TypedDict):
    """How often what is traced is read."""

    first_step: Annotated[int, Field(examples=[0])]
    times: Annotated[
        int,
        Field(
            examples=[3],
            description="Sequences from `first_step` on that read of it; of a document over several, each counts.",
        ),
    ]
    times_down: Annotated[
        int,
        Field(
            examples=[0],
            description="Of these, how many read nothing of its text, since all of it was taken down before.",
        ),
    ]


class DocumentAttributes(TypedDict, total=False):
    """Of a document."""

    attributes: Annotated[dict[str, Attribute], Field(description="Absent for a range.")]


class TraceReport(TracedPlace, DocumentAttributes, TraceCounts):
    """A document or a range and its reads, as `mixture trace document --json` and `token --json` print them."""

    document: Annotated[str | None, Field(description="Its id; null for a range.")]
    reads: Annotated[list[TracedReadReport], Field(description="In order, at most as many as were asked for.")]


class ReadSums(TypedDict):
    """What was read of documents together."""

    documents: Annotated[int, Field(examples=[30112], description="Of which at least one token was read.")]
    tokens: Annotated[int, Field(examples=[41200512], description="Different ones.")]
    tokens_with_repeats: Annotated[int, Field(examples=[52310016], description="Each as often as it was read.")]
    tokens_masked: Annotated[
        int,
        Field(
            examples=[0],
            description="Beside them: what stood in sequences, and was hidden since it was taken down.",
        ),
    ]


class ReadValueReport(ReadSums):
    """What was read of the documents with one value, as `mixture trace read-so-far --json` prints it."""

    value: Annotated[
        str | int | float | bool | None, Field(examples=["MIT"], description="Null: documents without one.")
    ]


def sequence_json(sequence: TracedSequence) -> SequenceReport:
    """The report of a sequence."""
    return {
        "position": sequence.position,
        "slot": sequence.slot,
        "domain": sequence.domain,
        "draw": sequence.draw,
        "epoch": sequence.epoch,
        "sequence": sequence.sequence,
        "first_token": sequence.first_token,
        "tokens": sequence.tokens,
        "documents": [_part(part) for part in sequence.documents],
    }


def _part(part: DocumentPart) -> DocumentPartReport:
    return {
        "id": part.document.id,
        "first_token": part.document.first_token,
        "tokens": part.document.tokens,
        "attributes": dict(part.document.attributes),
        "from_token": part.from_token,
        "to_token": part.to_token,
        "masked_tokens": part.masked_tokens,
    }


def trace_json(trace: Trace, limit: int | None) -> TraceReport:
    """The report of a trace, with at most so many reads."""
    document = trace.document
    attributes: DocumentAttributes = {} if document is None else {"attributes": dict(document.attributes)}
    return {
        "document": None if document is None else document.id,
        **traced_place(trace),
        **attributes,
        **trace_counts(trace),
        "reads": [read_json(read) for read in islice(trace.reads(), limit)],
    }


def traced_place(trace: Trace) -> TracedPlace:
    """The tokens that a trace is of."""
    return {"domain": trace.domain, "first_token": trace.first_token, "tokens": trace.tokens}


def trace_counts(trace: Trace) -> TraceCounts:
    """How often what a trace is of is read."""
    return {"first_step": trace.first_step, "times": trace.times, "times_down": trace.times_down}


def read_json(read: TracedRead) -> TracedReadReport:
    """The report of a read."""
    return {
        "position": read.position,
        "step": read.step,
        "slot": read.slot,
        "epoch": read.epoch,
        "draw": read.draw,
        "sequence": read.sequence,
        "first_token": read.first_token,
        "tokens": read.tokens,
        "from_token": read.from_token,
        "to_token": read.to_token,
        "masked_tokens": read.masked_tokens,
    }


def value_json(value: ReadValue) -> ReadValueReport:
    """The report of what was read of a value."""
    return {"value": value.value, **sums_json(value)}


def sums_json(value: ReadValue) -> ReadSums:
    """The same without the value."""
    return {
        "documents": value.documents,
        "tokens": value.tokens,
        "tokens_with_repeats": value.tokens_with_repeats,
        "tokens_masked": value.tokens_masked,
    }
