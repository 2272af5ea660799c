"""Streams: schedule and store together, as batches for one rank."""

from mixture.stream.ahead import Ahead, read_ahead
from mixture.stream.batch import Batch, Tokens, arrow_schema, mask_bytes, row_parts, to_arrow
from mixture.stream.buffers import Buffers
from mixture.stream.dtypes import ids_as, ids_dtype
from mixture.stream.local import LocalStream, open_stream
from mixture.stream.masks import ALWAYS, Masks, masks_for
from mixture.stream.options import StreamOptions
from mixture.stream.planned_steps import PlannedSteps
from mixture.stream.positions import POSITIONS, positions_batch
from mixture.stream.ranks import check_divisible, check_rank, data_rank, rank_slots, slot_rank
from mixture.stream.sample.file import write_sample
from mixture.stream.sample.sample import Sample, choose_sample
from mixture.stream.state import StreamState, read_state
from mixture.stream.stream import Stream
from mixture.stream.trace.document_reads import Trace, TracedRead, trace_documents, trace_range, trace_token
from mixture.stream.trace.report import (
    ReadSums,
    ReadValueReport,
    TraceCounts,
    TracedPlace,
    TracedReadReport,
    read_json,
    sequence_json,
    sums_json,
    trace_counts,
    trace_json,
    traced_place,
    value_json,
)
from mixture.stream.trace.sums import ReadSoFar, ReadValue, read_so_far
from mixture.stream.trace.takedown import masks_of, masks_of_lines
from mixture.stream.trace.trace import DocumentPart, StoredDocument, TracedSequence, stored_documents, trace_step
from mixture.stream.wire import MEDIA_TYPE, MOST_STEPS, Checksum, End, Key, stream_metadata

__all__ = [
    "ALWAYS",
    "Ahead",
    "Batch",
    "Buffers",
    "Checksum",
    "DocumentPart",
    "End",
    "Key",
    "LocalStream",
    "MEDIA_TYPE",
    "MOST_STEPS",
    "Masks",
    "POSITIONS",
    "PlannedSteps",
    "ReadSoFar",
    "ReadSums",
    "ReadValue",
    "ReadValueReport",
    "Sample",
    "StoredDocument",
    "Stream",
    "StreamOptions",
    "StreamState",
    "Tokens",
    "Trace",
    "TraceCounts",
    "TracedPlace",
    "TracedRead",
    "TracedReadReport",
    "TracedSequence",
    "arrow_schema",
    "check_divisible",
    "check_rank",
    "choose_sample",
    "data_rank",
    "ids_as",
    "ids_dtype",
    "mask_bytes",
    "masks_for",
    "masks_of",
    "masks_of_lines",
    "open_stream",
    "positions_batch",
    "rank_slots",
    "read_ahead",
    "read_json",
    "read_so_far",
    "read_state",
    "row_parts",
    "sequence_json",
    "slot_rank",
    "stored_documents",
    "stream_metadata",
    "sums_json",
    "to_arrow",
    "trace_counts",
    "trace_documents",
    "trace_json",
    "trace_range",
    "trace_step",
    "trace_token",
    "traced_place",
    "value_json",
    "write_sample",
]
