"""One attempt at an object: in a bucket through obstore, at a web server through httpx.

obstore hides the headers of an answer, and `Retry-After` with them; web servers send it, so they are asked by a client
that shows it. Neither tries anything again by itself: `mixture.data.storage.retries` does, by one rule for both.
"""

from __future__ import annotations

import os
import re
import time
import weakref
from collections.abc import Iterator
from datetime import timedelta
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import Any, ClassVar, Protocol
from urllib.parse import quote

from mixture.data.storage.address import Address
from mixture.data.storage.facts import InterruptedReadError, ObjectFacts, changed, missing
from mixture.data.storage.options import ObjectOptions
from mixture.data.storage.spans import Span
from mixture.errors import Place, StoreError
from mixture.extras import install_hint

CHUNK_BYTES = 1 << 16
PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Answers that another attempt may not get."""


class Client(Protocol):
    """Asks for objects of one root, once. Errors: InterruptedReadError, StoreError."""

    def facts(self, address: Address) -> ObjectFacts:
        """What an object is."""
        ...

    def listed(self, folder: Address) -> dict[str, ObjectFacts] | None:
        """The objects below a folder by path; None: it can not be listed."""
        ...

    def chunks(self, span: Span) -> Iterator[Any]:
        """Bytes of an object that is still the one that it was, in order, in chunks of any size."""
        ...


def client_of(root: str, options: ObjectOptions) -> Client:
    """The client of a bucket or of a web server. Errors: StoreError `extra-missing`, `store-unreadable`."""
    wanted = ("tenacity",) if root.startswith("http") else ("obstore", "tenacity")
    lacking = [name for name in wanted if find_spec(name) is None]
    if lacking:
        message = f"objects are read through {' and '.join(lacking)}, which is not installed"
        raise StoreError(message, code="extra-missing", place=Place(file=root), hint=install_hint("objects"))
    return WebClient(options) if root.startswith("http") else BucketClient(root, options)


class BucketClient:
    """Asks for objects of a bucket."""

    _process: ClassVar[int | None] = None
    """The one in which obstore was used first; in a copy of it that was forked, it would wait for ever."""

    def __init__(self, root: str, options: ObjectOptions) -> None:
        if BucketClient._process not in (None, os.getpid()):
            message = "buckets can not be read in a process that was forked from one that read from them"
            hint = "start workers with spawn or forkserver: DataLoader(…, multiprocessing_context='spawn')"
            raise StoreError(message, code="process-forked", place=Place(file=root), hint=hint)
        from obstore.store import from_url

        BucketClient._process = os.getpid()
        try:
            open_bucket: Any = from_url  # typed by the kind of bucket, which the address says here
            self._store: Any = open_bucket(
                root,
                client_options={
                    "timeout": timedelta(seconds=options.request_seconds),
                    "read_timeout": timedelta(seconds=options.stall_seconds),
                    "connect_timeout": timedelta(seconds=options.stall_seconds),
                    "allow_http": True,  # only where an endpoint is given that is http://
                },
                retry_config={"max_retries": 0},
                **dict(options.settings),
            )
        except Exception as error:
            raise _unusable(Address(root, ""), error) from error

    def facts(self, address: Address) -> ObjectFacts:
        """What an object is."""
        import obstore

        try:
            return _bucket_facts(obstore.head(self._store, address.path))
        except Exception as error:
            raise _bucket_error(address, error) from error

    def listed(self, folder: Address) -> dict[str, ObjectFacts] | None:
        """The objects below a folder, a thousand a request."""
        import obstore

        try:
            found = obstore.list(self._store, prefix=folder.path or None, chunk_size=1000)
            return {one["path"]: _bucket_facts(one) for part in found for one in part}
        except Exception as error:
            raise _bucket_error(folder, error) from error

    def chunks(self, span: Span) -> Iterator[Any]:
        """Bytes of an object."""
        import obstore

        address, facts = span.object.address, span.object.facts
        asked: Any = {"range": (span.start, span.stop)}
        if facts.tag is not None:
            asked["if_match"] = facts.tag
        try:
            answer = obstore.get(self._store, address.path, options=asked)
            if not facts.is_same(_bucket_facts(answer.meta)):
                raise changed(address)
            yield from answer.stream(min_chunk_size=CHUNK_BYTES)
        except StoreError:
            raise
        except Exception as error:
            raise _bucket_error(address, error) from error


def _bucket_facts(meta: Any) -> ObjectFacts:  # noqa: ANN401 obstore's
    tag = meta["e_tag"]
    if tag is not None and not tag.endswith('"'):
        tag = f'"{tag}"'  # lists of Azure have them bare
    # An answer has whole seconds where a list has more.
    return ObjectFacts(meta["size"], tag, int(meta["last_modified"].timestamp()))


_STATUS = re.compile(r"non-2xx status code: (\d{3})")


def _bucket_error(address: Address, error: Exception) -> Exception:
    """What an error of obstore means: its message is all that tells."""
    from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError

    said = str(error).partition("\n")[0]
    found = _STATUS.search(said)
    status = int(found[1]) if found else None
    if isinstance(error, FileNotFoundError):
        return missing(address)
    if isinstance(error, PreconditionError):
        return changed(address)
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in (401, 403):
        hint = "credentials come from the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        return StoreError(
            f"may not be read: {said}", code="object-forbidden", place=Place(file=str(address)), hint=hint
        )
    if status == 416:
        return changed(address, "is shorter than it was when the store was opened")
    if not isinstance(error, BaseError | OSError) or (status is not None and status not in PASSING):
        return _unusable(address, error)
    return InterruptedReadError(said)


def _unusable(address: Address, error: Exception) -> StoreError:
    said = str(error).partition("\n")[0]
    return StoreError(f"can not be read: {said}", code="store-unreadable", place=Place(file=str(address)))


class WebClient:
    """Asks a web server, which has to answer to ranges."""

    def __init__(self, options: ObjectOptions) -> None:
        import httpx

        self._seconds = options.request_seconds
        self._client = httpx.Client(
            timeout=options.stall_seconds,
            limits=httpx.Limits(max_connections=options.in_flight, max_keepalive_connections=options.in_flight),
            follow_redirects=True,
            headers={"Accept-Encoding": "identity"},
        )
        weakref.finalize(self, self._client.close)

    def facts(self, address: Address) -> ObjectFacts:
        """What an object is."""
        import httpx

        try:
            answer = self._client.head(_url(address))
        except httpx.HTTPError as error:
            raise _web_error(error) from error
        _check_status(address, answer)
        if "Content-Length" not in answer.headers:
            raise _unfit(address, "its server does not say how large it is")
        return _web_facts(answer.headers, int(answer.headers["Content-Length"]))

    def listed(self, folder: Address) -> dict[str, ObjectFacts] | None:  # noqa: ARG002
        """Web servers list nothing."""
        return None

    def chunks(self, span: Span) -> Iterator[Any]:
        """Bytes of an object."""
        import httpx

        address, facts = span.object.address, span.object.facts
        asked = {"Range": f"bytes={span.start}-{span.stop - 1}"}
        if facts.tag is not None and not facts.tag.startswith("W/"):
            asked["If-Match"] = facts.tag
        end = time.monotonic() + self._seconds
        try:
            with self._client.stream("GET", _url(address), headers=asked) as answer:
                _check_status(address, answer)
                self._check_range(span, answer)
                for chunk in answer.iter_raw():
                    if time.monotonic() > end:
                        raise InterruptedReadError(f"the body was not there after {self._seconds:g} seconds")
                    yield chunk
        except httpx.HTTPError as error:
            raise _web_error(error) from error

    def _check_range(self, span: Span, answer: Any) -> None:  # noqa: ANN401 httpx's
        address, facts = span.object.address, span.object.facts
        if answer.status_code == 206:
            said = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("Content-Range", ""))
            if said is None or (int(said[1]), int(said[2]) + 1) != (span.start, span.stop):
                raise InterruptedReadError(f"the answer is of {answer.headers.get('Content-Range') or 'no range'}")
            size = int(said[3])
        elif (span.start, span.stop) != (0, facts.size):
            raise _unfit(address, f"its server answers {answer.status_code} to a range, with all of it")
        else:
            size = int(answer.headers.get("Content-Length", facts.size))
        if not facts.is_same(_web_facts(answer.headers, size)):
            raise changed(address)


def _web_facts(headers: Any, size: int) -> ObjectFacts:  # noqa: ANN401 httpx's
    when = headers.get("Last-Modified")
    try:
        modified = int(parsedate_to_datetime(when).timestamp()) if when else 0
    except ValueError:
        modified = 0
    return ObjectFacts(size, headers.get("ETag"), modified)


def _check_status(address: Address, answer: Any) -> None:  # noqa: ANN401 httpx's
    status = answer.status_code
    if status in (200, 206):
        return
    if status in (404, 410):
        raise missing(address)
    if status == 412:
        raise changed(address)
    if status == 416:
        raise changed(address, "is shorter than it was when the store was opened")
    said = f"{status} {answer.reason_phrase}"
    if status in PASSING:
        after = answer.headers.get("Retry-After", "")
        raise InterruptedReadError(said, wait_seconds=float(after) if after.isascii() and after.isdecimal() else None)
    code = "object-forbidden" if status in (401, 403) else "store-unreadable"
    raise StoreError(f"can not be read: {said}", code=code, place=Place(file=str(address)))


def _web_error(error: Exception) -> InterruptedReadError:
    return InterruptedReadError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def _unfit(address: Address, message: str) -> StoreError:
    hint = "a server that answers to HEAD, and with 206 to a range, is needed"
    return StoreError(message, code="server-unfit", place=Place(file=str(address)), hint=hint)


def _url(address: Address) -> str:
    return f"{address.root}/{quote(address.path)}"
