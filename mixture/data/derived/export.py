"""A store's domains as the token files of other programs, with the sources of a catalog that reads them back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from numpy.typing import NDArray

from mixture.data.layout import plain_name
from mixture.data.store import Store
from mixture.data.token_files import megatron
from mixture.data.writing import publish, workplace
from mixture.errors import Place, StoreError
from mixture.whole_file import whole_file

SOURCES = "sources.yaml"
_CHUNK = 1 << 21  # tokens written together
_MOST = 1 << 31  # tokens that a sequence of Megatron's can not have

Progress = Callable[[int, int], None]


class ExportFormat(StrEnum):
    """What a store is written as.

    MEGATRON:  NAME.bin and NAME.idx a domain, a sequence a document
    NPY:       NAME.npy a domain, raw, and NAME.csv.gz: start, end and id of each document; OLMo-core reads both
    NUMPY:     the same with NumPy's header, which `numpy.load` reads and OLMo-core would take for tokens
    DATATROVE: NAME/NAME.ds a domain, raw, NAME.ds.index with the ends of documents and NAME.ds.metadata; nanotron takes
               the folder
    """

    MEGATRON = "megatron"
    NPY = "npy"
    NUMPY = "numpy"
    DATATROVE = "datatrove"


_FILES = {
    ExportFormat.MEGATRON: "{0}.bin",
    ExportFormat.NPY: "{0}.npy",
    ExportFormat.NUMPY: "{0}.npy",
    ExportFormat.DATATROVE: "{0}/{0}.ds",
}
"""Where the tokens of a domain are, by what its files are called."""
_RAW = (ExportFormat.NPY, ExportFormat.DATATROVE)


def file_stem(number: int, name: str) -> str:
    """What the files of a domain are called, of which `number` stand before it in the store: `00012-web`."""
    return f"{number:05d}-{plain_name(name)}"


@dataclass(frozen=True, slots=True)
class ExportedDomain:
    """A domain that was written. file: its tokens' path in the folder."""

    name: str
    file: str
    tokens: int
    documents: int


def export_store(
    store: Store, form: ExportFormat, out: str | os.PathLike[str], *, progress: Progress | None = None
) -> list[ExportedDomain]:
    """Write all domains of a store into a folder, which appears at once, and with it the sources of a catalog.

    Documents keep their places, and beside .npy files their ids; for ids in the other formats, and for attributes in
    all, there is no room. Tokens of uint32 are int32 for Megatron, which has no such type.
    progress: called with tokens written, and in all

    Errors: IngestError `place-taken`; StoreError `export-unfit` where the format can not say it.
    """
    if store.packed is not None:
        message = f"the store holds rows packed to {store.packed:,} tokens, with padding that is of no document"
        hint = "export the store that they were made of"
        raise StoreError(message, code="export-unfit", place=Place(file=str(store.path)), hint=hint)
    total, done = sum(domain.tokens for domain in store.domains.values()), 0
    exported = []
    with workplace(Path(out)) as work:
        folder = work / "export"
        folder.mkdir()
        for number, (name, domain) in enumerate(store.domains.items()):
            stem = file_stem(number, name)
            file = _FILES[form].format(stem)
            (folder / file).parent.mkdir(exist_ok=True)
            dtype = _token_type(store, form)
            with (folder / file).open("wb") as tokens:
                if form is ExportFormat.NUMPY:
                    header = {"descr": dtype.str, "fortran_order": False, "shape": (domain.tokens,)}
                    np.lib.format.write_array_header_1_0(tokens, header)
                for first in range(0, domain.tokens, _CHUNK):
                    part = store.read(name, first, min(_CHUNK, domain.tokens - first))
                    tokens.write(part.astype(dtype, copy=False).tobytes())
                    done += len(part)
                    if progress is not None:
                        progress(done, total)
            match form:
                case ExportFormat.MEGATRON:
                    _write_index(folder / f"{stem}.idx", _lengths(store, name), dtype, name)
                case ExportFormat.DATATROVE:
                    _write_ends(folder / file, _lengths(store, name), store, domain.tokens)
                case _:
                    _write_documents(folder / f"{stem}.csv.gz", store, name)
            exported.append(ExportedDomain(name, file, domain.tokens, domain.documents))
        _write_sources(folder / SOURCES, store, form, exported)
        publish(folder, Path(out))
    return exported


def _token_type(store: Store, form: ExportFormat) -> np.dtype[np.integer]:
    if form is ExportFormat.MEGATRON and store.dtype == np.uint32:
        return np.dtype(np.int32)
    return store.dtype


def _lengths(store: Store, name: str) -> NDArray[np.int64]:
    """How many tokens each document has: int64 [documents]."""
    parts = [table["tokens"].to_numpy() for table in store.scan_documents(name, ["tokens"])]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _write_documents(path: Path, store: Store, name: str) -> None:
    """Rows of start, end and id, which OLMo-core reads, packed; the same bytes for the same documents."""
    schema = pa.schema([("start", pa.int64()), ("end", pa.int64()), ("id", pa.string())])
    with (
        pa.OSFile(os.fsencode(path), "wb") as sink,
        pa.CompressedOutputStream(sink, "gzip") as packed,
        csv.CSVWriter(packed, schema, write_options=csv.WriteOptions(include_header=False)) as rows,
    ):
        for table in store.scan_documents(name, ["id", "first_token", "tokens"]):
            start = table["first_token"]
            rows.write_table(pa.table([start, pc.add(start, table["tokens"]), table["id"]], schema=schema))


def _write_index(path: Path, lengths: NDArray[np.int64], dtype: np.dtype[np.integer], name: str) -> None:
    if len(lengths) and int(lengths.max()) >= _MOST:
        message = f"domain '{name}' has a document of {int(lengths.max()):,} tokens"
        hint = f"Megatron's files have sequences below {_MOST:,}; npy has no such bound"
        raise StoreError(message, code="export-unfit", place=Place(file=str(path)), hint=hint)
    with path.open("wb") as file:
        file.write(megatron.header(dtype, len(lengths)))
        file.write(lengths.astype("<i4").tobytes())
        file.write(((np.cumsum(lengths) - lengths) * dtype.itemsize).astype("<i8").tobytes())
        file.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())


def _write_ends(file: Path, lengths: NDArray[np.int64], store: Store, tokens: int) -> None:
    """What datatrove writes beside a .ds file: where documents end, and tokenizer, bytes of a token and tokens."""
    Path(f"{file}.index").write_bytes(np.cumsum(lengths).astype("<u8").tobytes())
    text = f"{store.tokenizer}|{store.dtype.itemsize}\n{tokens}\n"
    Path(f"{file}.metadata").write_text(text, encoding="utf-8")


def _write_sources(path: Path, store: Store, form: ExportFormat, exported: list[ExportedDomain]) -> None:
    """YAML, of which JSON is a part: names need no care."""
    labels = store.labels.to_pylist()
    lines = [
        f"tokenizer: {json.dumps(store.tokenizer)}",
        f"vocabulary_size: {store.vocabulary}",
        f"end_of_document: {store.end_of_document}",
        f"dtype: {store.dtype}",
        "domains:",
    ]
    for one, row in zip(exported, labels, strict=True):
        kept = {key: str(row[key]) for key in row if key not in ("domain", "tokenizer") and row[key] is not None}
        said: dict[str, object] = {
            "format": "megatron" if form is ExportFormat.MEGATRON else "npy",
            "files": [one.file],
        }
        if form in _RAW:
            said["dtype"] = str(store.dtype)
        if kept:
            said["attributes"] = kept
        lines.append(f"  {json.dumps(one.name)}: {json.dumps(said, ensure_ascii=False)}")
    with whole_file(path) as beside:
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
