"""Streams from a service: the same batches and the same states as from a store."""

from mixture.client.stream import RemoteStream, open_remote_stream

__all__ = ["RemoteStream", "open_remote_stream"]
