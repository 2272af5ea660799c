"""Streams: schedule and store together, as batches for one rank."""

from mixture.stream.batch import Batch, arrow_schema, to_arrow
from mixture.stream.ranks import rank_slots
from mixture.stream.state import StreamState
from mixture.stream.stream import Stream, open_stream

__all__ = ["Batch", "Stream", "StreamState", "arrow_schema", "open_stream", "rank_slots", "to_arrow"]
