"""docs/store-format.md: a store is read, and all its digests are found, with pyarrow and hashlib alone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docs.pages import page

from mixture.data.derived.pack import pack_store
from mixture.data.ingest import ingest
from mixture.data.layout.linked import LinkedManifest
from mixture.data.layout.manifest import Manifest
from mixture.data.layout.packed import PackedManifest
from mixture.data.linking.build import build_catalog
from mixture.data.store import open_store
from mixture.data.token_files.fingerprint import fingerprint

TEXTS = {"web": [f"Page {i}. " + "word " * (i % 23) for i in range(60)], "köln": ["Dom\n", "Rhein und Brücken\n"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two domains, one of them in several files."""
    place = tmp_path_factory.mktemp("store")
    for name, texts in TEXTS.items():
        lines = (json.dumps({"text": text, "id": f"{name}/{i}", "url": str(i)}) for i, text in enumerate(texts))
        (place / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = "".join(f"  {name}: {{files: [{name}.jsonl], id: id, attributes: [url]}}\n" for name in TEXTS)
    (place / "sources.yaml").write_text(f"domains:\n{said}", encoding="utf-8")
    ingest(place / "sources.yaml", place / "store")
    return place / "store"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def of_json(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def joined(*parts: object) -> str:
    return sha256("\x1f".join(map(str, parts)).encode())


def as_64_bits(numbers: Iterable[int]) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def tokens_of(folder: Path, domain: dict, size: int) -> bytes:
    """A domain's tokens as bytes; each file is read twice, as Arrow and as the bytes from 4,096 on."""
    parts = []
    for file in domain["files"]:
        with pa.ipc.open_file(folder / file["file"]) as opened:
            assert opened.num_record_batches == 1
            column = opened.get_batch(0)["token"]
        assert column.null_count == 0
        data = (folder / file["file"]).read_bytes()
        raw = data[4096 : 4096 + file["tokens"] * size]
        assert [int.from_bytes(raw[i : i + size], "little") for i in range(0, len(raw), size)] == column.to_pylist()
        parts.append(raw)
    return b"".join(parts)


def test_a_store_is_read_and_its_digests_are_found_without_the_library(folder: Path) -> None:
    said = json.loads((folder / "store.json").read_bytes())
    assert of_json({name: said[name] for name in said if name != "sha256"}) == said["sha256"]
    for file in [*said["tables"], *(file for domain in said["domains"] for file in domain["files"])]:
        data = (folder / file["file"]).read_bytes()
        assert (len(data), sha256(data)) == (file["bytes"], file["sha256"])
    size = {"uint16": 2, "uint32": 4}[said["dtype"]]
    documents = pq.read_table(folder / "documents.parquet").to_pylist()
    catalog = pq.read_table(folder / "domains.parquet").to_pylist()
    assert [row["domain"] for row in catalog] == [domain["name"] for domain in said["domains"]] == sorted(TEXTS)
    ends, before, texts = [], 0, {}
    for domain, row in zip(said["domains"], catalog, strict=True):
        own = [one for one in documents if one["domain"] == domain["name"]]
        tokens = tokens_of(folder, domain, size)
        assert (row["tokens"], row["documents"]) == (len(tokens) // size, len(own)) == (domain["tokens"], len(own))
        place = 0
        for one in own:
            assert one["first_token"] == place
            place += one["tokens"]
            ends.append(before + place)
            ids = [int.from_bytes(tokens[2 * i : 2 * i + 2], "little") for i in range(place - one["tokens"], place)]
            assert ids[-1] == said["end_of_document"]["token"]
            texts[one["id"]] = bytes(ids[:-1]).decode()
        before += place
        content = ("mixture-content/1", said["dtype"], domain["tokens"], sha256(tokens), len(own))
        assert joined(*content, sha256(as_64_bits(one["tokens"] for one in own))) == domain["content"]
    assert texts == {f"{name}/{i}": text for name, some in TEXTS.items() for i, text in enumerate(some)}
    with pa.ipc.open_file(folder / "document_ends.arrow") as opened:
        assert opened.read_all()["end"].to_pylist() == ends
    index = pq.read_table(folder / "documents_by_id.parquet").to_pylist()
    assert [(one["id"], documents[one["row"]]["id"]) for one in index] == [(one, one) for one in sorted(texts)]
    totals = [[one[name] for name in ("name", "tokens", "documents", "content")] for one in said["domains"]]
    held = {name: said[name] for name in ("format", "dtype", "end_of_document")}
    assert of_json(held | {"tokenizer": said["tokenizer"]["digest"], "domains": totals}) == said["digest"]
    assert open_store(folder).digest == said["digest"]


def test_packed_rows_are_read_as_the_page_says(folder: Path, tmp_path: Path) -> None:
    length = 64
    pack_store(open_store(folder), tmp_path / "packed", sequence_length=length)
    said = json.loads((tmp_path / "packed" / "store.json").read_bytes())
    assert (said["format"], said["packed"]["sequence_length"]) == ("mixture-packed/1", length)
    documents = pq.read_table(tmp_path / "packed" / "documents.parquet").to_pylist()
    for domain in said["domains"]:
        own = [one for one in documents if one["domain"] == domain["name"]]
        ends, before = [], 0
        for one in own:
            end = one["first_token"] + one["tokens"]
            assert one["first_token"] == max(before, (end - 1) // length * length)
            before = end
            ends.append(end)
        tokens = tokens_of(tmp_path / "packed", domain, 2)
        content = ("mixture-packed-content/1", length, said["dtype"], domain["tokens"], sha256(tokens), len(own))
        assert joined(*content, sha256(as_64_bits(ends))) == domain["content"]


def test_a_fingerprint_is_of_the_blocks_that_the_page_names(tmp_path: Path) -> None:
    for size in (1000, 262_144, 1_000_003):
        data = b"".join(i.to_bytes(4, "little") for i in range(size // 4 + 1))[:size]
        (tmp_path / "file").write_bytes(data)
        starts = [i * (size - 16_384) // 15 for i in range(16)]
        parts = [data] if size <= 262_144 else [data[start : start + 16_384] for start in starts]
        assert sha256(f"{size}\n".encode() + b"".join(parts)) == fingerprint(str(tmp_path / "file"))


@pytest.mark.parametrize("kind", [Manifest, PackedManifest, LinkedManifest])
def test_every_key_of_store_json_is_described(kind: type[Manifest]) -> None:
    text = page("store-format.md")
    described = set(re.findall(r"`([a-z_0-9]+)`", text))
    assert {*kind.model_fields} - described == set()
    assert kind.model_fields["format"].default in text


def test_the_content_of_files_that_stay_where_they_are_is_found(tmp_path: Path) -> None:
    for name, count in (("a", 300), ("b", 200)):
        np.save(tmp_path / f"{name}.npy", np.arange(count, dtype=np.uint16))
    said = "tokenizer: t\nvocabulary_size: 1000\nend_of_document: 0\ndomains:\n  web: {format: npy, files: ['*.npy']}\n"
    (tmp_path / "sources.yaml").write_text(said, encoding="utf-8")
    build_catalog(tmp_path / "sources.yaml", tmp_path / "links")
    (domain,) = json.loads((tmp_path / "links" / "store.json").read_bytes())["domains"]
    files = []
    for name in ("a.npy", "b.npy"):
        data = (tmp_path / name).read_bytes()
        files.append([[name, len(data), sha256(f"{len(data)}\n".encode() + data)]])
    assert of_json(["mixture-files/1", ["npy", "uint16", None], files]) == domain["content"]
    searched = said.replace("document: 0", "document: 7").replace("'*.npy']", "'*.npy'], documents: end_of_document")
    (tmp_path / "sources.yaml").write_text(searched, encoding="utf-8")
    build_catalog(tmp_path / "sources.yaml", tmp_path / "searched")
    (domain,) = json.loads((tmp_path / "searched" / "store.json").read_bytes())["domains"]
    assert of_json(["mixture-files/1", ["npy", "uint16", None, 7], files]) == domain["content"]
    pieces = pq.read_table(tmp_path / "links" / "pieces.parquet").to_pylist()
    assert pieces == [
        {"domain": 0, "file": 0, "place": 128, "tokens": 300},
        {"domain": 0, "file": 1, "place": 128, "tokens": 200},
    ]
