"""Token files as other programs write them, made here byte by byte from documents."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mixture.data.linking import build_catalog
from mixture.data.store import Store, open_store

Lists = Sequence[Sequence[int]]
CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def flat(documents: Lists, dtype: str) -> np.ndarray:
    """Documents one behind the other."""
    return np.array([token for document in documents for token in document], np.dtype(dtype).newbyteorder("<"))


def write_megatron(path: Path, documents: Lists, *, dtype: str = "uint16", cut: int = 1 << 30) -> Path:
    """NAME.bin and NAME.idx; a document of more than `cut` tokens is several sequences."""
    parts = [[d[i : i + cut] for i in range(0, max(1, len(d)), cut)] for d in documents]
    lengths = np.array([len(part) for sequences in parts for part in sequences], "<i4")
    bounds = np.cumsum([0, *(len(sequences) for sequences in parts)]).astype("<i8")
    size = np.dtype(dtype).itemsize
    pointers = ((np.cumsum(lengths, dtype=np.int64) - lengths) * size).astype("<i8")
    path.write_bytes(flat(documents, dtype).tobytes())
    header = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, CODES[dtype], len(lengths), len(bounds))
    path.with_suffix(".idx").write_bytes(header + lengths.tobytes() + pointers.tobytes() + bounds.tobytes())
    return path


def write_raw(path: Path, documents: Lists, *, dtype: str = "uint16", beside: str | None = ".csv.gz") -> Path:
    """An array without a header, and where its documents end as OLMo-core or nanotron have it."""
    path.write_bytes(flat(documents, dtype).tobytes())
    ends = np.cumsum([len(document) for document in documents])
    if beside == ".csv.gz":
        with gzip.open(path.with_suffix(".csv.gz"), "wt") as file:
            for number, (end, document) in enumerate(zip(ends.tolist(), documents, strict=True)):
                file.write(f"{end - len(document)},{end},id-{number},source.jsonl.gz,{number}\n")
    elif beside == ".index":
        path.with_name(path.name + ".index").write_bytes(ends.astype("<u8").tobytes())
    elif beside == ".offsets.npy":
        np.save(path.with_suffix(".offsets.npy"), ends)
    return path


def write_parquet(path: Path, documents: Lists, *, rows: int = 3, column: str = "input_ids") -> Path:
    """A row a document, `rows` a row group."""
    table = pa.table({column: pa.array([list(d) for d in documents], pa.list_(pa.int32()))})
    pq.write_table(table, path, row_group_size=rows)
    return path


def write_arrow(path: Path, documents: Lists, *, rows: int = 3, of: pa.DataType | None = None) -> Path:
    """A stream of record batches, as Hugging Face's datasets are on disk."""
    kind = of or pa.list_(pa.int64())
    table = pa.table({"input_ids": pa.array([list(d) for d in documents], kind)})
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def catalog(
    folder: Path, domains: Mapping[str, str], *, vocabulary: int = 1000, full: bool = False, name: str = "catalog"
) -> Store:
    """A catalog of domains by their keys in YAML, opened."""
    lines = [f"  {domain}: {{{keys}}}" for domain, keys in domains.items()]
    head = ["tokenizer: t", f"vocabulary_size: {vocabulary}", "end_of_document: 0", "domains:"]
    sources = folder / f"{name}.yaml"
    sources.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    build_catalog(sources, folder / name, full=full)
    return open_store(folder / name)


def documents_of(store: Store, domain: str) -> list[list[int]]:
    """The tokens of each document, as the store places them."""
    table = store.documents_from(domain, 0, 1 << 40)
    places = zip(table["first_token"].to_pylist(), table["tokens"].to_pylist(), strict=True)
    return [store.read(domain, first, tokens).tolist() for first, tokens in places]
