"""What a lock takes down is in no answer of the service: not among tokens, examples, searches or pages."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pyarrow as pa
import pytest
from api_helpers import client_of
from clustered_mixture import NAME, clustered_mixture
from stream_helpers import with_masks

from mixture.api.app import create_app
from mixture.api.settings import ExampleTexts, Settings
from mixture.data.store import Store, open_store
from mixture.lock import read_lock, write_lock
from mixture.lock.lock import Lock
from mixture.stream import open_stream
from mixture.stream.trace.takedown import masks_of

FIRST_STEP = 100
MARK = f"[taken down at step {FIRST_STEP}]"
WORDS = re.compile(r"(?=([A-Za-z][A-Za-z_]{5,}(?: [A-Za-z_]{3,}){2}))")


@dataclass(frozen=True)
class Down:
    """A mixture's folder, one typical document of a domain of it, and words in a row that are in no other document.

    early: such words in what examples and searches show of it
    """

    folder: Path
    lock: Lock
    store: Store
    domain: str
    identity: str
    words: tuple[str, ...]
    early: tuple[str, ...]


def text_at(store: Store, row: dict[str, Any]) -> str:
    ids = store.read(row["domain"], row["first_token"], row["tokens"] - 1)
    return ids.astype("uint8").tobytes().decode()


@pytest.fixture(scope="module")
def down(tmp_path_factory: pytest.TempPathFactory) -> Down:
    folder = clustered_mixture(tmp_path_factory)
    store = open_store(folder / "store")
    lock = read_lock(folder / "mixture.lock.json")
    rows = [
        row | {"domain": name}
        for name, domain in store.domains.items()
        for row in store.documents_from(name, 0, domain.documents).to_pylist()
    ]
    texts = {(row["domain"], row["id"]): text_at(store, row) for row in rows}
    assert store.overview is not None
    for domain in store.overview.domains:
        for identity in domain.typical[:1]:
            text = texts[domain.domain, identity]
            others = "\n".join(other for key, other in texts.items() if key != (domain.domain, identity))
            words = tuple(sorted({one for one in WORDS.findall(text) if one not in others}))
            early = tuple(one for one in words if one in text[:1500])
            if early:
                return Down(folder, lock, store, domain.domain, identity, words, early)
    raise AssertionError("no typical document says anything of its own")


@pytest.fixture(scope="module")
def clients(down: Down, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, httpx2.Client]]:
    """A service of the mixture as it was, and one of it without the document."""
    file = tmp_path_factory.mktemp("file") / "down.txt"
    file.write_text(down.identity + "\n", encoding="utf-8")
    other = tmp_path_factory.mktemp("after") / NAME
    shutil.copytree(down.folder, other)
    lock = with_masks(down.lock, *masks_of(down.store, file, FIRST_STEP, down.lock))
    write_lock(lock, other / "mixture.lock.json")
    before, after = (
        create_app(
            Settings(data_dir=folder / "data", mixtures_dirs=(folder,), rate_per_second=0, examples=ExampleTexts.FULL)
        )
        for folder in (down.folder, other)
    )
    with client_of(before) as one:
        one.get("/readyz").raise_for_status()  # two services of one process must not set up databases at once
        with client_of(after) as two:
            yield {"before": one, "after": two}


def read_at(down: Down) -> int:
    """A step of after the takedown that reads from what was taken down."""
    (row,) = (one for one in down.store.document(down.identity).to_pylist() if one["domain"] == down.domain)
    d = down.lock.schedule().names.index(down.domain)
    for batch in open_stream(down.lock, down.store, first_step=FIRST_STEP):
        first = batch.first_token[batch.domain == d]
        if ((first < row["first_token"] + row["tokens"] - 200) & (first > row["first_token"])).any():
            return batch.step
    raise AssertionError("the run does not read the document again")


def addresses(down: Down, client: httpx2.Client) -> Iterator[str]:
    """Every address of the service that is about a mixture, a domain or a step, with what it may be asked for."""
    step = read_at(down)
    known: dict[str, Any] = {"ref": NAME, "domain": down.domain, "step": step}
    queries = {
        "/v1/mixtures/{ref}/batches": [
            f"?first_step={step}&last_step={step + 400 - 1}&next_token={token}&documents={documents}"
            for token, documents in itertools.product(("true", "false"), repeat=2)
        ],
        "/v1/catalogs/{ref}/domains/{domain}/examples": ["?kind=typical&limit=20", "?kind=random&limit=20"],
        "/v1/mixtures/{ref}/positions": [f"?first_position={step * 8}&last_position={step * 8 + 24 - 1}"],
        "/v1/mixtures/{ref}/find": [f"?domain={down.domain}&token=5"],
        "/v1/mixtures/{ref}/crossings": ["?epochs=1&epochs=2"],
        "/v1/mixtures/{ref}/counts": [f"?step={step}"],
        "/v1/mixtures/{ref}/history": [f"?step={step}"],
        "/v1/mixtures/{ref}/traces": [f"?document={quote(down.identity)}"],
        "/v1/mixtures/{ref}/reads": [f"?domain={down.domain}&first_token=5&last_token=103"],
        "/v1/mixtures/{ref}/read-so-far": [f"?step={step}&by={by}" for by in ("domain", *down.store.attributes)],
    }
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        if "get" in methods and set(re.findall(r"{(\w+)}", path)) <= known.keys():
            yield from (path.format(**known) + query for query in queries.get(path, [""]))
    yield from (f"/mixtures/{NAME}", f"/mixtures/{NAME}/steps/{step}", f"/mixtures/{NAME}/what-if")
    yield f"/mixtures/{NAME}/trace?document={quote(down.identity)}&step={step}"
    cell = f"/catalogs/{NAME}?cell={down.domain}"
    yield from (f"/catalogs/{NAME}", cell, f"{cell}&part=panel", f"{cell}&examples=typical&at=0")
    yield from (f"/catalogs/{NAME}?q={one.replace(' ', '+')}" for one in down.early[:3])


def said(answer: httpx2.Response) -> str:
    """All that an answer says, tokens as the text that they are."""
    if "arrow" not in answer.headers["content-type"]:
        return answer.text
    table = pa.ipc.open_stream(answer.content).read_all()
    rows = (bytes(one for one in row if one < 256) for row in table["input_ids"].to_pylist())
    return "\n".join(row.decode(errors="replace") for row in rows)


def test_no_answer_has_words_of_it_and_with_the_lock_of_before_many_had(down: Down, clients: dict[str, httpx2.Client]):
    told: set[str] = set()
    for address in addresses(down, clients["before"]):
        answers = {name: client.get(address) for name, client in clients.items()}
        assert {answer.status_code for answer in answers.values()} <= {200, 307, 303}, address
        # A page repeats what was searched for; a hit has its context beside it.
        wanted = [one for one in down.words if one.replace(" ", "+") not in address]
        before, after = (said(answers[name]) for name in ("before", "after"))
        if any(one in before for one in wanted):
            told.add(re.split(r"[?]", address)[0])
        leaked = [one for one in wanted if one in after]
        assert not leaked, f"{address}: {leaked}"
    assert told == {
        f"/v1/mixtures/{NAME}/batches",
        f"/v1/catalogs/{NAME}/domains/{down.domain}/examples",
        f"/catalogs/{NAME}",
    }


def test_examples_and_panels_say_that_it_was_taken_down_and_since_when(down: Down, clients: dict[str, httpx2.Client]):
    address = f"/v1/catalogs/{NAME}/domains/{down.domain}/examples?kind=typical"
    shown = {
        name: next(one for one in client.get(address).raise_for_status().json()["items"] if one["id"] == down.identity)
        for name, client in clients.items()
    }
    assert shown["after"]["text"] == MARK
    assert shown["before"]["text"] != MARK
    assert MARK in clients["after"].get(f"/catalogs/{NAME}?cell={down.domain}&examples=typical&at=0").text


def test_nothing_is_found_in_what_was_taken_down(down: Down, clients: dict[str, httpx2.Client]):
    asked = {"q": down.early[0]}
    assert 'class="hit' in clients["before"].get(f"/catalogs/{NAME}", params=asked).text
    assert down.identity not in clients["after"].get(f"/catalogs/{NAME}", params=asked).text


def test_before_its_step_the_document_is_read_as_it_was(down: Down, clients: dict[str, httpx2.Client]):
    address = f"/v1/mixtures/{NAME}/batches?first_step=0&last_step={FIRST_STEP - 1}"
    before, after = (
        pa.ipc.open_stream(clients[name].get(address).raise_for_status().content).read_all()
        for name in ("before", "after")
    )
    assert before.column_names == [name for name in after.column_names if name != "masked"]
    assert before["input_ids"].equals(after["input_ids"])
    assert not any(one for row in after["masked"].to_pylist() for one in row)


def test_a_step_s_documents_say_how_much_of_them_is_taken_down(down: Down, clients: dict[str, httpx2.Client]):
    (row,) = (one for one in down.store.document(down.identity).to_pylist() if one["domain"] == down.domain)
    client, step = clients["after"], read_at(down)
    address = f"/v1/mixtures/{NAME}/steps/{step}/sequences"
    items = client.get(address).raise_for_status().json()["items"]
    shown = [(item["domain"], one) for item in items for one in item["documents"]]
    found = {(domain, one["id"]): one["masked_tokens"] for domain, one in shown}
    assert found.pop((down.domain, down.identity)) == row["tokens"] - 1
    assert not any(found.values())
    table = pa.ipc.open_stream(client.get(f"{address}.arrow").raise_for_status().content).read_all()
    assert table["document_masked_tokens"].to_pylist() == [one["masked_tokens"] for _, one in shown]
    assert f"{row['tokens'] - 1:,} taken down" in client.get(f"/mixtures/{NAME}/steps/{step}").text
    plain = clients["before"].get(address).json()["items"]
    assert not any("masked_tokens" in one for item in plain for one in item["documents"])
    early = client.get(f"/v1/mixtures/{NAME}/steps/{FIRST_STEP - 1}/sequences").json()["items"]
    assert not any(one["masked_tokens"] for item in early for one in item["documents"])
