"""Spans of objects as they are needed: out of memory, out of the cache, or out of the object store, each once."""

from __future__ import annotations

import atexit
import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from functools import lru_cache, partial
from pathlib import Path
from shutil import rmtree

from mixture.data.storage.address import Address
from mixture.data.storage.disk import DiskCache
from mixture.data.storage.options import ObjectOptions
from mixture.data.storage.retries import Objects
from mixture.data.storage.spans import Run, Span, runs
from mixture.data.storage.workers import Need, Workers
from mixture.whole_file import whole_file


class Blocks:
    """Reads spans of objects: those that are near in one request, several requests at a time, none twice at a time.

    What was read last stays in memory, up to `options.memory_bytes`, and in the cache, where there is one.
    Any number of threads may ask. Errors: StoreError, those of `Objects`.
    """

    def __init__(self, options: ObjectOptions) -> None:
        self.options = options
        self.objects = Objects(options)
        self.disk = None if options.cache is None else DiskCache(options.cache, options.cache_bytes)
        self._guard = threading.Lock()
        self._memory: OrderedDict[Span, bytes] = OrderedDict()
        self._bytes = 0
        self._coming: dict[Span, Future[bytes]] = {}
        self._begun: set[Span] = set()
        self._workers = Workers(options.in_flight)

    def read(self, spans: Iterable[Span]) -> Mapping[Span, bytes]:
        """The bytes of spans. The first error that comes is raised when all that was asked for has ended."""
        found, coming = self._ask(spans, Need.AWAITED)
        error = None
        for span, future in coming.items():
            try:
                found[span] = future.result()
            except BaseException as caught:  # noqa: BLE001 (raised below)
                error = error or caught
        if error is not None:
            raise error
        return found

    def read_ahead(self, spans: Iterable[Span]) -> None:
        """Begin to read spans; returns at once. `read` waits for what is on its way, and asks again for what failed."""
        self._ask(spans, Need.AHEAD)

    @property
    def tables(self) -> Path:
        """The folder for tables of stores."""
        return self.disk.folder / "tables" if self.disk is not None else _spare_folder(os.getpid())

    def fetched(self, address: Address) -> Path:
        """A small object as it is now, in a file of its name among the tables."""
        found = self.objects.look(address)
        said = f"{address}\x1f{found.facts}".encode()
        path = self.tables / hashlib.blake2b(said, digest_size=20).hexdigest() / address.name
        if not path.is_file():
            data = self.objects.read(Span(found, 0, found.facts.size))
            path.parent.mkdir(exist_ok=True)
            with whole_file(path) as beside:
                beside.write_bytes(data)
        return path

    def _ask(self, spans: Iterable[Span], need: Need) -> tuple[dict[Span, bytes], dict[Span, Future[bytes]]]:
        found: dict[Span, bytes] = {}
        coming: dict[Span, Future[bytes]] = {}
        wanted = []
        with self._guard:
            for span in dict.fromkeys(spans):
                known = self._memory.get(span)
                if known is not None:
                    self._memory.move_to_end(span)
                    found[span] = known
                    continue
                future = self._coming.get(span)
                if future is None:
                    future = self._coming[span] = Future()
                    wanted.append(span)
                elif need is Need.AWAITED and span not in self._begun:
                    wanted.append(span)  # it was asked for ahead, behind others: whoever begins it first gets it
                coming[span] = future
        for run in runs(wanted):
            self._workers.submit(partial(self._get, run), need)
        return found, coming

    def _get(self, run: Run) -> None:
        """Get the spans of a run that nobody has begun, by one request where none of them is in the cache."""
        with self._guard:
            left = [span for span in run.spans if span in self._coming and span not in self._begun]
            self._begun.update(left)
        try:
            if self.disk is not None:
                for span in tuple(left):
                    data = self.disk.get(span)
                    if data is not None:
                        self._there(span, data)
                        left.remove(span)
            for part in tuple(runs(left)):
                whole = part.whole
                data = self.objects.read(whole)
                for span in part.spans:
                    own = data if len(part.spans) == 1 else data[span.start - whole.start : span.stop - whole.start]
                    if self.disk is not None:
                        self.disk.put(span, own)
                    self._there(span, own)
                    left.remove(span)
        except BaseException as error:  # noqa: BLE001 (who waits gets it)
            with self._guard:
                self._begun.difference_update(left)
                futures = [self._coming.pop(span) for span in left]
            for future in futures:
                future.set_exception(error)

    def _there(self, span: Span, data: bytes) -> None:
        with self._guard:
            self._memory[span] = data
            self._bytes += len(data)
            while self._bytes > self.options.memory_bytes and len(self._memory) > 1:
                self._bytes -= len(self._memory.popitem(last=False)[1])
            self._begun.discard(span)
            future = self._coming.pop(span)
        future.set_result(data)


def blocks_of(options: ObjectOptions) -> Blocks:
    """What reads objects with these options in this process: one for all stores."""
    return _blocks_of(options, os.getpid())


@lru_cache(maxsize=8)
def _blocks_of(options: ObjectOptions, _process: int) -> Blocks:
    # Threads and connections do not come along into a process that was forked.
    return Blocks(options)


@lru_cache(maxsize=1)
def _spare_folder(process: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="mixture-"))
    atexit.register(_remove, folder, process)
    return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:
        rmtree(folder, ignore_errors=True)
