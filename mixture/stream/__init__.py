"""Streams: schedule and store together, as batches for one rank."""

from mixture.stream.ahead import read_ahead
from mixture.stream.batch import Batch, arrow_schema, to_arrow
from mixture.stream.local import LocalStream, open_stream
from mixture.stream.ranks import data_rank, rank_slots, slot_rank
from mixture.stream.sample import Sample, choose_sample
from mixture.stream.sample_file import write_sample
from mixture.stream.state import StreamState
from mixture.stream.stream import Stream
from mixture.stream.trace import DocumentPart, StoredDocument, TracedSequence, trace_step
from mixture.stream.trace_back import Trace, TracedRead, trace_documents, trace_range, trace_token
from mixture.stream.trace_sums import ReadSoFar, ReadValue, read_so_far

__all__ = [
    "Batch",
    "DocumentPart",
    "LocalStream",
    "ReadSoFar",
    "ReadValue",
    "Sample",
    "StoredDocument",
    "Stream",
    "StreamState",
    "Trace",
    "TracedRead",
    "TracedSequence",
    "arrow_schema",
    "data_rank",
    "choose_sample",
    "open_stream",
    "rank_slots",
    "read_ahead",
    "read_so_far",
    "slot_rank",
    "to_arrow",
    "trace_documents",
    "trace_range",
    "trace_step",
    "trace_token",
    "write_sample",
]
