"""Parts of tables by `Range`, as readers of Parquet and CSV by URL ask for them."""

from __future__ import annotations

import threading

import pyarrow.parquet as pq
import pytest
from api_helpers import serving

from mixture.api.middleware import ranges

WHOLE = "/v1/catalogs/demo/domains.parquet"
LONG = "/v1/mixtures/demo/positions.parquet?first_position=0&last_position=29999"
ADDRESSES = (WHOLE, "/v1/catalogs/demo/domains.csv", "/mixtures/demo.csv", "/mixtures/demo.parquet", LONG,
             "/v1/mixtures/demo/composition.arrow")  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_parts_of_an_answer_are_those_of_the_whole_and_head_says_how_long_it_is(client, address):
    head = client.head(address).raise_for_status()
    whole = client.get(address).raise_for_status()
    size = len(whole.content)
    assert (head.headers["Content-Length"], head.headers["Accept-Ranges"], head.content) == (str(size), "bytes", b"")
    assert head.headers["ETag"] == whole.headers["ETag"]
    for asked, first, last in [
        ("0-0", 0, 0),
        ("4-9", 4, 9),
        (" 4 - 9", 4, 9),
        (f"{size - 1}-", size - 1, size - 1),
        ("0-", 0, size - 1),
        ("-8", size - 8, size - 1),
        (f"-{size + 5}", 0, size - 1),
        (f"3-{10**17}", 3, size - 1),
    ]:
        for condition in ({}, {"If-Range": whole.headers["ETag"]}):
            part = client.get(address, headers={"Range": f"bytes={asked}", **condition})
            assert part.status_code == 206, asked
            assert part.headers["Content-Range"] == f"bytes {first}-{last}/{size}"
            assert part.headers["ETag"] == whole.headers["ETag"]
            assert part.content == whole.content[first : last + 1]


def test_what_is_no_single_part_is_the_whole_and_what_is_not_there_is_refused(client):
    whole = client.get(WHOLE)
    size = len(whole.content)
    for headers in (
        {"Range": "bytes=0-1,5-6"},
        {"Range": "lines=0-1"},
        {"Range": "bytes=0-1", "If-Range": '"another"'},
        {"Range": "bytes=0-1", "If-Range": f"W/{whole.headers['ETag']}"},
        {"Range": "bytes=0-1", "If-Range": "Sun, 01 Mar 2026 12:00:00 GMT"},
    ):
        answer = client.get(WHOLE, headers=headers)
        assert (answer.status_code, answer.content) == (200, whole.content), headers
    for asked in (f"{size}-", f"{size}-{size + 5}", "9-4", "-0", "-", "", "x-1", "1-2-3", "+1-2", "1", "9" * 400 + "-"):
        answer = client.get(WHOLE, headers={"Range": f"bytes={asked}"})
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (416, "range-not-satisfiable"), asked
        assert answer.headers["Content-Range"] == f"bytes */{size}"
    known = {"If-None-Match": whole.headers["ETag"], "Range": "bytes=0-1"}
    assert client.get(WHOLE, headers=known).status_code == 304, "what a client has goes first"
    head = client.head(WHOLE, headers={"Range": "bytes=0-1"})
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(size)), "only GET has parts"


def test_an_answer_is_made_once_for_all_parts_of_it_and_is_the_same_in_another_copy(make_app, monkeypatch):
    from mixture.api.answers import tables

    written, writes = [], tables.table_bytes
    monkeypatch.setattr(tables, "table_bytes", lambda *a, **k: written.append(1) or writes(*a, **k))
    import httpx2

    tags = []
    for _ in range(2):
        with serving(make_app()) as url, httpx2.Client(base_url=url, timeout=30) as client:
            size = int(client.head(WHOLE).headers["Content-Length"])
            parts = [client.get(WHOLE, headers={"Range": f"bytes={i}-{i + 99}"}) for i in range(0, size, 100)]
            tags.append((parts[0].headers["ETag"], b"".join(part.content for part in parts)))
    assert tags[0] == tags[1]
    assert len(written) == 2


def test_a_table_too_long_to_be_kept_is_sent_whole(client, monkeypatch):
    whole = client.get(LONG).content
    monkeypatch.setattr(ranges, "MOST_BYTES", 1000)
    answer = client.get(LONG.replace("29999", "30000"), headers={"Range": "bytes=0-99"})
    assert (answer.status_code, "Accept-Ranges" in answer.headers) == (200, False)
    assert abs(len(answer.content) - len(whole)) < 10_000


def test_a_reader_of_parquet_by_url_reads_the_columns_that_it_asks_for(client):
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    url = str(client.base_url).rstrip("/") + LONG
    with fsspec.open(url, block_size=1 << 12) as file:
        read = pq.read_table(file, columns=["domain", "position"])
    assert read.num_rows == 30_000
    assert read["position"].to_pylist()[-1] == 29_999


def test_few_answers_are_made_at_a_time_to_give_parts_of(client, monkeypatch):
    monkeypatch.setattr("mixture.api.middleware.ranges._MAKING", threading.BoundedSemaphore(1))
    monkeypatch.setattr("mixture.api.middleware.ranges.WAIT_SECONDS", 0.01)
    address = "/v1/mixtures/demo/positions.csv?first_position=77&last_position=1310"
    with ranges._MAKING:
        answer = client.get(address, headers={"Range": "bytes=0-9"})
        assert (answer.status_code, answer.headers["x-error-code"]) == (503, "busy")
        assert client.get(address).status_code == 200
    assert client.get(address, headers={"Range": "bytes= 0 - 9"}).status_code == 206
