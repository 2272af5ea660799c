"""Streams: schedule and store together, as batches for one rank."""

from mixture.stream.batch import Batch, arrow_schema, to_arrow
from mixture.stream.local import LocalStream, open_stream
from mixture.stream.ranks import rank_slots, slot_rank
from mixture.stream.state import StreamState
from mixture.stream.stream import Stream

__all__ = [
    "Batch",
    "LocalStream",
    "Stream",
    "StreamState",
    "arrow_schema",
    "open_stream",
    "rank_slots",
    "slot_rank",
    "to_arrow",
]
