"""Batches over HTTP: read in parts, framed as Arrow IPC messages, sent as fast as the client takes them."""

from mixture.api.batches.frames import Frames
from mixture.api.batches.response import BatchesResponse
from mixture.api.batches.step_reader import open_steps

__all__ = [
    "BatchesResponse",
    "Frames",
    "open_steps",
]
