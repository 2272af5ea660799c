"""A web server over a folder that answers to ranges, and misbehaves as it is told."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Fault(Enum):
    """What the server does to one request."""

    CUT = "it sends half of the body and closes"
    STALL = "it sends half of the body and no more, until the server ends"
    BUSY = "429, come back in a second"
    UNAVAILABLE = "503"
    OTHER_RANGE = "it sends the range that begins a byte later"
    FORBIDDEN = "403"
    NO_RANGES = "200 and all of the file"


class WebServer(ThreadingHTTPServer):
    """Serves a folder; faults are used up by requests of bodies, in order, and `always` is never."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.faults: list[Fault] = []
        self.always: Fault | None = None
        self.ending = threading.Event()
        self.guard = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.ranges: list[tuple[str, int, int]] = []

    @property
    def url(self) -> str:
        """Where the folder is."""
        return f"http://127.0.0.1:{self.server_port}"

    def next_fault(self) -> Fault | None:
        """What happens to this request."""
        with self.guard:
            return self.faults.pop(0) if self.faults else self.always

    def handle_error(self, request: object, client_address: object) -> None:
        """Who was cut off is no matter."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        path = self._file()
        if path is not None:
            self._head(200, path.stat().st_size, path)

    def do_GET(self) -> None:
        path = self._file()
        if path is None:
            return
        fault = self.server.next_fault() if "/tokens/" in self.path else None
        if fault in (Fault.BUSY, Fault.UNAVAILABLE, Fault.FORBIDDEN):
            status = {Fault.BUSY: 429, Fault.UNAVAILABLE: 503, Fault.FORBIDDEN: 403}[fault]
            self.send_response(status)
            if fault is Fault.BUSY:
                self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = self.headers.get("If-Match")
        if asked is not None and asked != _tag(path):
            self.send_response(412)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if found is None or fault is Fault.NO_RANGES:
            self._head(200, path.stat().st_size, path)
            self.wfile.write(path.read_bytes())
            return
        start, stop = int(found[1]), int(found[2]) + 1
        with self.server.guard:
            self.server.ranges.append((self.path, start, stop))
        if fault is Fault.OTHER_RANGE:
            start, stop = start + 1, stop + 1
        with path.open("rb") as file:
            file.seek(start)
            body = file.read(stop - start)
        self._head(206, len(body), path, f"bytes {start}-{start + len(body) - 1}/{path.stat().st_size}")
        if fault in (Fault.CUT, Fault.STALL):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            if fault is Fault.STALL:
                self.server.ending.wait()
            return
        self.wfile.write(body)

    def _file(self) -> Path | None:
        with self.server.guard:
            self.server.asked[self.path] += 1
        path = self.server.folder / self.path.lstrip("/")
        if path.is_file():
            return path
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def _head(self, status: int, size: int, path: Path, said: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", _tag(path))
        self.send_header("Last-Modified", "Mon, 05 Jan 2026 00:00:00 GMT")
        if said is not None:
            self.send_header("Content-Range", said)
        self.end_headers()


def _tag(path: Path) -> str:
    status = path.stat()
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}"'


@contextmanager
def web_server(folder: Path) -> Iterator[WebServer]:
    """A server over a folder, while the block runs."""
    server = WebServer(folder)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        thread.join()
        server.server_close()
